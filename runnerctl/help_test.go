package runnerctl_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/runnerhub/runnerhub/runnerctl"
	"github.com/runnerhub/runnerhub/runnerctl/cmdutil"
	"github.com/runnerhub/runnerhub/runnerctl/iostreams"
)

var update = flag.Bool("update", false, "write the golden files again")

// The help of every command is pinned, and with it flags, defaults and the fields of --json:
// scripts rely on them, so a change must be seen.
func TestHelp(t *testing.T) {
	t.Parallel()
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		name := strings.ReplaceAll(c.CommandPath(), " ", "-")
		t.Run(name, func(t *testing.T) {
			got := help(t, strings.Fields(c.CommandPath())[1:])
			golden := filepath.Join("testdata", "help", name+".txt")
			if *update {
				if err := os.MkdirAll(filepath.Dir(golden), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatalf("%v; write it with: go test ./runnerctl -update", err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("help differs (-want +got); write it again with: go test ./runnerctl -update\n%s", diff)
			}
		})
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	f, _ := factory(t)
	walk(runnerctl.NewRoot(f))
}

func help(t *testing.T, args []string) string {
	t.Helper()
	f, out := factory(t)
	if code := runnerctl.Execute(t.Context(), f, append(args, "--help")); code != 0 {
		t.Fatalf("exit code %d: %s", code, out)
	}
	return out.String()
}

// factory makes a Factory that touches nothing of this machine's; both streams go to one buffer.
func factory(t *testing.T) (*cmdutil.Factory, *bytes.Buffer) {
	t.Helper()
	var b bytes.Buffer
	dir := t.TempDir()
	return &cmdutil.Factory{
		IO: &iostreams.IOStreams{In: strings.NewReader(""), Out: &b, Err: &b}, Getenv: func(string) string { return "" },
		Now: time.Now, ConfigDir: filepath.Join(dir, "config"), StateDir: filepath.Join(dir, "state"),
	}, &b
}

func TestExitCodesOfTheCommandLine(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		args []string
		code int
		says string
	}{
		"unknown command":   {[]string{"nonsense"}, 2, `unknown command "nonsense"`},
		"unknown flag":      {[]string{"jobs", "--nonsense"}, 2, "unknown flag"},
		"missing argument":  {[]string{"explain"}, 2, "runnerctl explain --help"},
		"too many":          {[]string{"cancel", "a", "b"}, 2, "runnerctl cancel --help"},
		"bad number":        {[]string{"jobs", "--limit", "x"}, 2, "limit"},
		"out of range":      {[]string{"run", "--slots", "0"}, 2, "--slots"},
		"not signed in":     {[]string{"jobs"}, 3, "runnerctl login"},
		"not paired":        {[]string{"run"}, 3, "runnerctl pair"},
		"nothing to unpair": {[]string{"unpair"}, 5, "runnerctl status"},
		"bad profile name":  {[]string{"jobs", "--profile", "../x"}, 2, "--profile"},
		"missing spec":      {[]string{"submit", "/nonexistent.yaml"}, 2, "cannot read the spec"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, out := factory(t)
			if code := runnerctl.Execute(t.Context(), f, tc.args); code != tc.code || !strings.Contains(out.String(), tc.says) {
				t.Errorf("exit code %d, want %d; output, which should contain %q:\n%s", code, tc.code, tc.says, out)
			}
		})
	}
}
