package attempt

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"

	"github.com/runnerhub/runnerhub/topology"
)

// Limits on reports, so that what a job writes cannot keep its runner busy.
const (
	maxReportBytes = 32 << 20 // of one
	maxTestName    = 200      // bytes
	maxReports     = 2000
)

// junit counts the test cases of JUnit XML, however its suites are nested.
type junit struct {
	files int
	tests topology.Tests
}

// counts is what was found; nil when there was no report.
func (j *junit) counts() *topology.Tests {
	if j.files == 0 {
		return nil
	}
	t := j.tests
	return &t
}

// read adds a report. One that is broken counts as far as it can be read.
func (j *junit) read(name string, content io.Reader, say func(format string, args ...any)) {
	if j.files++; j.files > maxReports {
		j.tests.Unread++
		return
	}
	limited := &io.LimitedReader{R: content, N: maxReportBytes}
	err := j.parse(xml.NewDecoder(newTagReader(limited)))
	if limited.N <= 0 {
		err = errors.New("it is too large")
	}
	if err != nil {
		j.tests.Unread++
		if j.tests.Unread <= 5 {
			say("The report %s is not JUnit XML, or not whole: %v", name, err)
		}
	}
}

// testCase is one while its element is open.
type testCase struct {
	name            string
	failed, skipped bool
}

func (j *junit) parse(d *xml.Decoder) error {
	d.Strict = false
	d.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil } // names in another charset look odd, counts are right
	suites := []string{}
	var open *testCase
	known, depth := false, 0
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			if !known {
				return errors.New("it has no testsuite")
			}
			return nil
		}
		if err != nil {
			return err
		}
		switch e := token.(type) {
		case xml.StartElement:
			if depth++; depth > maxDepth {
				return errTooDeep
			}
			switch e.Name.Local {
			case "testsuites":
				known = true
			case "testsuite":
				known = true
				suites = append(suites, attribute(e, "name"))
			case "testcase":
				suite := ""
				if len(suites) > 0 {
					suite = suites[len(suites)-1]
				}
				open = &testCase{name: caseName(e, suite)}
			case "failure", "error":
				if open != nil {
					open.failed = true
				}
			case "skipped":
				if open != nil {
					open.skipped = true
				}
			}
		case xml.EndElement:
			depth--
			switch {
			case e.Name.Local == "testsuite" && len(suites) > 0:
				suites = suites[:len(suites)-1]
			case e.Name.Local == "testcase" && open != nil:
				j.count(*open)
				open = nil
			}
		}
	}
}

func (j *junit) count(c testCase) {
	switch {
	case c.failed:
		j.tests.Failed++
		if len(j.tests.Failing) < topology.MaxFailing {
			j.tests.Failing = append(j.tests.Failing, c.name)
		}
	case c.skipped:
		j.tests.Skipped++
	default:
		j.tests.Passed++
	}
}

// caseName is a test's name with its class, or else its suite, in front.
func caseName(e xml.StartElement, suite string) string {
	name, class := attribute(e, "name"), attribute(e, "classname")
	if class == "" {
		class = suite
	}
	if class != "" && !strings.HasPrefix(name, class) {
		name = class + "." + name
	}
	name = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(name, "\uFFFD"))
	if len(name) > maxTestName {
		name = strings.ToValidUTF8(name[:maxTestName], "") + "…"
	}
	return name
}

func attribute(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}
