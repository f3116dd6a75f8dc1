// Package cmd_test holds the layout of docs/architecture.md: what each package
// may import, and where each library lives.
package cmd_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	module   = "github.com/runnerhub/runnerhub"
	document = "../docs/architecture.md"
	linters  = "../.golangci.yml"
)

var update = flag.Bool("update", false, "write the depguard rules of .golangci.yml")

// layout is what the document says. Paths are relative to the module and may
// have * for one element.
type layout struct {
	packages  []string            // in the document's order
	imports   map[string][]string // package → what it may import of ours
	libraries []string
	homes     map[string][]string // library → where it may be imported
}

var quoted = regexp.MustCompile("`([^`]+)`")

func readLayout(t *testing.T) layout {
	t.Helper()
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	l := layout{imports: map[string][]string{}, homes: map[string][]string{}}
	var header string
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if !strings.HasPrefix(line, "|") {
			header = ""
			continue
		}
		if header == "" {
			header = strings.TrimSpace(cells[0])
			continue
		}
		first, last := names(cells[0]), names(cells[len(cells)-1])
		if len(first) == 0 {
			continue // the rule under the header
		}
		switch header {
		case "package":
			l.packages = append(l.packages, first...)
			l.imports[first[0]] = last
		case "library":
			for _, library := range first {
				l.libraries = append(l.libraries, library)
				l.homes[library] = last
			}
		}
	}
	if len(l.packages) == 0 || len(l.libraries) == 0 {
		t.Fatalf("%s has no table of packages or none of libraries", document)
	}
	return l
}

func names(cell string) []string {
	var found []string
	for _, match := range quoted.FindAllStringSubmatch(cell, -1) {
		found = append(found, match[1])
	}
	return found
}

// row finds the row of a package: its own, or the one with a * that covers it.
func (l layout) row(pkg string) (string, bool) {
	if _, ok := l.imports[pkg]; ok {
		return pkg, true
	}
	i := slices.IndexFunc(l.packages, func(pattern string) bool { return matches(pattern, pkg) })
	if i < 0 {
		return "", false
	}
	return l.packages[i], true
}

func matches(pattern, pkg string) bool {
	ok, err := path.Match(pattern, pkg)
	return err == nil && ok
}

func matchesAny(patterns []string, pkg string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return matches(pattern, pkg) })
}

