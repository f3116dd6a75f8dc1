package attempt

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/runnerhub/runnerhub/topology"
)

var (
	tapVersion   = regexp.MustCompile(`^TAP version (\d+)$`)
	tapPlan      = regexp.MustCompile(`^1\.\.(\d{1,9})\s*(?:#\s*(.*))?$`)
	tapPoint     = regexp.MustCompile(`^(not )?ok\b\s*(\d{1,9})?\s*(?:- )?(.*)$`)
	tapDirective = regexp.MustCompile(`(?i)^(.*?[^\\]|)#\s*(skip|todo)\S*(?:\s+(.*))?$`)
	tapSubtest   = regexp.MustCompile(`^# Subtest(?:: (.*))?$`)
	tapKey       = regexp.MustCompile(`^(\s*)([A-Za-z_]+):\s*(.*)$`)
	tapPlace     = regexp.MustCompile(`^(.*?):(\d+)(?::\d+)?$`)
	tapPerl      = regexp.MustCompile(`(?m)^\s*at (\S+) line (\d+)\.?$`)
	ansi         = regexp.MustCompile("\x1b\\[[0-9;?]*[A-Za-z]")
)

// maxTAPDepth is how deep subtests are within each other.
const maxTAPDepth = 100

// tapRun is a report in TAP, of the versions 12 to 14, while it is read.
type tapRun struct {
	r      *reports
	levels []tapLevel // that the reader is in, from the outermost on
	last   *tapFailed // the test that failed, while what is said of it follows
	block  bool       // in the YAML behind a test
	known  bool
}

// tapLevel is a list of tests at one indentation.
type tapLevel struct {
	name           string // of the subtest that it is, where that is said
	seen, planned  int    // planned is -1 until it is said
	failed, tested bool
}

// tapFailed is a test that failed.
type tapFailed struct {
	failure topology.TestFailure
	yaml    capped
	said    capped // lines that begin with #
}

// tap reads TAP. A test whose subtests were counted is not, but where it alone failed; a test
// that is still to do is skipped, however it went. What was planned and did not run failed.
func (r *reports) tap(in io.Reader) error {
	t := tapRun{r: r, levels: []tapLevel{{planned: -1}}}
	lines := reportLines(in)
	for lines.Scan() {
		if bailed := t.line(strings.TrimRight(lines.Text(), "\r")); bailed {
			break
		}
	}
	t.settle()
	if err := lines.Err(); err != nil {
		return lineError(err)
	}
	if !t.known {
		return errors.New("it has no test")
	}
	t.missing()
	return nil
}

// missing counts what was planned and did not run.
func (t *tapRun) missing() {
	if l := t.levels[0]; l.planned > l.seen {
		t.r.count(failed, topology.TestFailure{
			Name: fmt.Sprintf("tests %d to %d", l.seen+1, l.planned), Message: fmt.Sprintf("%d tests were planned and %d ran", l.planned, l.seen),
		})
	}
}

// line reads one; true is that the run was given up.
func (t *tapRun) line(text string) bool {
	trimmed := strings.TrimLeft(text, " ")
	depth := min((len(text)-len(trimmed))/4, maxTAPDepth)
	if t.block {
		if strings.TrimSpace(text) == "..." {
			t.block = false
		} else if t.last != nil {
			t.last.yaml.add(text + "\n")
		}
		return false
	}
	if trimmed == "---" {
		t.block = true
		return false
	}
	if strings.HasPrefix(trimmed, "Bail out!") {
		t.settle()
		t.known = true
		t.r.count(failed, topology.TestFailure{Name: "Bail out!", Message: strings.TrimSpace(strings.TrimPrefix(trimmed, "Bail out!"))})
		t.levels[0].planned = -1
		return true
	}
	if depth > len(t.levels) { // it is not TAP's: what a program printed
		return false
	}
	if m := tapSubtest.FindStringSubmatch(trimmed); m != nil {
		t.settle()
		// Beside the tests that it is among, or with those that are in it: both are written.
		t.levels = append(t.levels[:min(depth+1, len(t.levels))], tapLevel{name: m[1], planned: -1})
		return false
	}
	if m := tapPlan.FindStringSubmatch(trimmed); m != nil {
		t.plan(depth, m)
		return false
	}
	if m := tapPoint.FindStringSubmatch(trimmed); m != nil && (len(trimmed) == 2 || trimmed == "not ok" || m[2] != "" || strings.Contains(trimmed, "ok ")) {
		t.point(depth, m)
		return false
	}
	if said, ok := strings.CutPrefix(trimmed, "#"); ok && t.last != nil {
		t.last.said.add(strings.TrimPrefix(said, " ") + "\n")
	}
	return false
}

