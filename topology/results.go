package topology

import (
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Limits on what a spec may want of a job's results.
const (
	MaxArtifactEntries = 50
	MaxReportPatterns  = 20
)

// OutputVariable names the variable that tells a job where to write its outputs, and OutputFile is what it says: a file
// of the job container's own, which the job makes. The workspace stays as the job wants it.
const (
	OutputVariable = "RUNNERHUB_OUTPUT"
	OutputFile     = "/tmp/runnerhub-output"
)

// Artifact is files of the workspace that are kept when the job has ended.
type Artifact struct {
	Name string `json:"name"` // the path when the author gave none; unique
	// Path is a pattern below the working directory, with slashes; ** stands for any folders. A folder that it matches is
	// kept with all that is in it.
	Path string `json:"path"`
	// Optional keeps a job that left no such file from failing.
	Optional bool `json:"optional,omitempty"`
}

// Collected is what of the workspace comes back without being named.
type Collected string

// CollectPatch is what the job has changed of its source, as a unified diff.
const CollectPatch Collected = "patch"

// PatchName and PatchFile are what the artifact of CollectPatch is called.
const (
	PatchName = "patch"
	PatchFile = "changes.patch"
)

// Reports are files of the workspace that are read when the job has ended.
type Reports struct {
	// Patterns as of Artifact.Path, by the format of the files.
	JUnit  []string `json:"junit,omitempty"`
	GoTest []string `json:"go_test,omitempty"` // what go test -json writes
	TAP    []string `json:"tap,omitempty"`
	Any    []string `json:"any,omitempty"` // one of these: the files themselves tell
}

// ReportFormat is a format of reports; "" is told by the file itself.
type ReportFormat string

// The formats of reports.
const (
	ReportJUnit  ReportFormat = "junit"
	ReportGoTest ReportFormat = "go_test"
	ReportTAP    ReportFormat = "tap"
)

// Patterns are all that the spec names.
func (r Reports) Patterns() []string { return slices.Concat(r.JUnit, r.GoTest, r.TAP, r.Any) }

// FormatOf tells whether a file is a report, and its format.
func (r Reports) FormatOf(file string) (f ReportFormat, ok bool) {
	for _, group := range []struct {
		patterns []string
		format   ReportFormat
	}{{r.JUnit, ReportJUnit}, {r.GoTest, ReportGoTest}, {r.TAP, ReportTAP}, {r.Any, ""}} {
		if slices.ContainsFunc(group.patterns, func(p string) bool { return GlobMatch(p, file) }) {
			return group.format, true
		}
	}
	return "", false
}

// Workspace is the job's working directory in its container.
func (s *Spec) Workspace() string {
	if s.WorkingDir == "" {
		return DefaultWorkingDir
	}
	return s.WorkingDir
}

// GlobBase is the folder or file that all a pattern can match is at or below: its part before the first that is no
// plain name, "." when there is none.
func GlobBase(pattern string) string {
	base, _ := doublestar.SplitPattern(pattern)
	if base == "" {
		return "."
	}
	return base
}

// GlobMatch says whether a pattern matches a file's path or a folder that the file is in.
func GlobMatch(pattern, file string) bool {
	for at := file; at != "." && at != "/"; at = path.Dir(at) {
		if ok, err := doublestar.Match(pattern, at); ok && err == nil {
			return true
		}
	}
	return pattern == "."
}

// pattern is a glob below the workspace.
func (d *decoder) pattern(v value) string {
	s, ok := d.text(v)
	switch {
	case !ok:
	case s == "":
		d.report(v.node, v.path, ProblemInvalid, "is empty", `for example "out/*.xml" or "dist/**"`)
	case len(s) > maxPath:
		d.report(v.node, v.path, ProblemOutOfRange, "is longer than 4096 characters", "")
	case path.IsAbs(s) || windowsRoot.MatchString(s):
		d.report(v.node, v.path, ProblemInvalid, "must be a path below the working directory", "leave out the leading slash; copy what is elsewhere into the working directory in a step")
	case path.Clean(s) == ".." || strings.HasPrefix(path.Clean(s), "../") || strings.Contains("/"+s+"/", "/../"):
		d.report(v.node, v.path, ProblemInvalid, "leaves the working directory", "copy what is elsewhere into the working directory in a step")
	case !doublestar.ValidatePattern(s):
		d.report(v.node, v.path, ProblemInvalid, "not a pattern: "+quote(s), `* stands for a part of a name, ** for any folders, {a,b} for one of them`)
	case alternatives(s) > maxAlternatives:
		d.report(v.node, v.path, ProblemOutOfRange, "its {…} stand for more than 1000 patterns", "list the patterns one by one, or use *")
	default:
		return path.Clean(s)
	}
	return ""
}

// maxAlternatives bounds what matching a pattern can cost: each {a,b} is tried with all that follows it.
const maxAlternatives = 1000

// alternatives is how many patterns without {…} a valid pattern stands for, at least;
// beyond maxAlternatives it does not count on.
func alternatives(pattern string) int {
	// of each open group: what its alternatives come to so far, and the one that is being read
	sums, products := []int{0}, []int{1}
	top := func() int { return len(sums) - 1 }
	for i := 0; i < len(pattern); i++ {
		switch pattern[i] {
		case '\\':
			i++
		case '{':
			sums, products = append(sums, 0), append(products, 1)
		case ',':
			sums[top()], products[top()] = sums[top()]+products[top()], 1
		case '}':
			if top() == 0 {
				continue
			}
			group := sums[top()] + products[top()]
			sums, products = sums[:top()], products[:top()]
			products[top()] = min(products[top()]*group, maxAlternatives+1)
		}
	}
	return min(sums[0]+products[0], maxAlternatives+1)
}

// artifacts decodes what is kept; entries without a name are named by their path.
func (d *decoder) artifacts(v value) []Artifact {
	var all []Artifact
	named := map[string]*node{}
	d.list(v, func(item value) {
		if len(all) == MaxArtifactEntries {
			d.report(item.node, v.path, ProblemTooLarge, "more than 50 artifacts", "one entry can match many files")
		}
		if len(all) >= MaxArtifactEntries {
			all = append(all, Artifact{})
			return
		}
		a, at := d.artifact(item)
		if before := named[a.Name]; a.Name != "" && before != nil {
			d.report(at, join(item.path, "name"), ProblemDuplicate, "the name "+quote(a.Name)+" is taken by the artifact on "+before.String(), "name it differently")
		} else {
			named[a.Name] = at
		}
		all = append(all, a)
	})
	return all
}

// artifact decodes one: a mapping, or a pattern alone.
func (d *decoder) artifact(v value) (a Artifact, at *node) {
	if v.kind == scalarNode {
		a.Path = d.pattern(v)
		a.Name = a.Path
		return a, v.node
	}
	at = v.node
	got := d.object(v, fields{
		"name":     func(v value) { a.Name, at = d.title(v), v.node },
		"path":     func(v value) { a.Path = d.pattern(v) },
		"optional": func(v value) { a.Optional = d.boolean(v) },
	}, artifactStrangers)
	if v.kind == mappingNode && got.lacks("path") {
		d.report(v.key, join(v.path, "path"), ProblemMissing, "missing", `it is the files to keep, for example "out/*.xml"`)
	}
	if got.lacks("name") {
		a.Name = a.Path
	}
	return a, at
}

// reports decodes which files are read: patterns by format, or patterns alone.
func (d *decoder) reports(v value) (r Reports) {
	if v.kind != mappingNode {
		r.Any = d.patterns(v)
		return r
	}
	d.object(v, fields{
		"junit":   func(v value) { r.JUnit = d.patterns(v) },
		"go_test": func(v value) { r.GoTest = d.patterns(v) },
		"tap":     func(v value) { r.TAP = d.patterns(v) },
		"any":     func(v value) { r.Any = d.patterns(v) },
	}, reportStrangers)
	return r
}

// patterns decodes one pattern or a list of them.
func (d *decoder) patterns(v value) []string {
	if v.kind == scalarNode {
		if p := d.pattern(v); p != "" {
			return []string{p}
		}
		return nil
	}
	var all []string
	d.list(v, func(item value) {
		if len(all) == MaxReportPatterns {
			d.report(item.node, v.path, ProblemTooLarge, "more than 20 patterns", "one pattern can match many files")
		}
		all = append(all, d.pattern(item))
	})
	return all
}

var artifactStrangers = strangers{
	meant: map[string]string{
		"paths":             `did you mean "path"? Write one entry for each`,
		"files":             `did you mean "path"?`,
		"glob":              `did you mean "path"?`,
		"if-no-files-found": `did you mean "optional: true"?`,
		"retention-days":    "how long artifacts are kept is the hub's setting",
		"expire_in":         "how long artifacts are kept is the hub's setting",
		"when":              "artifacts are kept whether the job succeeded or failed",
	},
}

var reportStrangers = strangers{
	meant: map[string]string{
		"xunit":    `did you mean "junit"?`,
		"go":       `did you mean "go_test"? It is the output of go test -json`,
		"gotest":   `did you mean "go_test"?`,
		"json":     `did you mean "go_test"? It is the output of go test -json`,
		"paths":    `did you mean "any"?`,
		"coverage": `keep it as an artifact`,
	},
}
