package attempt

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runnerhub/runnerhub/topology"
)

// readReport reads a text and says what was said of it.
func readReport(format topology.ReportFormat, text string) (topology.Tests, string) {
	r, said := &reports{}, ""
	r.read("report", format, strings.NewReader(text), func(format string, args ...any) { said += fmt.Sprintf(format, args...) })
	return r.tests, said
}

// What go test, Perl's Test::More, node --test and pytest have written, by its format and found out.
func TestRecordedReports(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		format topology.ReportFormat
		want   topology.Tests
	}{
		"gotest.json": {topology.ReportGoTest, topology.Tests{
			Passed: 4, Failed: 5, Skipped: 1,
			Failing: []string{
				"example.com/demo/broken", "example.com/demo/crash.TestCrash", "example.com/demo/sum.TestBad", "example.com/demo/sum.TestTable/two",
				"example.com/demo/sum.TestParentAlone",
			},
			Failures: []topology.TestFailure{
				{Name: "example.com/demo/broken", Message: `broken/b.go:3:23: cannot use "x" (untyped string constant) as int value in return statement`, File: "broken/b.go", Line: 3},
				{Name: "example.com/demo/crash.TestCrash", Message: "panic: assignment to entry in nil map [recovered, repanicked]"},
				{Name: "example.com/demo/sum.TestBad", Message: "sum_test.go:8: a note before\nsum_test.go:9: Sum(1, 2) = -1, want 3\n    second line", File: "sum_test.go", Line: 9},
				{Name: "example.com/demo/sum.TestTable/two", Message: "sum_test.go:17: two is wrong", File: "sum_test.go", Line: 17},
				{Name: "example.com/demo/sum.TestParentAlone", Message: "sum_test.go:27: the parent is at fault", File: "sum_test.go", Line: 27},
			},
		}},
		"perl.tap": {topology.ReportTAP, topology.Tests{
			Passed: 2, Failed: 2, Skipped: 2, Failing: []string{"sums", "inner > bad inside"},
			Failures: []topology.TestFailure{
				{Name: "sums", Message: "Failed test 'sums'\nat t/basic.t line 4.\n       got: '2'\n  expected: '3'", File: "t/basic.t", Line: 4},
				{Name: "inner > bad inside", Message: "  Failed test 'bad inside'\n  at t/basic.t line 5.\nLooks like you failed 1 test of 2.", File: "t/basic.t", Line: 5},
			},
		}},
		"node.tap": {topology.ReportTAP, topology.Tests{
			Passed: 2, Failed: 2, Skipped: 2, Failing: []string{"subtracts", "group > inner bad"},
			Failures: []topology.TestFailure{
				{Name: "subtracts", Message: "Expected values to be strictly equal:\n0 !== 2", File: "/srv/demo/a.test.mjs", Line: 4},
				{Name: "group > inner bad", Message: "boom\nsecond", File: "/srv/demo/a.test.mjs", Line: 7},
			},
		}},
		"pytest.xml": {topology.ReportJUnit, topology.Tests{
			Passed: 1, Failed: 3, Skipped: 1, Failing: []string{"test_demo.test_bad", "test_demo.TestGroup.test_error", "test_demo.test_setup"},
			Failures: []topology.TestFailure{
				{
					Name: "test_demo.test_bad", File: "test_demo.py", Line: 4,
					Message: "AssertionError: sums differ\nassert 2 == 3\ndef test_bad():\n        total = 1 + 1\n>       assert total == 3, \"sums differ\"\nE       AssertionError: sums differ\n…",
				},
				{
					Name: "test_demo.TestGroup.test_error", File: "test_demo.py", Line: 9,
					Message: "ValueError: boom\nself = <test_demo.TestGroup object at 0x7f853acf0d50>\n    def test_error(self):\n>       raise ValueError(\"boom\")\nE       ValueError: boom\ntest_demo.py:11: ValueError",
				},
				{
					Name: "test_demo.test_setup", File: "test_demo.py", Line: 18,
					Message: "failed on setup with \"RuntimeError: no fixture\"\n@pytest.fixture\n>   def broken(): raise RuntimeError(\"no fixture\")\nE   RuntimeError: no fixture\ntest_demo.py:17: RuntimeError",
				},
			},
		}},
	} {
		text, err := os.ReadFile(filepath.Join("testdata", "reports", name))
		if err != nil {
			t.Fatal(err)
		}
		for _, format := range []topology.ReportFormat{tt.format, ""} {
			got, said := readReport(format, string(text))
			for i, f := range got.Failures { // a stack trace is not held to its last line
				if strings.HasPrefix(f.Message, "panic: ") {
					got.Failures[i].Message, _, _ = strings.Cut(f.Message, "\n")
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || said != "" {
				t.Errorf("%s as %q: %s\n%s", name, format, said, diff)
			}
		}
	}
}

func TestFormsOfReports(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		text string
		want string // passed, failed, skipped, unread, the failing
		said string
	}{
		"TAP 12":               {"1..3\nok\nnot ok 2\nok 3 - three # skip no\n", "1 1 1 0 test 2", ""},
		"a plan at the end":    {"TAP version 14\nok 1\nok 2\n1..2\n", "2 0 0 0", ""},
		"tests that are gone":  {"TAP version 13\n1..5\nok 1\nok 2\n", "2 1 0 0 tests 3 to 5", ""},
		"all skipped":          {"TAP version 13\n1..0 # SKIP no database\n", "0 0 1 0", ""},
		"given up":             {"TAP version 13\n1..5\nok 1\nBail out! no disk\nok 2\n", "1 1 0 0 Bail out!", ""},
		"to do":                {"ok 1 # TODO x\nnot ok 2 # TODO y\n1..2\n", "1 0 1 0", ""},
		"an escaped hash":      {"TAP version 14\nnot ok 1 - a \\# skip is meant\n1..1\n", `0 1 0 0 a \# skip is meant`, ""},
		"indented output":      {"TAP version 13\nok 1 - a\n        ok then\nok 2 - b\n1..2\n", "2 0 0 0", ""},
		"a parent alone":       {"TAP version 14\n# Subtest: p\n    ok 1 - c\n    1..1\nnot ok 1 - p\n1..1\n", "1 1 0 0 p", ""},
		"carriage returns":     {"TAP version 13\r\nok 1 - a\r\n1..1\r\n", "1 0 0 0", ""},
		"compilers, then go":   {"# example.com/x\nx.go:1: oops\n{\"Action\":\"run\",\"Package\":\"p\",\"Test\":\"T\"}\n{\"Action\":\"pass\",\"Package\":\"p\",\"Test\":\"T\"}\n", "1 0 0 0", ""},
		"go, cut off":          {"{\"Action\":\"run\",\"Package\":\"p\",\"Test\":\"T\"}\n{\"Action\":\"fail\",\"Package\":\"p\",\"Test\":\"U\"}\n", "0 1 0 1 p.U", "1 of its tests have no outcome"},
		"go of newer releases": {`{"Action":"output","Package":"p","Test":"T","Output":"log\n"}` + "\n" + `{"Action":"output","Package":"p","Test":"T","Output":"    x_test.go:7: bad\n","OutputType":"error"}` + "\n" + `{"Action":"fail","Package":"p","Test":"T"}`, "0 1 0 0 p.T", ""},
		"prose":                {"all is well\n", "0 0 0 1", "is not a report of tests"},
		"other JSON":           {"{\"a\": 1}\n", "0 0 0 1", "is not a report of tests"},
		"an endless line":      {"TAP version 13\nok 1\n" + strings.Repeat("x", maxReportLine+1), "1 0 0 1", errLongLine.Error()},
	} {
		got, said := readReport("", tt.text)
		line := strings.TrimSpace(fmt.Sprintf("%d %d %d %d %s", got.Passed, got.Failed, got.Skipped, got.Unread, strings.Join(got.Failing, ", ")))
		if line != tt.want || !strings.Contains(said, tt.said) || tt.said == "" && said != "" {
			t.Errorf("%s: %q, want %q; said %q", name, line, tt.want, said)
		}
	}
}