// goList runs go list for one system, since files by system have imports of
// their own, and returns its lines.
func goList(t *testing.T, goos string, args ...string) []string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", append([]string{"list"}, args...)...)
	command.Dir = ".."
	command.Env = append(os.Environ(), "GOOS="+goos, "GOARCH=amd64", "CGO_ENABLED=0", "GOFLAGS=")
	var stderr strings.Builder
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("go list %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// importsOf returns what each of our packages imports outside its tests, on any
// system.
func importsOf(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for _, goos := range []string{"linux", "darwin", "windows"} {
		for _, line := range goList(t, goos, "-f", `{{if .GoFiles}}{{.ImportPath}} {{join .Imports " "}}{{end}}`, "./...") {
			fields := strings.Fields(line)
			if len(fields) == 0 {
				continue
			}
			pkg := strings.TrimPrefix(fields[0], module+"/")
			all[pkg] = append(all[pkg], fields[1:]...)
		}
	}
	for pkg, imports := range all {
		slices.Sort(imports)
		all[pkg] = slices.Compact(imports)
	}
	return all
}

func TestImportsFollowTheDocument(t *testing.T) {
	t.Parallel()
	l := readLayout(t)
	imports := importsOf(t)
	seen := map[string]bool{}
	for _, pkg := range slices.Sorted(maps.Keys(imports)) {
		row, ok := l.row(pkg)
		if !ok {
			t.Errorf("%s has no row in %s; add it, with what it may import", pkg, document)
			continue
		}
		seen[row] = true
		for _, imported := range imports[pkg] {
			if ours, ok := strings.CutPrefix(imported, module+"/"); ok && !matchesAny(l.imports[row], ours) {
				t.Errorf("%s imports %s; its row in %s does not allow that", pkg, ours, document)
			}
			for _, library := range l.libraries {
				inside := imported == library || strings.HasPrefix(imported, library+"/")
				if inside && !matchesAny(l.homes[library], pkg) {
					t.Errorf("%s imports %s; the home of %s is %s", pkg, imported, library, strings.Join(l.homes[library], ", "))
				}
			}
		}
	}
	for _, row := range l.packages {
		if !seen[row] {
			t.Errorf("%s has a row for %s, which does not exist", document, row)
		}
	}
}

// A program that links more than it needs is slower to start, larger, and has
// more to patch. The rules above should see to it; this looks at what is linked.
func TestProgramsLinkOnlyTheirSide(t *testing.T) {
	t.Parallel()
	for program, foreign := range map[string][]string{
		"./cmd/runnerhub": {module + "/runnerctl", module + "/topology/docker", "github.com/docker/docker", "github.com/zalando/go-keyring", "testing"},
		"./cmd/runnerctl": {module + "/hub", "github.com/jackc/pgx/v5", "modernc.org/sqlite", "gocloud.dev", "testing"},
	} {
		for _, linked := range goList(t, "linux", "-deps", program) {
			for _, pkg := range foreign {
				if linked == pkg || strings.HasPrefix(linked, pkg+"/") {
					t.Errorf("%s links %s", program, linked)
				}
			}
		}
	}
}

func TestLinterHasTheRulesOfTheDocument(t *testing.T) {
	t.Parallel()
	const begin, end = "      # depguard rules begin\n", "      # depguard rules end\n"
	text, err := os.ReadFile(linters)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	got, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has lost the lines around its depguard rules", linters)
	}
	want := depguardRules(readLayout(t))
	if *update {
		if err := os.WriteFile(linters, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the depguard rules differ from %s (-document +linter); run: go test ./cmd -update\n%s", document, diff)
	}
}

// depguardRules says the tables in depguard's words.
func depguardRules(l layout) string {
	var b strings.Builder
	b.WriteString("      rules:\n")
	for _, pkg := range l.packages {
		fmt.Fprintf(&b, "        %s:\n          list-mode: lax\n          files:\n            - \"!$test\"\n", ruleName(pkg))
		fmt.Fprintf(&b, "            - \"${base-path}/%s/*.go\"\n", pkg)
		if len(l.imports[pkg]) > 0 {
			b.WriteString("          allow:\n")
		}
		for _, allowed := range depguardPackages(l.imports[pkg]) {
			fmt.Fprintf(&b, "            - %s/%s\n", module, allowed)
		}
		fmt.Fprintf(&b, "          deny:\n            - pkg: %s\n              desc: see the package table in docs/architecture.md\n", module)
	}
	for _, library := range l.libraries {
		fmt.Fprintf(&b, "        %s:\n          list-mode: lax\n          files:\n            - \"!$test\"\n", ruleName(library))
		for _, home := range l.homes[library] {
			fmt.Fprintf(&b, "            - \"!${base-path}/%s/*.go\"\n", home)
		}
		fmt.Fprintf(&b, "          deny:\n            - pkg: %s\n              desc: its home is %s\n", library, strings.Join(l.homes[library], ", "))
	}
	return b.String()
}

// depguardPackages says patterns in depguard's words: it has exact names and
// prefixes, but no *, so that a pattern allows more there than here. It finds
// only the nearest prefix, so one within another has to go.
func depguardPackages(patterns []string) []string {
	var said []string
	for _, pattern := range patterns {
		within := slices.ContainsFunc(patterns, func(other string) bool {
			parent, ok := strings.CutSuffix(other, "*")
			return ok && other != pattern && strings.HasPrefix(pattern, parent)
		})
		if parent, ok := strings.CutSuffix(pattern, "*"); ok && !within {
			said = append(said, parent)
		} else if !within {
			said = append(said, pattern+"$")
		}
	}
	return said
}

func ruleName(pkg string) string {
	return strings.NewReplacer("/", "-", ".", "-", "*", "each").Replace(pkg)
}
