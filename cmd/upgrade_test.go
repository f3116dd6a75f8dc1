package cmd_test

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/runnerhub/runnerhub/hub/server"
	"github.com/runnerhub/runnerhub/hub/server/servertest"
)

// During a rolling upgrade a hub of the release before and one of this serve one database, which the newer one
// has migrated under the older. Clients and runners of both versions call now one, now the other.
func TestRollingUpgrade(t *testing.T) {
	t.Parallel()
	old := previousRelease(t)
	database, blobs := servertest.Database(t), t.TempDir()
	before := startOld(t, filepath.Join(old, "runnerhub"), database, blobs)
	after := servertest.Start(t, func(s *server.Settings) { s.Database, s.Blobs = database, blobs })
	after.Data = before.data // where the first of them left the admin's key
	ready(t, before.url)
	ready(t, after.URL)

	peers := map[string]string{"old": filepath.Join(old, "peer"), "new": build(t, "..", "./cmd/testdata/upgrade")}
	hubs := [][]string{{before.url, after.URL}, {after.URL, before.url}}
	admin, runner := after.AdminKey(t), after.Pair(t, "one")
	for person, people := range peers {
		for machine, machines := range peers {
			for i, first := range []string{"old", "new"} {
				t.Run(person+" client, "+machine+" runner, "+first+" hub first", func(t *testing.T) {
					there, back := hubs[i], hubs[1-i]
					call := func(program, token string, hubs []string, args ...string) string {
						t.Helper()
						return output(t, program, append([]string{token, hubs[0], hubs[1]}, args...)...)
					}
					id := call(people, admin, there, "submit")
					call(machines, runner, back, "work")
					if got := call(people, admin, there, "see", id); got != "hello\nagain\nsucceeded" {
						t.Errorf("the job that ran: %q", got)
					}

					id = call(people, admin, back, "submit")
					held := exec.CommandContext(t.Context(), machines, runner, there[0], there[1], "stop")
					var said lockedBuffer
					held.Stdout, held.Stderr = &said, &said
					if err := held.Start(); err != nil {
						t.Fatal(err)
					}
					eventually(t, "the runner holds its heartbeat, or says what went wrong", func() bool { return said.String() != "" })
					call(people, admin, back, "cancel", id)
					if err := held.Wait(); err != nil {
						t.Fatalf("the runner that was told to stop: %v\n%s", err, said.String())
					}
					if got := call(people, admin, there, "see", id); got != "hello\nagain\ncanceled" {
						t.Errorf("the job that was canceled: %q", got)
					}
				})
			}
		}
	}
	ready(t, before.url)
}

// previousRelease builds runnerhub and the test's peer from the commit that .ci/previous-release names.
func previousRelease(t *testing.T) (dir string) {
	t.Helper()
	text, err := os.ReadFile("../.ci/previous-release")
	if err != nil {
		t.Fatal(err)
	}
	commit := regexp.MustCompile(`(?m)^[0-9a-f]{40}$`).FindString(string(text))
	if commit == "" {
		t.Fatal(".ci/previous-release names no commit")
	}
	if out, err := exec.CommandContext(t.Context(), "git", "cat-file", "-e", commit+"^{commit}").CombinedOutput(); err != nil {
		t.Fatalf("the release before this one is not here: this test needs the repository with its history down to %s; "+
			"in a shallow clone run `git fetch --unshallow` (%v: %s)", commit, err, out)
	}
	dir = t.TempDir()
	tree := filepath.Join(dir, "tree")
	archive := filepath.Join(dir, "tree.tar")
	output(t, "git", "-C", "..", "archive", "--output", archive, commit)
	if err := os.MkdirAll(filepath.Join(tree, "cmd/peer"), 0o700); err != nil {
		t.Fatal(err)
	}
	output(t, "tar", "-xf", archive, "-C", tree)
	source, err := os.ReadFile("testdata/upgrade/peer.go")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(tree, "cmd/peer/main.go"), source, 0o600); err != nil {
		t.Fatal(err)
	}
	for program, from := range map[string]string{"runnerhub": "./cmd/runnerhub", "peer": "./cmd/peer"} {
		if err := os.Rename(build(t, tree, from), filepath.Join(dir, program)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// build builds a program from a tree and returns its path.
func build(t *testing.T, tree, program string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "program")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", out, program) // the tree's place changes, and is not to be built in
	cmd.Dir, cmd.Env = tree, append(os.Environ(), "CGO_ENABLED=0")                          // as `make build` does, so that they share what is built
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build %s: %v\n%s", program, err, text)
	}
	return out
}

// output runs a program and returns what it wrote to standard output.
func output(t *testing.T, program string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", filepath.Base(program), err, &stderr)
	}
	return strings.TrimSpace(string(out))
}

type oldHub struct{ url, data string }

// startOld runs a hub of the release before, which ends with the test.
func startOld(t *testing.T, program, database, blobs string) oldHub {
	t.Helper()
	h := oldHub{data: t.TempDir()}
	cmd := exec.Command(program, "serve", "--addr", "127.0.0.1:0", "--data", h.data, "--blobs", blobs, "--database", database)
	var stdout, stderr lockedBuffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt) // an error says that it has ended
		if err := cmd.Wait(); err != nil {
			t.Errorf("the hub of the release before ended with: %v", err)
		}
		if t.Failed() {
			t.Logf("[stderr of the hub of the release before]\n%s", stderr.String())
		}
	})
	listening := regexp.MustCompile(`runnerhub listening on (\S+)`)
	eventually(t, "the hub of the release before listens", func() bool {
		if m := listening.FindStringSubmatch(stdout.String()); m != nil {
			h.url = m[1]
		}
		return h.url != ""
	})
	return h
}

// eventually waits for what another process brings about.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	end := time.After(patience)
	for !ok() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("not within %s: %s", patience, what)
		}
	}
}

// ready wants a hub to take requests.
func ready(t *testing.T, url string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/readyz", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%s is not ready: %s", url, resp.Status)
	}
}