func (t *tapRun) plan(depth int, m []string) {
	t.known = true
	l := t.level(depth)
	l.planned, _ = strconv.Atoi(m[1])
	if l.planned == 0 && depth == 0 && strings.HasPrefix(strings.ToLower(m[2]), "skip") {
		t.settle()
		t.r.count(skipped, topology.TestFailure{})
	}
}

// level is the list of tests at an indentation; those within it are over when a test of it follows.
func (t *tapRun) level(depth int) *tapLevel {
	for len(t.levels) <= depth {
		t.levels = append(t.levels, tapLevel{planned: -1})
	}
	return &t.levels[depth]
}

// point is a line that tells how a test ended.
func (t *tapRun) point(depth int, m []string) {
	t.settle()
	t.known = true
	var below tapLevel // the subtests of this one
	if len(t.levels) > depth+1 {
		below = t.levels[depth+1]
		t.levels = t.levels[:depth+1]
	}
	l := t.level(depth)
	l.seen++
	l.tested = true
	name, o := m[3], passed
	if m[1] != "" {
		o = failed
	}
	if d := tapDirective.FindStringSubmatch(name); d != nil {
		name = d[1]
		if strings.EqualFold(d[2], "skip") || o == failed {
			o = skipped
		}
	}
	name = strings.TrimSpace(name)
	if name == "" {
		name = "test " + strconv.Itoa(l.seen)
	}
	if o == failed {
		l.failed = true
	}
	if below.tested && (o != failed || below.failed) {
		return
	}
	if o != failed {
		t.r.count(o, topology.TestFailure{})
		return
	}
	for i := depth; i > 0; i-- {
		if above := t.levels[i].name; above != "" {
			name = above + " > " + name
		}
	}
	t.last = &tapFailed{failure: topology.TestFailure{Name: name}}
}

// settle counts the test that failed last, with what was said of it.
func (t *tapRun) settle() {
	last := t.last
	if t.last = nil; last == nil {
		return
	}
	f := &last.failure
	f.Message = last.said.b.String()
	if yaml := last.yaml.b.String(); yaml != "" {
		t.diagnose(f, yaml)
	}
	if m := tapPerl.FindStringSubmatch(f.Message); m != nil && f.File == "" {
		f.File = m[1]
		f.Line, _ = strconv.Atoi(m[2])
	}
	t.r.count(failed, *f)
}

// diagnose takes from the YAML behind a test what frameworks call the message and the place.
// It is not parsed: they do not all write YAML that is right.
func (t *tapRun) diagnose(f *topology.TestFailure, yaml string) {
	lines := strings.Split(strings.TrimRight(yaml, "\n"), "\n")
	message := ""
	for i := 0; i < len(lines); i++ {
		m := tapKey.FindStringSubmatch(lines[i])
		if m == nil {
			continue
		}
		value := strings.Trim(m[3], `'"`)
		switch strings.ToLower(m[2]) {
		case "message", "error", "reason":
			if strings.HasPrefix(value, "|") || strings.HasPrefix(value, ">") {
				value = ""
				for i+1 < len(lines) && (strings.TrimSpace(lines[i+1]) == "" || len(lines[i+1])-len(strings.TrimLeft(lines[i+1], " ")) > len(m[1])) {
					i++
					value += lines[i] + "\n"
				}
			}
			if message == "" || strings.EqualFold(m[2], "message") {
				message = value
			}
		case "location", "at", "source":
			if place := tapPlace.FindStringSubmatch(value); place != nil && f.File == "" {
				f.File = place[1]
				f.Line, _ = strconv.Atoi(place[2])
			}
		case "file":
			f.File = value
		case "line":
			if n, err := strconv.Atoi(value); err == nil {
				f.Line = n
			}
		}
	}
	if message == "" && f.Message == "" {
		message = strings.Join(lines, "\n")
	}
	if message != "" {
		f.Message = message
	}
}
