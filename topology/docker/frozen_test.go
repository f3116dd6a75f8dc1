package docker_test

import (
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/docker/docker/client"

	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/attempt"
	"github.com/runnerhub/runnerhub/topology/docker"
)

// freezer is a socket in front of the engine's that can stop passing bytes on,
// while all connections stay open and new ones are still taken.
type freezer struct {
	host   string
	listen net.Listener
	mu     sync.Mutex
	frozen bool
	conns  []net.Conn
	wg     sync.WaitGroup
}

func newFreezer(t *testing.T) *freezer {
	t.Helper()
	dir, err := os.MkdirTemp("", "rh")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "f.sock")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	engine, err := client.ParseHostURL(rawClient(t).DaemonHost())
	if err != nil {
		t.Fatal(err)
	}
	f := &freezer{host: "unix://" + path, listen: listener}
	f.wg.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			behind, err := net.Dial(engine.Scheme, engine.Host)
			if err != nil {
				_ = conn.Close()
				continue
			}
			f.mu.Lock()
			f.conns = append(f.conns, conn, behind)
			f.mu.Unlock()
			f.wg.Go(func() { f.pass(behind, conn) })
			f.wg.Go(func() { f.pass(conn, behind) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		f.mu.Lock()
		for _, c := range f.conns {
			_ = c.Close()
		}
		f.mu.Unlock()
		f.wg.Wait()
		_ = os.RemoveAll(dir)
	})
	return f
}

// pass copies until an end, which it passes on too.
func (f *freezer) pass(to, from net.Conn) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		f.mu.Lock()
		frozen := f.frozen
		f.mu.Unlock()
		if frozen {
			_, _ = io.Copy(io.Discard, from)
			return
		}
		if _, writeErr := to.Write(buffer[:n]); err != nil || writeErr != nil {
			_ = to.Close()
			return
		}
	}
}

func (f *freezer) freeze() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.frozen = true
}

// kill breaks every connection off and takes no new one.
func (f *freezer) kill() {
	_ = f.listen.Close()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.conns {
		_ = c.Close()
	}
}

// TestEngineStopsAnswering freezes the engine under a running job. The result
// comes within the executor's patience, and what is left is found by a sweep.
func TestEngineStopsAnswering(t *testing.T) {
	t.Parallel()
	script := "echo ready; exec sleep 1000"
	for name, spec := range map[string]*topology.Spec{
		"command": {Image: busybox, Command: sh(script)},
		"steps":   {Image: busybox, Steps: []topology.Step{{Name: "a", Run: script}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, id := newFreezer(t), identity(t)
			frozen, err := docker.New(t.Context(), docker.Options{Host: f.host, Options: attempt.Options{Patience: 3 * time.Second, ReadyNetworks: -1}})
			if err != nil {
				t.Fatal(err)
			}
			obs, ready := awaitLog("ready")
			done := make(chan topology.Result, 1)
			go func() { done <- frozen.Run(t.Context(), topology.Work{Identity: id, Spec: spec}, obs) }()
			select {
			case <-ready:
			case r := <-done:
				t.Fatalf("%+v", r.Failure)
			}
			f.freeze()
			r := <-done
			if r.Status != topology.Failed || r.Failure.Class != topology.ClassDockerUnavailable || r.Failure.Hint == "" {
				t.Errorf("%+v", r)
			}
			if r.Leaks != (topology.Leaks{Containers: 1, Networks: 1, Volumes: 1}) {
				t.Errorf("leaks %+v", r.Leaks)
			}
			closing, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if err := frozen.Close(closing); err == nil {
				t.Error("close had nothing to complain of")
			}
			// The engine answers again.
			e := newExecutor(t, id.Hub, docker.Options{})
			if found, err := e.Sweep(t.Context(), id.Hub, id.Runner, nil); err != nil || found != r.Leaks {
				t.Errorf("the sweep found %+v, %v", found, err)
			}
		})
	}
}
