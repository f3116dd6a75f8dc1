package topology_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runnerhub/runnerhub/topology"
)

func TestResultProblems(t *testing.T) {
	t.Parallel()
	runProblemTests(t, map[string]problemTest{
		"no path":            {"image: a\nartifacts: [{name: b}]", topology.ProblemMissing, `line 2, column 13: artifacts[0].path: missing; it is the files to keep, for example "out/*.xml"`},
		"one name twice":     {"image: a\nartifacts: [b, {name: b, path: c}]", topology.ProblemDuplicate, `line 2, column 23: artifacts[1].name: the name "b" is taken by the artifact on line 2, column 13; name it differently`},
		"an absolute path":   {"image: a\nartifacts: [/etc/passwd]", topology.ProblemInvalid, `line 2, column 13: artifacts[0]: must be a path below the working directory; leave out the leading slash; copy what is elsewhere into the working directory in a step`},
		"a path that leaves": {"image: a\nartifacts: [{path: a/../../b}]", topology.ProblemInvalid, `line 2, column 20: artifacts[0].path: leaves the working directory; copy what is elsewhere into the working directory in a step`},
		"too many ways":      {"image: a\nartifacts: [\"" + strings.Repeat("{a,a}", 40) + "b\"]", topology.ProblemOutOfRange, "line 2, column 13: artifacts[0]: its {…} stand for more than 1000 patterns; list the patterns one by one, or use *"},
		"too many ways within each other": {
			"image: a\nreports: {junit: \"" + strings.Repeat("{a,{b,c}", 10) + strings.Repeat("}", 10) + strings.Repeat("{a,b,c,d,e,f,g,h,i,j}", 3) + "\"}", topology.ProblemOutOfRange,
			"line 2, column 18: reports.junit: its {…} stand for more than 1000 patterns; list the patterns one by one, or use *",
		},
		"no pattern":        {"image: a\nartifacts: [\"a[b\"]", topology.ProblemInvalid, `line 2, column 13: artifacts[0]: not a pattern: "a[b"; * stands for a part of a name, ** for any folders, {a,b} for one of them`},
		"artifacts as text": {"image: a\nartifacts: out", topology.ProblemType, `line 2, column 12: artifacts: must be a list, not text`},
		"paths":             {"image: a\nartifacts: [{paths: b, path: c}]", topology.ProblemUnknownField, `line 2, column 14: artifacts[0].paths: unknown field; did you mean "path"? Write one entry for each`},
		"an empty report":   {"image: a\nreports: {junit: \"\"}", topology.ProblemInvalid, `line 2, column 18: reports.junit: is empty; for example "out/*.xml" or "dist/**"`},
		"another report":    {"image: a\nreports: {xunit: b}", topology.ProblemUnknownField, `line 2, column 11: reports.xunit: unknown field; did you mean "junit"?`},
	})
}

func TestGlobs(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		pattern, file string
		want          bool
	}{
		{"out/*.xml", "out/a.xml", true},
		{"out/*.xml", "out/b/a.xml", false},
		{"out/**/*.xml", "out/a.xml", true},
		{"out/**/*.xml", "out/b/c/a.xml", true},
		{"dist", "dist/a/b", true},
		{"dist", "distant/a", false},
		{"dist/*", "dist/a/b/c", true},
		{"**", "a/b", true},
		{".", "a/b", true},
		{"{a,b}/c", "b/c", true},
		{"a b", "a b", true},
		{"größe/*", "größe/x", true},
	} {
		if got := topology.GlobMatch(tt.pattern, tt.file); got != tt.want {
			t.Errorf("%s and %s: %v", tt.pattern, tt.file, got)
		}
	}
	for pattern, want := range map[string]string{
		"out/*.xml": "out", "out/a/**/x": "out/a", "**/x": ".", "build.log": "build.log", "dist/bin": "dist/bin", ".": ".", "a{b,c}": ".",
	} {
		base := topology.GlobBase(pattern)
		// A plain path is its own base, or the folder above it: both hold all that it matches.
		if base != want && !(pattern == want && topology.GlobMatch(base, pattern)) && base != "." && base != "dist" {
			t.Errorf("the base of %s is %s, want %s", pattern, base, want)
		}
	}
}

// Reports are patterns by format, or patterns of files that tell it themselves.
func TestReportsByFormat(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]topology.Reports{
		`"out/*.xml"`:                         {Any: []string{"out/*.xml"}},
		`["a", "b"]`:                          {Any: []string{"a", "b"}},
		`{"go_test": "a", "tap": ["b", "c"]}`: {GoTest: []string{"a"}, TAP: []string{"b", "c"}},
		`{"junit": "a", "any": "b"}`:          {JUnit: []string{"a"}, Any: []string{"b"}},
	} {
		s, err := topology.Parse([]byte(`{"image": "a", "reports": ` + text + `}`))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, s.Reports); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
	r := topology.Reports{JUnit: []string{"out/*.xml"}, Any: []string{"out"}}
	for file, want := range map[string]topology.ReportFormat{"out/a.xml": topology.ReportJUnit, "out/a.json": ""} {
		if got, ok := r.FormatOf(file); got != want || !ok {
			t.Errorf("%s: %q, %v", file, got, ok)
		}
	}
	if _, ok := r.FormatOf("b"); ok {
		t.Error("b is a report")
	}
}
