//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/runnerhub/runnerhub/mcp/mcpclient"
)

// world is everything that one run consists of.
type world struct {
	*testing.T
	o       options
	dir     string // all files of the run; kept when it fails
	began   time.Time
	journal *journal

	cluster *cluster // nil on SQLite
	volume  *volume
	front   *proxy   // between everybody and the hubs
	stores  []*proxy // between each hub and PostgreSQL
	hubs    []*process
	runners []*process
	// saboteur is started with the runners.
	saboteur *process

	key    string // the admin's
	people *mcpclient.Client
	tokens map[string]string // runner's name → token
	ids    map[string]string // runner's name → id

	mu       sync.Mutex
	breaches []breach
}

func newWorld(t *testing.T, o options) *world {
	t.Helper()
	// Not t.TempDir: PostgreSQL's user could not enter root's, and the logs of a failed run must stay.
	dir, err := os.MkdirTemp("", "runnerhub-chaos-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, o: o, dir: dir, began: time.Now(), tokens: map[string]string{}, ids: map[string]string{}}
	w.journal = newJournal(t, w.began, w.path("journal.log"))
	t.Logf("seed %d, for %s; again with: make chaos SEED=%d DURATION=%s", o.seed, o.duration, o.seed, o.duration)
	t.Cleanup(func() {
		if t.Failed() || os.Getenv("CHAOS_KEEP") != "" {
			t.Logf("seed %d: the logs of all processes are in %s", o.seed, dir)
			return
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	w.volume = newVolume(t, w.path("blobs"))
	return w
}

func (w *world) path(elem ...string) string {
	return filepath.Join(append([]string{w.dir}, elem...)...)
}

// since is a moment of the run, for people.
func (w *world) since(us int64) string {
	if us == 0 {
		return "-"
	}
	return time.UnixMicro(us).Sub(w.began).Round(time.Millisecond).String()
}

// onPostgres starts a cluster, and a proxy to it for each hub.
func (w *world) onPostgres() {
	w.Helper()
	w.cluster = newCluster(w)
	for range w.o.hubs {
		w.stores = append(w.stores, newProxy(w.T, func() []string { return []string{w.cluster.address()} }))
	}
	var databases []string
	for _, p := range w.stores {
		databases = append(databases, "postgres://runnerhub@"+p.address()+"/postgres?sslmode=disable")
	}
	w.makeHubs(databases)
}

// onSQLite lets the hub make its own store.
func (w *world) onSQLite() {
	w.makeHubs([]string{"sqlite://" + w.path("hub.db")})
}

// makeHubs prepares hubs at addresses that stay the same over restarts, and the proxy in front of them.
func (w *world) makeHubs(databases []string) {
	var addrs []string
	for i, database := range databases {
		addr := freeAddress(w.T)
		addrs = append(addrs, addr)
		name := "hub-" + strconv.Itoa(i+1)
		args := []string{
			"serve", "--addr", addr, "--data", w.path(name), "--blobs", w.path("blobs", "logs"), "--database", database,
			"--lease-ttl", leaseTTL.String(), "--heartbeat", heartbeat.String(), "--first-heartbeat", firstHeartbeat.String(),
			"--sweep", sweep.String(), "--backup-poll", "1s", "--deadline-margin", deadlineMargin.String(),
			"--cancel-margin", cancelMargin.String(), "--stale-after", "3s", "--offline-after", "10s",
			// Losing a runner is no fault of the job's here, however often it happens.
			"--max-attempts", "1000", "--max-running", "1000",
		}
		w.hubs = append(w.hubs, newProcess(w, name, upHub, func() *exec.Cmd { return w.program("hub", w.o.hubProgram, args...) }))
	}
	w.front = newProxy(w.T, func() []string { return addrs })
}

// program is another program, or this one in a role.
func (w *world) program(role, path string, args ...string) *exec.Cmd {
	if path == "" {
		self, err := os.Executable()
		if err != nil {
			w.Fatal(err)
		}
		cmd := exec.Command(self, args...)
		cmd.Env = append(os.Environ(), roleEnv+"="+role)
		return cmd
	}
	if role != "hub" {
		args = append([]string{role}, args...)
	}
	return exec.Command(path, args...)
}

// startHubs starts the hubs one after the other, so that the first one makes the admin.
func (w *world) startHubs(ctx context.Context) {
	for i, h := range w.hubs {
		h.start()
		w.await(ctx, h.name+" to listen", func() bool { return h.said(h.up) })
		if i > 0 {
			continue
		}
		key, err := os.ReadFile(w.path(h.name, "admin.key"))
		if err != nil {
			w.Fatal(err)
		}
		w.key = strings.TrimSpace(string(key))
		w.people = w.client(w.key)
	}
}

// url is where runners and people reach the hubs.
func (w *world) url() string { return "http://" + w.front.address() }

func (w *world) client(token string) *mcpclient.Client {
	w.Helper()
	c, err := mcpclient.New(mcpclient.Config{URL: w.url(), Token: func() string { return token }, Retry: mcpclient.NoRetry})
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = c.Close() })
	return c
}

// await waits for a condition and fails the test when it does not come true.
func (w *world) await(ctx context.Context, what string, ok func() bool) {
	w.Helper()
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for !ok() {
		if !wait(ctx, 50*time.Millisecond) {
			w.Fatalf("waiting for %s: %v", what, context.Cause(ctx))
		}
	}
}

func (w *world) writeJSON(path string, v any) {
	w.Helper()
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		w.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		w.Fatal(err)
	}
}

// stopAll ends everything in order; each process must end by itself, in time and without an error.
func (w *world) stopAll(ctx context.Context) {
	all := append([]*process{w.saboteur}, w.runners...)
	var wg sync.WaitGroup
	end := func(p *process) {
		if err := p.terminate(ctx, 30*time.Second); err != nil {
			w.breach("a process that is told to end ends", "", p.name+": "+err.Error())
		}
	}
	for _, p := range all {
		wg.Go(func() { end(p) })
	}
	wg.Wait()
	for _, p := range w.hubs {
		wg.Go(func() { end(p) })
	}
	wg.Wait()
}

// breach is a promise that was not kept.
type breach struct{ promise, job, detail string }

func (w *world) breach(promise, job, detail string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.breaches = append(w.breaches, breach{promise, job, detail})
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// retry calls f until it succeeds, over whatever the chaos makes of the way there. An error that will not pass is returned.
func retry[T any](ctx context.Context, f func(context.Context) (T, error)) (T, error) {
	for {
		v, err := f(ctx)
		if err == nil || !passes(err) {
			return v, err
		}
		if !wait(ctx, 100*time.Millisecond) {
			return v, errors.Join(context.Cause(ctx), err)
		}
	}
}
