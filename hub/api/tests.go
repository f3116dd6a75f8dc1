package api

import (
	"fmt"
	"strings"

	"github.com/runnerhub/runnerhub/mcp"
)

// This file is what is told of a job's tests where the whole result is not.

const (
	testsNamed     = 3  // failed tests that a sentence names
	testsTold      = 10 // failed tests of which a text repeats what they said
	testLinesShown = 2  // lines of each
)

// testsLine is what came of the tests in a sentence.
func testsLine(t mcp.Tests) string {
	line := fmt.Sprintf("Of its tests %d passed, %d failed and %d were skipped", t.Passed, t.Failed, t.Skipped)
	if n := len(t.Failing); n > 0 {
		line += "; failed: " + strings.Join(t.Failing[:min(n, testsNamed)], ", ")
		if t.Failed > testsNamed {
			line += " and others"
		}
	}
	if t.Unread > 0 {
		line += fmt.Sprintf("; %d reports could not be read whole", t.Unread)
	}
	return line + "."
}

// shortTests are the counts, and of the first failures their first lines; nil of nil.
func shortTests(t *mcp.Tests) *mcp.Tests {
	if t == nil {
		return nil
	}
	short := *t
	short.Failing = t.Failing[:min(len(t.Failing), testsTold)]
	short.Failures = nil
	for _, f := range t.Failures[:min(len(t.Failures), testsTold)] {
		f.Message = firstLines(f.Message)
		short.Failures = append(short.Failures, f)
	}
	return &short
}

func firstLines(message string) string {
	lines := strings.SplitN(message, "\n", testLinesShown+1)
	return strings.Join(lines[:min(len(lines), testLinesShown)], "\n")
}

// testsText lists the first failed tests with where they failed and what they said; "" where none did.
func testsText(t *mcp.Tests) string {
	if t == nil || len(t.Failing) == 0 {
		return ""
	}
	said := map[string]mcp.TestFailure{}
	for _, f := range t.Failures {
		if _, known := said[f.Name]; !known {
			said[f.Name] = f
		}
	}
	var b strings.Builder
	b.WriteString("\nFailed tests. " + untrusted + "\n")
	told := t.Failing[:min(len(t.Failing), testsTold)]
	for _, name := range told {
		f := said[name]
		b.WriteString("- " + name)
		if f.File != "" {
			b.WriteString(" (" + f.File)
			if f.Line > 0 {
				fmt.Fprintf(&b, ":%d", f.Line)
			}
			b.WriteString(")")
		}
		b.WriteByte('\n')
		if f.Message != "" {
			b.WriteString("    " + strings.ReplaceAll(firstLines(f.Message), "\n", "\n    ") + "\n")
		}
	}
	if more := t.Failed - len(told); more > 0 {
		fmt.Fprintf(&b, "… and %d more: get_job names up to 50, and read_artifact reads a report that the spec keeps.\n", more)
	}
	return b.String()
}
