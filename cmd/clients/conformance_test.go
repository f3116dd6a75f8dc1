//go:build clients

package clients_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// outcome is what one check of a scenario came to.
type outcome struct {
	scenario string
	ID       string `json:"id"`
	Status   string `json:"status"` // SUCCESS, FAILURE, WARNING, SKIPPED or INFO
	Message  string `json:"errorMessage"`
}

// TestConformance runs every scenario that MCP's conformance suite has for servers, in both eras and for all extensions.
// What fails must be in
// testdata/conformance.txt with its reason, and what is there must fail.
func TestConformance(t *testing.T) {
	t.Parallel()
	programs := node(t)
	h := startHub(t)
	url := newFront(t, h, h.key).local() + "/mcp" // the suite can send no token
	runs := map[string][]string{}                 // each with the scenarios that it must have
	for scenario, revisions := range scenarios(t, programs) {
		for _, revision := range revisions {
			switch revision {
			case "2025-11-25", "2026-07-28":
				runs[revision] = append(runs[revision], scenario)
			case "extension":
				runs[scenario] = []string{scenario}
			}
		}
	}
	if len(runs["2025-11-25"]) < 30 || len(runs["2026-07-28"]) < 30 {
		t.Fatalf("the suite lists %v", runs)
	}
	expected := expectations(t)
	for _, name := range slices.Sorted(maps.Keys(runs)) {
		for _, o := range runSuite(t, programs, url, name, runs[name]) {
			switch may := expected[o.scenario].covers(o.ID); {
			case o.Status == "FAILURE" && may:
				expected[o.scenario].failed[o.ID] = true
			case o.Status == "FAILURE":
				t.Errorf("%s %s fails in %s: %s", o.scenario, o.ID, name, o.Message)
			case o.Status == "SUCCESS" && may:
				t.Errorf("%s %s is expected to fail and passes in %s: take it out of %s", o.scenario, o.ID, name, expectationsFile)
			}
		}
	}
	for scenario, e := range expected {
		if len(e.failed) == 0 || slices.ContainsFunc(e.checks, func(id string) bool { return id != "*" && !e.failed[id] }) {
			t.Errorf("%s: %s expects failures of %v, there are %v", scenario, expectationsFile, e.checks, e.failed)
		}
	}
}

var listed = regexp.MustCompile(`(?m)^  - (\S+) \[(.*)\]$`)

// scenarios are those for servers, with what each applies to.
func scenarios(t *testing.T, programs nodePrograms) map[string][]string {
	t.Helper()
	list, stderr, failed := programs.run(t, "conformance", "list", "--server")
	if failed {
		t.Fatal(stderr)
	}
	all := map[string][]string{}
	for _, m := range listed.FindAllStringSubmatch(list, -1) {
		all[m[1]] = strings.Split(m[2], ",")
	}
	return all
}

// runSuite runs all that the suite has for a revision, or one extension's scenario.
func runSuite(t *testing.T, programs nodePrograms, url, name string, want []string) []outcome {
	t.Helper()
	dir := t.TempDir()
	args := []string{"server", "--url", url, "--output-dir", dir}
	if slices.Equal(want, []string{name}) {
		args = append(args, "--scenario", name)
	} else {
		args = append(args, "--suite", "all", "--spec-version", name)
	}
	stdout, stderr, _ := programs.run(t, "conformance", args...) // which fails when one check does
	var all []outcome
	for _, scenario := range want {
		paths, err := filepath.Glob(filepath.Join(dir, "server-"+scenario+"-20*", "checks.json")) // a time follows
		if err != nil || len(paths) != 1 {
			t.Errorf("%s in %s left no results: %v, %v\n%s\n%s", scenario, name, paths, err, stdout, stderr)
			continue
		}
		outcomes, err := readChecks(paths[0])
		if err != nil || len(outcomes) == 0 {
			t.Errorf("%s in %s: %d checks, %v", scenario, name, len(outcomes), err)
		}
		for _, o := range outcomes {
			o.scenario = scenario
			all = append(all, o)
		}
	}
	return all
}

func readChecks(path string) ([]outcome, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var outcomes []outcome
	return outcomes, json.Unmarshal(text, &outcomes)
}

const expectationsFile = "testdata/conformance.txt"

// expectation is what fails of a scenario.
type expectation struct {
	checks []string        // by id, or * for all but those of the messages' form
	failed map[string]bool // in any run
}

func (e expectation) covers(id string) bool {
	if slices.Contains(e.checks, "*") {
		return !strings.HasPrefix(id, "wire-schema-")
	}
	return slices.Contains(e.checks, id)
}

// expectations are the lines of the file, by scenario.
func expectations(t *testing.T) map[string]expectation {
	t.Helper()
	text, err := os.ReadFile(expectationsFile)
	if err != nil {
		t.Fatal(err)
	}
	expected := map[string]expectation{}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] == "#" {
			continue
		}
		if _, twice := expected[fields[0]]; twice || len(fields) < 3 {
			t.Fatalf("%s: a line has a scenario of its own, its checks, and the reason: %q", expectationsFile, line)
		}
		expected[fields[0]] = expectation{checks: strings.Split(fields[1], ","), failed: map[string]bool{}}
	}
	return expected
}
