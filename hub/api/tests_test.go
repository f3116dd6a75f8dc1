package api

import (
	"fmt"
	"strings"
	"testing"

	"github.com/runnerhub/runnerhub/mcp"
)

// A text names ten failed tests, two lines of each, and says how to get at the others.
func TestFailedTestsInText(t *testing.T) {
	t.Parallel()
	tests := &mcp.Tests{Passed: 1, Failed: 60}
	for i := range 50 {
		name := fmt.Sprintf("p.T%d", i)
		tests.Failing = append(tests.Failing, name)
		if i < 20 && i != 1 {
			tests.Failures = append(tests.Failures, mcp.TestFailure{Name: name, Message: "one\ntwo\nthree", File: "p_test.go", Line: i})
		}
	}
	out := mcp.WaitJobResult{JobID: "job_1", State: "failed", Done: true, Tests: shortTests(tests)}
	if n := len(out.Tests.Failures); n > testsTold || out.Tests.Failures[0].Message != "one\ntwo" || len(tests.Failing) != 50 {
		t.Errorf("%d failures, %+v", n, out.Tests.Failures[0])
	}
	for name, text := range map[string]string{"wait": waitText(out), "explain": explainText(mcp.ExplainJobResult{Tests: tests})} {
		for _, want := range []string{"Failed tests. " + untrusted, "- p.T0 (p_test.go)\n    one\n    two\n- p.T1\n- p.T2 (p_test.go:2)\n", "- p.T9 ", "… and 50 more: get_job"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s lacks %q:\n%s", name, want, text)
			}
		}
		if strings.Contains(text, "three") || strings.Contains(text, "p.T10") {
			t.Errorf("%s says too much:\n%s", name, text)
		}
	}
	if testsText(&mcp.Tests{Passed: 3}) != "" || testsText(nil) != "" || shortTests(nil) != nil {
		t.Error("nothing failed, and something is told of it")
	}
	if got := changesLine(mcp.Changes{Added: 1, Modified: 2, LeftOut: 3}); got != "Its changes (1 new, 2 modified, 0 deleted) are the artifact patch, but for 3 files that could not be in it." {
		t.Error(got)
	}
}
