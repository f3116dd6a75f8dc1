package attempt

import (
	"encoding/xml"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/runnerhub/runnerhub/topology"
)

// testCase is one while its element is open.
type testCase struct {
	verdict verdict
	failure topology.TestFailure // what is told of it if it failed
	text    capped               // of the element that says so
}

// junit counts the test cases of JUnit XML, however its suites are nested.
func (r *reports) junit(in io.Reader) error {
	d := xml.NewDecoder(newTagReader(in))
	d.Strict = false
	d.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil } // names in another charset look odd, counts are right
	suites := []string{}
	var open *testCase
	known, depth, telling := false, 0, false
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
				open = &testCase{failure: topology.TestFailure{Name: caseName(e, suite), File: attribute(e, "file")}}
				open.failure.Line, _ = strconv.Atoi(attribute(e, "line"))
			case "failure", "error":
				if open != nil {
					telling = open.fail(e)
				}
			case "skipped":
				if open != nil && open.verdict != failed {
					open.verdict = skipped
				}
			}
		case xml.CharData:
			if telling {
				open.text.add(string(e[:min(len(e), maxHeld)]))
			}
		case xml.EndElement:
			depth--
			switch {
			case e.Name.Local == "testsuite" && len(suites) > 0:
				suites = suites[:len(suites)-1]
			case e.Name.Local == "failure" || e.Name.Local == "error":
				telling = false
			case e.Name.Local == "testcase" && open != nil:
				r.count(open.verdict, open.told())
				open, telling = nil, false
			}
		}
	}
}

// fail notes an element that says why a case failed; the first one counts. It is true where its text is to be read.
func (c *testCase) fail(e xml.StartElement) bool {
	if c.verdict == failed {
		return false
	}
	c.verdict = failed
	if c.failure.Message = attribute(e, "message"); c.failure.Message == "" {
		c.failure.Message = attribute(e, "type")
	}
	return true
}

// told is what is told of a case. Of the message and the text behind it, which often begins
// with the message, each line is there once.
func (c *testCase) told() topology.TestFailure {
	f := c.failure
	text := strings.TrimSpace(c.text.b.String())
	message := strings.TrimSpace(f.Message)
	switch {
	case text == "" || strings.HasPrefix(message, text):
		f.Message = message
	case message == "" || strings.HasPrefix(text, message):
		f.Message = text
	default:
		f.Message = message + "\n" + text
	}
	return f
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
