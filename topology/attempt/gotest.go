package attempt

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/runnerhub/runnerhub/topology"
)

// testEvent is a line of what go test -json writes; see go doc test2json.
type testEvent struct {
	Action      string
	Package     string
	Test        string
	Output      string
	OutputType  string // of newer releases: frame, error, error-continue
	ImportPath  string // of build-output and build-fail
	FailedBuild string // of a package's fail
}

// goRun is a report of go test -json while it is read.
type goRun struct {
	r     *reports
	open  map[string]*goTestCase // by package and test, those that have begun
	build map[string]*capped     // what compilers said, by import path
}

// goTestCase is a test, or a package, whose outcome is not known yet.
type goTestCase struct {
	parent      bool // it has subtests, which are counted in its place
	failedBelow bool // and one of these failed
	output      capped
	errors      capped // what is marked as an error
	panicked    bool
}

var (
	// goFraming are the lines that go test writes around a test's own output.
	goFraming = regexp.MustCompile(`^\s*(=== |--- (PASS|FAIL|SKIP|BENCH): |(PASS|FAIL|ok|exit status \d+)(\s|$))`)
	// goPanic begins what tells of a crash. goPlace is how the testing package names where.
	goPanic = regexp.MustCompile(`^(panic: |fatal error: |\s*testing\.go:\d+: race detected|WARNING: DATA RACE)`)
	goPlace = regexp.MustCompile(`(?m)^\s*([A-Za-z0-9_./@-]+\.go):(\d+)(?::\d+)?: `)
)

// goTest reads the output of go test -json. A test with subtests counts only where it failed
// and none of them did. Lines that are no JSON, of compilers for one, are passed over.
func (r *reports) goTest(in io.Reader) error {
	g := goRun{r: r, open: map[string]*goTestCase{}, build: map[string]*capped{}}
	known := false
	lines := reportLines(in)
	for lines.Scan() {
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 || line[0] != '{' {
			continue
		}
		var e testEvent
		if err := json.Unmarshal(line, &e); err != nil || e.Action == "" {
			if lines.Err() == nil && known {
				continue // a program may print such a line as well
			}
			return errors.New("a line of it is no event")
		}
		known = true
		if err := g.event(e); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return lineError(err)
	}
	if !known {
		return errors.New("it has no event")
	}
	if unended := len(g.open); unended > 0 {
		return errors.New(strconv.Itoa(unended) + " of its tests have no outcome")
	}
	return nil
}

func (g *goRun) event(e testEvent) error {
	key := e.Package + "\x00" + e.Test
	switch e.Action {
	case "build-output":
		if g.build[e.ImportPath] == nil && len(g.build) < maxOpenTests {
			g.build[e.ImportPath] = &capped{}
		}
		if b := g.build[e.ImportPath]; b != nil && !strings.HasPrefix(e.Output, "# ") {
			b.add(e.Output)
		}
	case "start", "run", "output":
		t := g.open[key]
		if t == nil {
			if len(g.open) >= maxOpenTests {
				return errTooOpen
			}
			t = &goTestCase{}
			g.open[key] = t
			if above := g.above(e); above != nil && e.Test != "" {
				above.parent = true
			}
		}
		if e.Action == "output" {
			t.say(e)
		}
	case "pass", "fail", "skip":
		g.end(e, key)
	}
	return nil
}

// above is the test, or the package, that a test is in.
func (g *goRun) above(e testEvent) *goTestCase {
	name := e.Test
	if at := strings.LastIndexByte(name, '/'); at >= 0 {
		name = name[:at]
	} else {
		name = ""
	}
	return g.open[e.Package+"\x00"+name]
}

func (t *goTestCase) say(e testEvent) {
	switch {
	case goFraming.MatchString(e.Output) || e.OutputType == "frame":
	case strings.HasPrefix(e.OutputType, "error"):
		t.errors.add(e.Output)
	case goPanic.MatchString(e.Output) && !t.panicked: // what was printed before says less
		t.panicked = true
		t.output = capped{}
		t.output.add(e.Output)
	default:
		t.output.add(e.Output)
	}
}

func (g *goRun) end(e testEvent, key string) {
	t := g.open[key]
	if t == nil {
		t = &goTestCase{}
	}
	above := g.above(e)
	delete(g.open, key)
	o := map[string]verdict{"pass": passed, "fail": failed, "skip": skipped}[e.Action]
	if o == failed && above != nil && e.Test != "" {
		above.failedBelow = true
	}
	switch {
	case e.Test == "" && (o != failed || t.failedBelow): // a package, whose tests were counted
		return
	case e.Test != "" && t.parent && (o != failed || t.failedBelow):
		return
	}
	f := topology.TestFailure{Name: e.Package, Message: t.output.b.String()}
	if e.Test != "" {
		f.Name += "." + e.Test
	}
	if t.errors.b.Len() > 0 && !t.panicked {
		f.Message = t.errors.b.String()
	}
	places := goPlace.FindAllStringSubmatch(f.Message, -1)
	if n := len(places); n > 1 { // what a test logs stands before what it fails with
		places = places[n-1:]
	}
	if b := g.build[e.FailedBuild]; e.FailedBuild != "" && b != nil {
		f.Message = b.b.String()
		places = goPlace.FindAllStringSubmatch(f.Message, 1)
	}
	if len(places) > 0 {
		f.File = places[0][1]
		f.Line, _ = strconv.Atoi(places[0][2])
	}
	g.r.count(o, f)
}
