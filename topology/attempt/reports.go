package attempt

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"

	"github.com/runnerhub/runnerhub/topology"
)

// Limits on reports, so that what a job writes cannot keep its runner busy.
const (
	maxReportBytes = 32 << 20 // of one
	maxReportLine  = 1 << 20  // bytes of a line, where a report has lines
	maxTestName    = 200      // bytes
	maxReports     = 2000
	maxOpenTests   = 5000 // that have begun and not ended, or whose outcome waits for others
)

// errLongLine and errTooOpen are reports that are no test run's.
var (
	errLongLine = errors.New("a line of it is too long")
	errTooOpen  = errors.New("too many of its tests have begun and not ended")
)

// reports counts the test cases of a job's reports.
type reports struct {
	files int
	tests topology.Tests
}

// counts is what was found; nil when there was no report.
func (r *reports) counts() *topology.Tests {
	if r.files == 0 {
		return nil
	}
	t := r.tests
	return &t
}

// passOver counts a report that is not read.
func (r *reports) passOver() {
	r.files++
	r.tests.Unread++
}

// read adds a report. One that is broken counts as far as it can be read. format is ""
// where the spec does not say.
func (r *reports) read(name string, format topology.ReportFormat, content io.Reader, say func(format string, args ...any)) {
	if r.files >= maxReports {
		r.passOver()
		return
	}
	r.files++
	limited := &io.LimitedReader{R: content, N: maxReportBytes}
	in := bufio.NewReaderSize(limited, 64<<10)
	if format == "" {
		format = formatOf(in)
	}
	var err error
	switch format {
	case topology.ReportJUnit:
		err = r.junit(in)
	case topology.ReportGoTest:
		err = r.goTest(in)
	case topology.ReportTAP:
		err = r.tap(in)
	default:
		err = errors.New("it is neither JUnit XML nor the output of go test -json nor TAP")
	}
	if limited.N <= 0 {
		err = errors.New("it is too large")
	}
	if err != nil {
		r.tests.Unread++
		if r.tests.Unread <= 5 {
			say("The report %s is not %s, or not whole: %v", name, formatNames[format], err)
		}
	}
}

var formatNames = map[topology.ReportFormat]string{
	"": "a report of tests", topology.ReportJUnit: "JUnit XML", topology.ReportGoTest: "the output of go test -json", topology.ReportTAP: "TAP",
}

// formatOf tells the format of a report by how it begins; "" for none that is known.
func formatOf(in *bufio.Reader) topology.ReportFormat {
	const looked = 16 << 10 // bytes: compilers may speak before the first test does
	head, _ := in.Peek(looked)
	head = bytes.TrimPrefix(head, []byte("\ufeff"))
	if text := bytes.TrimLeft(head, " \t\r\n"); bytes.HasPrefix(text, []byte("<")) {
		return topology.ReportJUnit
	}
	for line := range bytes.Lines(head) {
		line = bytes.TrimSpace(line)
		switch {
		case bytes.HasPrefix(line, []byte("{")) && bytes.Contains(line, []byte(`"Action":`)):
			return topology.ReportGoTest
		case tapVersion.Match(line) || tapPlan.Match(line) || tapPoint.Match(line):
			return topology.ReportTAP
		}
	}
	return ""
}

// verdict is how a test case ended.
type verdict int

const (
	passed verdict = iota
	failed
	skipped
)

// count adds a test case. f is what is told of it if it failed.
func (r *reports) count(o verdict, f topology.TestFailure) {
	switch o {
	case passed:
		r.tests.Passed++
	case skipped:
		r.tests.Skipped++
	case failed:
		r.tests.Failed++
		f.Name = oneLine(f.Name, maxTestName)
		if len(r.tests.Failing) < topology.MaxFailing {
			r.tests.Failing = append(r.tests.Failing, f.Name)
		}
		f.Message = firstLines(f.Message)
		if f.File = oneLine(f.File, maxTestName); f.File == "" {
			f.Line = 0
		}
		if len(r.tests.Failures) < topology.MaxFailures && (f.Message != "" || f.File != "") {
			r.tests.Failures = append(r.tests.Failures, f)
		}
	}
}

// oneLine makes text one line of at most so many bytes.
func oneLine(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

// firstLines is the beginning of a message: lines with something in them, without
// control characters, within the limits of a result.
func firstLines(s string) string {
	const (
		mostLines = 6
		mostBytes = 500
	)
	var b strings.Builder
	n := 0
	for line := range strings.Lines(ansi.ReplaceAllString(s, "")) {
		line = strings.TrimRight(oneLine(strings.ReplaceAll(line, "\t", "    "), maxTestName), " ")
		if line == "" {
			continue
		}
		if n++; n > mostLines || b.Len()+len(line) >= mostBytes {
			b.WriteString("\n…")
			break
		}
		if n > 1 {
			b.WriteByte('\n')
		}
		b.WriteString(line)
	}
	return strings.TrimLeft(dedent(b.String()), "\n")
}

// dedent takes from all lines the spaces that they begin with alike.
func dedent(s string) string {
	lines := strings.Split(s, "\n")
	shared := -1
	for _, l := range lines {
		if n := len(l) - len(strings.TrimLeft(l, " ")); l != "…" && (shared < 0 || n < shared) {
			shared = n
		}
	}
	for i, l := range lines {
		lines[i] = l[min(max(shared, 0), len(l)-len(strings.TrimLeft(l, " "))):]
	}
	return strings.Join(lines, "\n")
}

// capped keeps the beginning of what is written to it.
type capped struct{ b strings.Builder }

// maxHeld is how many bytes of a test's output are kept until its outcome is known.
const maxHeld = 2 << 10

func (c *capped) add(s string) {
	if room := maxHeld - c.b.Len(); room > 0 {
		c.b.WriteString(s[:min(len(s), room)])
	}
}

// reportLines reads lines of at most maxReportLine bytes.
func reportLines(in io.Reader) *bufio.Scanner {
	s := bufio.NewScanner(in)
	s.Buffer(make([]byte, 64<<10), maxReportLine)
	return s
}

func lineError(err error) error {
	if errors.Is(err, bufio.ErrTooLong) {
		return errLongLine
	}
	return err
}