// What is told of failures is bounded, whatever they say.
func TestFailuresAreShort(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&text, "not ok %d - %s\n# %s\n# \x1b[31mred\x1b[0m %s\n", i+1, strings.Repeat("n", 500), strings.Repeat("größe ", 300), strings.Repeat("y\n# ", 40))
	}
	got, _ := readReport(topology.ReportTAP, text.String())
	if got.Failed != 3000 || len(got.Failing) != topology.MaxFailing || len(got.Failures) != topology.MaxFailures {
		t.Fatalf("%d, %d, %d", got.Failed, len(got.Failing), len(got.Failures))
	}
	for _, f := range got.Failures {
		if len(f.Message) > 600 || strings.Count(f.Message, "\n") > 7 || strings.Contains(f.Message, "\x1b") || len(f.Name) > maxTestName+3 {
			t.Fatalf("%+v", f)
		}
	}
}

// Tests that begin and never end are held up to a limit.
func TestOpenTestsAreBounded(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range maxOpenTests + 2 {
		fmt.Fprintf(&text, "{\"Action\":\"output\",\"Package\":\"p\",\"Test\":\"T%d\",\"Output\":\"x\"}\n", i)
	}
	if got, said := readReport(topology.ReportGoTest, text.String()); got.Unread != 1 || !strings.Contains(said, errTooOpen.Error()) {
		t.Errorf("%+v, %q", got, said)
	}
}

// FuzzReports: no report crashes the runner, or makes a result that is too large.
func FuzzReports(f *testing.F) {
	names, err := filepath.Glob("testdata/reports/*")
	if err != nil || len(names) == 0 {
		f.Fatal(names, err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text), byte(0))
	}
	f.Add("    # Subtest: x\n        ok 1\n            not ok 2\n  ---\n  message: |\n    a\n", byte(3))
	formats := []topology.ReportFormat{"", topology.ReportJUnit, topology.ReportGoTest, topology.ReportTAP}
	f.Fuzz(func(t *testing.T, text string, format byte) {
		got, _ := readReport(formats[int(format)%len(formats)], text)
		if got.Passed < 0 || got.Failed < len(got.Failing) || len(got.Failing) > topology.MaxFailing || len(got.Failures) > topology.MaxFailures {
			t.Fatalf("%+v", got)
		}
		for _, f := range got.Failures {
			if len(f.Message) > 1000 || len(f.Name) > maxTestName+3 || f.Message == "" && f.File == "" {
				t.Fatalf("%+v", f)
			}
		}
	})
}
