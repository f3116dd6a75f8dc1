package cmd_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/docker/docker/client"

	"github.com/runnerhub/runnerhub/hub/server"
	"github.com/runnerhub/runnerhub/hub/server/servertest"
	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/docker"
)

// moment is a call that a runner is killed at.
type moment struct {
	name  string
	call  *regexp.Regexp // of "METHOD path body"
	after bool           // the call was heard, and its answer is not
	late  bool           // an earlier process may have made the call: then it is killed when all was told
}

func at(name, call string) moment { return moment{name: name, call: regexp.MustCompile(call)} }

func late(name, call string) moment {
	return moment{name: name, call: regexp.MustCompile(call), late: true}
}

func after(name, call string) moment {
	return moment{name: name, call: regexp.MustCompile(call), after: true}
}

// victim is a machine whose runner gets killed.
type victim struct {
	t      *testing.T
	env    []string
	home   string
	flags  []string // of run
	runner *exec.Cmd
	exited chan struct{}
	stderr lockedBuffer
	before int // how much of it was there when the runner was started
	engine *docker.Engine
	hub    *servertest.Hub

	mu   sync.Mutex
	next *moment
}

func newVictim(t *testing.T) *victim {
	t.Helper()
	home := t.TempDir()
	hub := servertest.Start(t, func(s *server.Settings) { s.Policy.LeaseTTL = time.Minute })
	v := &victim{t: t, home: home, hub: hub}
	to, err := url.Parse(hub.URL)
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(v.between(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.Host = r.In.Host // the hub makes the log's address of it
		},
		FlushInterval: -1,
	}))
	t.Cleanup(front.Close)
	v.env = append(os.Environ(),
		"HOME="+home, "XDG_CONFIG_HOME="+home+"/config", "XDG_STATE_HOME="+home+"/state",
		"DBUS_SESSION_BUS_ADDRESS=unix:path="+home+"/no-bus", "DOCKER_HOST=unix://"+v.engineSocket(),
		"RUNNERCTL_HUB="+front.URL, "RUNNERCTL_API_KEY="+hub.AdminKey(t),
	)
	v.run("pair", "--label", "box")
	v.engine, err = docker.Connect(t.Context(), docker.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		v.kill()
		_ = v.engine.Close()
		if t.Failed() {
			t.Logf("the runners said:\n%s", &v.stderr)
		}
	})
	return v
}

// engineSocket is a socket in front of the engine's.
func (v *victim) engineSocket() string {
	v.t.Helper()
	c, err := client.NewClientWithOpts(client.FromEnv)
	if err != nil {
		v.t.Fatal(err)
	}
	engine, err := client.ParseHostURL(c.DaemonHost())
	if err != nil {
		v.t.Fatal(err)
	}
	_ = c.Close()
	dir, err := os.MkdirTemp("", "rh") // a socket's path must be short
	if err != nil {
		v.t.Fatal(err)
	}
	path := filepath.Join(dir, "d.sock")
	listener, err := net.Listen("unix", path)
	if err != nil {
		v.t.Fatal(err)
	}
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, engine.Scheme, engine.Host)
	}}
	srv := &http.Server{ReadHeaderTimeout: time.Minute, Handler: v.between(&httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = "http", "docker" },
		Transport: transport, FlushInterval: -1,
	})}
	go func() { _ = srv.Serve(listener) }()
	v.t.Cleanup(func() {
		_ = srv.Close()
		transport.CloseIdleConnections()
		_ = os.RemoveAll(dir)
	})
	return path
}

// between passes calls on, until the moment has come.
func (v *victim) between(proxy *httputil.ReverseProxy) http.Handler {
	proxy.ErrorHandler = func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		call := r.Method + " " + r.URL.Path + " "
		if r.Header.Get("Upgrade") == "" && r.ContentLength != 0 { // what is upgraded has no body yet
			body, err := io.ReadAll(r.Body)
			if err != nil {
				panic(http.ErrAbortHandler)
			}
			call += string(body)
			r.Body = io.NopCloser(bytes.NewReader(body))
		}
		m := v.comes(call)
		switch {
		case m == nil:
			proxy.ServeHTTP(w, r)
			return
		case m.after:
			proxy.ServeHTTP(httptest.NewRecorder(), r.WithContext(context.WithoutCancel(r.Context())))
		}
		v.kill()
		panic(http.ErrAbortHandler)
	})
}

// comes says whether a call is the one to be killed at.
func (v *victim) comes(call string) *moment {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.next == nil || !v.next.call.MatchString(call) {
		return nil
	}
	m := v.next
	v.next = nil
	return m
}

