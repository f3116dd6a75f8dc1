package agent_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/runnerhub/runnerhub/mcp/mcpclient"
	"github.com/runnerhub/runnerhub/runnerctl/agent"
	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/topologytest"
)

func dial(tb testing.TB, url string) *mcpclient.Client {
	tb.Helper()
	c, err := mcpclient.New(mcpclient.Config{URL: url, Token: func() string { return "rnr_token" }, Retry: mcpclient.NoRetry})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = c.Close() })
	return c
}

func TestOverHTTP(t *testing.T) {
	t.Parallel()
	h := newHub()
	srv := serve(t, h)
	data := bytes.Repeat([]byte("some bytes \x00\xff and a line\n"), 50_000)
	r := start(t, agent.Config{Client: dial(t, srv.URL), Slots: 4, Executor: topologytest.NewExecutor(writes(data))})
	ids := []string{"job_1", "job_2", "job_3", "job_4", "job_5", "job_6"}
	for _, id := range ids {
		h.Submit(id, quickSpec)
	}
	for _, id := range ids {
		if j := settled(t, h, id); j.Results[0].Status != "succeeded" || !bytes.Equal(h.Log(id, 1), data) {
			t.Errorf("%s: %+v", id, j.Results)
		}
	}
	r.Drain()
	if err := r.end(); err != nil {
		t.Error(err)
	}
}

const childVar, childURL, childSpool = "AGENT_TEST_CHILD", "AGENT_TEST_URL", "AGENT_TEST_SPOOL"

// child is what the test binary does when it is started as a runner: a job that
// writes some lines and then hangs.
func child() bool {
	if os.Getenv(childVar) == "" {
		return false
	}
	c, err := mcpclient.New(mcpclient.Config{URL: os.Getenv(childURL), Retry: mcpclient.NoRetry})
	if err != nil {
		panic(err)
	}
	job := topologytest.NewExecutor(func(ctx context.Context, work topology.Work, obs topology.Observer) topology.Result {
		if err := work.Save([]byte("half way")); err != nil {
			panic(err)
		}
		written := int64(0)
		for _, line := range []string{"first\n", "second\n"} {
			written += int64(len(line))
			_ = obs.Log(topology.Record{Time: time.Now(), Stream: topology.Stdout, Data: []byte(line), Offset: written})
		}
		<-ctx.Done()
		return topologytest.Ended(ctx)
	})
	panic(agent.New(agent.Config{Client: c, Executor: job, RunnerID: "rnr-1", SpoolDir: os.Getenv(childSpool)}).Run(context.Background()))
}

// A runner that is killed with SIGKILL while it runs a job: its successor spares the
// job's containers, takes the job up, and sends all of the log and the result.
func TestKilledAndRestarted(t *testing.T) {
	t.Parallel()
	h := newHub()
	// The hub takes no log bytes from the first process, so that they wait in its spool.
	killed := false
	h.Before = func(_ context.Context, tool string, _ any) error {
		h.mu.Lock()
		defer h.mu.Unlock()
		if tool == "log" && !killed {
			return unavailable("not yet")
		}
		return nil
	}
	srv := serve(t, h)
	dir := t.TempDir()
	h.Submit("job_1", quickSpec)

	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), childVar+"=1", childURL+"="+srv.URL, childSpool+"="+dir)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// The first refused chunk says that the lines are in the spool.
	waitForFile(t, filepath.Join(dir, "attempts", "job_1.1.1", fmt.Sprintf("log.%020d", 0)), []byte("second\n"))
	if err := start(t, agent.Config{Client: h, SpoolDir: dir}).end(); err == nil {
		t.Error("a second runner was let into the spool of the first")
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	h.do(func() { killed = true })

	job := &topologytest.Executor{Leftovers: topology.Leaks{Containers: 1}}
	job.AdoptScript = func(left topology.Resume) topologytest.RunFunc {
		if string(left.Checkpoint) != "half way" || left.Offsets[""].Stdout.Bytes != 13 || string(left.Offsets[""].Stdout.Tail) != "second\n" {
			t.Errorf("what is left: %q %+v", left.Checkpoint, left.Offsets)
		}
		return topologytest.Exit(3, "third")
	}
	r := start(t, agent.Config{Client: dial(t, srv.URL), Executor: job, SpoolDir: dir})
	j := settled(t, h, "job_1")
	if len(j.Results) != 1 || *j.Results[0].ExitCode != 3 || j.Attempt != 1 {
		t.Errorf("reports %+v %+v", j.Fails, j.Results)
	}
	if got := string(h.Log("job_1", 1)); got != "first\nsecond\nthird\n" {
		t.Errorf("log %q", got)
	}
	if s := job.Sweeps(); len(s) != 1 || s[0].Hub != "hub-1" || len(s[0].Live) != 1 || s[0].Live[0].Job != "job_1" {
		t.Errorf("sweeps %+v", s)
	}
	r.Drain()
	if err := r.end(); err != nil {
		t.Error(err)
	}
	wantEmptySpool(t, dir)
}

// waitForFile polls for a file that another process writes.
func waitForFile(t *testing.T, path string, content []byte) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(time.Minute)
	for {
		if b, err := os.ReadFile(path); err == nil && bytes.Contains(b, content) {
			return
		}
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("%s does not hold %q", path, content)
		}
	}
}

// BenchmarkJob is what the runner itself costs a job: lease, acknowledgement,
// log, result and the spool, over HTTP and with an executor that does nothing.
func BenchmarkJob(b *testing.B) {
	h := newHub()
	srv := serve(b, h)
	a := agent.New(agent.Config{
		Client: dial(b, srv.URL), Executor: topologytest.NewExecutor(topologytest.Exit(0, "one line")), RunnerID: "rnr-1", SpoolDir: b.TempDir(),
	})
	done := make(chan error, 1)
	go func() { done <- a.Run(context.Background()) }()
	for i := 0; b.Loop(); i++ {
		id := fmt.Sprint("job_", i)
		h.Submit(id, quickSpec)
		if err := h.Settled(b.Context(), id); err != nil {
			b.Fatal(err)
		}
	}
	a.Drain()
	if err := <-done; err != nil {
		b.Fatal(err)
	}
}
