//go:build clients

package clients_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// nodeVariable is the folder into which .ci/lib/ensure-clients.sh has put the Node programs.
const nodeVariable = "RUNNERHUB_TEST_CLIENTS"

// nodePrograms are other people's programs.
type nodePrograms struct {
	dir string // with our scripts, and beside them everybody's modules
	env []string
}

// node prepares them for a test.
func node(t *testing.T) nodePrograms {
	t.Helper()
	modules := filepath.Join(os.Getenv(nodeVariable), "node_modules")
	bin := filepath.Join(modules, ".bin")
	if _, err := os.Stat(filepath.Join(bin, "node")); os.Getenv(nodeVariable) == "" || err != nil {
		t.Fatalf("%s names no folder with MCP's clients for Node. Run `make test-clients`, which installs them from the npm registry; that needs npm (apt-get install npm)", nodeVariable)
	}
	dir := t.TempDir()
	// Node looks for modules beside the script.
	if err := errors.Join(os.CopyFS(dir, os.DirFS("testdata/node")), os.Symlink(modules, filepath.Join(dir, "node_modules"))); err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "HOME="+dir, "NO_COLOR=1")
	return nodePrograms{dir: dir, env: env}
}

// command is one of them, by the name that npm gives it.
func (n nodePrograms) command(t *testing.T, program string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(n.dir, "node_modules", ".bin", program), args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = n.dir, n.env, 10*time.Second
	return cmd
}

// run runs one to its end.
func (n nodePrograms) run(t *testing.T, program string, args ...string) (stdout, stderr string, failed bool) {
	t.Helper()
	cmd := n.command(t, program, args...)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		t.Fatalf("%s: %v", program, err)
	}
	return out.String(), errs.String(), err != nil
}
