package cmd_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/runnerhub/runnerhub/topology"
)

// The examples run in CI (make examples), except for what needs a registry; the
// specs of those must at least be right, and each must have its row.
func TestExamplesAreValid(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../examples/README.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("../examples/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	folders, err := filepath.Glob("../examples/*/job.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(files, folders...) {
		name := strings.TrimPrefix(filepath.ToSlash(file), "../examples/")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := topology.Parse(text); err != nil {
				t.Error(err)
			}
			if !strings.Contains(string(readme), "["+name+"]") {
				t.Errorf("examples/README.md has no row for %s", name)
			}
		})
	}
}
