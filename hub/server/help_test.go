package server_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adrg/xdg"
	"github.com/google/go-cmp/cmp"

	"github.com/runnerhub/runnerhub/hub/server"
)

var update = flag.Bool("update", false, "write the golden files again")

func execute(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	code = server.Execute(t.Context(), args, &out, &errs, func(string) (string, bool) { return "", false })
	return out.String(), errs.String(), code
}

// The help of every command is pinned: an operator's scripts rely on flags and defaults, so a change must be seen.
func TestHelp(t *testing.T) {
	t.Parallel()
	for _, command := range []string{
		"", "serve", "migrate", "migrate up", "migrate status", "version",
		"admin", "admin create-user", "admin create-workspace", "admin add-member", "admin create-key", "admin revoke-key",
	} {
		got, _, code := execute(t, append(strings.Fields(command), "--help")...)
		if code != 0 {
			t.Errorf("%s --help: exit code %d", command, code)
		}
		// Folders of this machine's.
		got = strings.NewReplacer(xdg.DataHome, "$XDG_DATA_HOME", xdg.ConfigHome, "$XDG_CONFIG_HOME").Replace(got)
		golden := filepath.Join("testdata", "help", strings.Join(append([]string{"runnerhub"}, strings.Fields(command)...), "-")+".txt")
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
			t.Fatalf("%v; write it with: go test ./hub/server -update", err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("the help of %q differs (-want +got); write it again with: go test ./hub/server -update\n%s", command, diff)
		}
	}
}

func TestExitCodesOfTheCommandLine(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		args []string
		code int
		says string
	}{
		"unknown command":  {[]string{"nonsense"}, 2, "unknown command"},
		"unknown flag":     {[]string{"serve", "--nonsense"}, 2, "unknown flag"},
		"too many":         {[]string{"serve", "x"}, 2, "runnerhub serve --help"},
		"missing argument": {[]string{"admin", "create-user"}, 2, "runnerhub admin create-user --help"},
		"missing flag":     {[]string{"admin", "create-key"}, 2, `"user"`},
		"bad setting":      {[]string{"serve", "--lease-ttl", "1s"}, 2, "--heartbeat"},
		"bad log format":   {[]string{"serve", "--log-format", "xml"}, 2, "text or json"},
		"bad store":        {[]string{"migrate", "up", "--database", "mysql://x"}, 2, "sqlite://"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, stderr, code := execute(t, tc.args...)
			if code != tc.code || !strings.Contains(stderr, tc.says) {
				t.Errorf("exit code %d, want %d; it says %q, want %q in it", code, tc.code, stderr, tc.says)
			}
		})
	}
}