// killAt starts the runner and has it killed at a moment.
func (v *victim) killAt(m moment) {
	v.t.Helper()
	v.mu.Lock()
	v.next = &m
	v.mu.Unlock()
	v.start()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		select {
		case <-v.exited:
			return
		case <-tick.C:
		}
		if left, err := v.spooled(); m.late && err == nil && len(left) == 0 {
			v.mu.Lock()
			v.next = nil
			v.mu.Unlock()
			v.kill()
		}
	}
	v.t.Fatalf("the moment %q never came", m.name)
}

func (v *victim) start() {
	v.t.Helper()
	cmd := exec.Command("runnerctl", append([]string{"run"}, v.flags...)...)
	cmd.Env, cmd.Stderr, v.before = v.env, &v.stderr, len(v.stderr.String())
	exited := make(chan struct{})
	v.mu.Lock()
	v.runner, v.exited = cmd, exited
	err := cmd.Start()
	v.mu.Unlock()
	if err != nil {
		v.t.Fatal(err)
	}
	go func() {
		_ = cmd.Wait() // it is killed
		close(exited)
	}()
}

func (v *victim) kill() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.runner != nil {
		_ = v.runner.Process.Kill()
	}
}

// stop lets the runner end in order.
func (v *victim) stop() {
	v.t.Helper()
	if err := v.runner.Process.Signal(syscall.SIGTERM); err != nil {
		v.t.Fatal(err)
	}
	select {
	case <-v.exited:
	case <-time.After(patience):
		v.t.Fatal("the runner does not end")
	}
}

// run runs a command that must succeed, and returns its standard output.
func (v *victim) run(args ...string) string {
	v.t.Helper()
	cmd := exec.Command("runnerctl", args...)
	cmd.Env = v.env
	out, err := cmd.Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			v.t.Fatalf("runnerctl %v: %v\n%s", args, err, exit.Stderr)
		}
		v.t.Fatal(err)
	}
	return string(out)
}

func (v *victim) submit(spec string) string {
	v.t.Helper()
	path := filepath.Join(v.home, "job.yaml")
	if err := os.WriteFile(path, []byte(spec), 0o600); err != nil {
		v.t.Fatal(err)
	}
	return strings.TrimSpace(v.run("submit", path))
}

// await waits until the job has ended.
func (v *victim) await(job string) mcp.Job {
	v.t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-tick.C {
		for _, j := range v.jobs() {
			if j.ID == job && j.FinishedAt != nil {
				return j
			}
		}
	}
	v.t.Fatal("the job did not end")
	return mcp.Job{}
}

// awaitEmptySpool waits until the runner has told the hub everything.
func (v *victim) awaitEmptySpool() {
	v.t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-tick.C {
		if left, err := v.spooled(); err == nil && len(left) == 0 {
			return
		}
	}
}

// awaitSweep waits until the runner has looked for what others left: it is stopped in
// order only then.
func (v *victim) awaitSweep() {
	v.t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-tick.C {
		if strings.Contains(v.stderr.String()[v.before:], "ready to run jobs") {
			return
		}
	}
	v.t.Fatal("the runner is not ready")
}

// spooled are the attempts that the spool still has.
func (v *victim) spooled() ([]string, error) {
	return filepath.Glob(filepath.Join(v.home, "state", "runnerhub", "spool", "*", "attempts", "*"))
}

// wantNothingLeft looks for what the runner may have left on the engine and in its spool.
func (v *victim) wantNothingLeft(filter topology.Filter) {
	v.t.Helper()
	look := func(what string, ours func(topology.ObservedNetwork) bool) {
		v.t.Helper()
		seen, err := v.engine.Observe(v.t.Context(), filter)
		seen.Networks = slices.DeleteFunc(seen.Networks, func(n topology.ObservedNetwork) bool { return !ours(n) })
		if err != nil || seen.Count().Total() > 0 {
			v.t.Errorf("%s: %+v, %v", what, seen, err)
		}
	}
	look("left of jobs", func(n topology.ObservedNetwork) bool { return n.Labels[topology.LabelRole] != topology.RolePool })
	v.run("gc") // the last word of a process that is killed may be for a network that comes after the next one has looked
	look("left by gc", func(topology.ObservedNetwork) bool { return true })
	left, err := v.spooled()
	if err != nil || len(left) > 0 {
		v.t.Errorf("left in the spool: %v, %v", left, err)
	}
}

// jobs are the latest.
func (v *victim) jobs() []mcp.Job {
	v.t.Helper()
	var jobs []mcp.Job
	if err := json.Unmarshal([]byte(v.run("jobs", "--json", "--limit", "50")), &jobs); err != nil {
		v.t.Fatal(err)
	}
	return jobs
}

// runnerID is what the machine was paired as.
func (v *victim) runnerID() string {
	v.t.Helper()
	var status struct {
		Profiles []struct {
			RunnerID string `json:"runner_id"`
		} `json:"profiles"`
	}
	if err := json.Unmarshal([]byte(v.run("status", "--json")), &status); err != nil {
		v.t.Fatal(err)
	}
	return status.Profiles[0].RunnerID
}
