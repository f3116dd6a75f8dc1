package mcpserver_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runnerhub/runnerhub/hub/api"
	"github.com/runnerhub/runnerhub/mcp/mcpserver"
)

//go:generate go test -run "TestToolsAreAsPinned|TestReadmeHasTheTools|TestToolsHaveTheirPages" -update .

var update = flag.Bool("update", false, "write the snapshots of the tools and the README's table")

// Every tool is pinned as clients see it, so that no change of the contract goes
// unnoticed.
func TestToolsAreAsPinned(t *testing.T) {
	t.Parallel()
	var files []string
	for _, o := range api.Operations(api.Services{}) {
		if o.HTTPOnly {
			continue
		}
		raw, err := json.Marshal(mcpserver.Tool(&o))
		if err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		if err := json.Indent(&got, raw, "", "  "); err != nil {
			t.Fatal(err)
		}
		got.WriteByte('\n')
		file := filepath.Join("testdata", o.Name+".json")
		files = append(files, file)
		if *update {
			if err := os.WriteFile(file, got.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Errorf("%v; run: go generate ./mcp/mcpserver", err)
			continue
		}
		if diff := cmp.Diff(string(want), got.String()); diff != "" {
			t.Errorf("%s has changed (-pinned +now); if it is meant to, run: go generate ./mcp/mcpserver\n%s", o.Name, diff)
		}
	}
	have, err := filepath.Glob("testdata/*.json")
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(files)
	if !slices.Equal(have, files) && !*update {
		t.Errorf("testdata has %v, the tools are %v", have, files)
	}
}

func TestReadmeHasTheTools(t *testing.T) {
	t.Parallel()
	const readme = "../../README.md"
	text, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	want, ok := withTable(string(text), toolsTable(api.Operations(api.Services{})))
	if !ok {
		t.Fatalf("README.md has lost the lines %s and %s", tableBegin, tableEnd)
	}
	if *update {
		if err := os.WriteFile(readme, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Errorf("the README's tools differ (-tools +README); run: go generate ./mcp/mcpserver\n%s", diff)
	}
}

// Every tool has a page in the manual that says what the code does.
func TestToolsHaveTheirPages(t *testing.T) {
	t.Parallel()
	const folder = "../../docs/tools"
	pages := toolPages(api.Operations(api.Services{}))
	for name, want := range pages {
		file := filepath.Join(folder, name)
		if *update {
			if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(file)
		if err != nil {
			t.Errorf("%v; run: go generate ./mcp/mcpserver", err)
			continue
		}
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("%s differs (-code +page); run: go generate ./mcp/mcpserver\n%s", file, diff)
		}
	}
	have, err := filepath.Glob(folder + "/*")
	if err != nil {
		t.Fatal(err)
	}
	if len(have) != len(pages) {
		t.Errorf("%d files for %d pages: remove those of tools that are gone", len(have), len(pages))
	}
}
