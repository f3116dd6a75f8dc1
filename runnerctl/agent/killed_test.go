package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/runnerhub/runnerhub/runnerctl/agent"
	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/policy"
	"github.com/runnerhub/runnerhub/topology/topologytest"
)

// A runner is killed before the first thing that it writes to its disk, then before
// the second, and so on. The next one finds the disk as it was then, and brings the
// job to its end in the first attempt, with each line and each file once, or says that
// the first was lost before the job began.
func TestKilledBeforeEachWrite(t *testing.T) {
	check := func(t *testing.T, h *fakeHub, j fakeJob, begun bool, _ *machineOfTheKilled) {
		switch {
		case len(j.Fails) == 1 && j.Fails[0].Class == "runner_lost" && !begun:
		case len(j.Results) != 1 || j.Results[0].Status != "succeeded" || j.Attempt != 1:
			t.Errorf("attempt %d, results %+v, fails %+v", j.Attempt, j.Results, j.Fails)
		case j.Files["out/a"] != "of a":
			t.Errorf("files %v", j.Files)
		case string(h.Log("job_1", 1)) != "one\ntwo\n":
			t.Errorf("log %q", h.Log("job_1", 1))
		}
	}
	if n := killedAtEach(t, `{"image":"example/app","compose":"compose.yaml","source":{"files":{"compose.yaml":{"content":"x"}}}}`, nil, check); n < 9 {
		t.Errorf("only %d writes", n)
	}
}

// A job that the owner does not allow is not run by the next process either.
func TestKilledBeforeTheJobIsRefused(t *testing.T) {
	none := func() (*policy.Policy, error) { return policy.Parse([]byte("images: [another]")) }
	check := func(t *testing.T, _ *fakeHub, j fakeJob, _ bool, m *machineOfTheKilled) {
		if len(j.Results) != 1 || j.Results[0].Failure == nil || j.Results[0].Failure.Class != string(topology.ClassPolicyDenied) || m.starts.Load() > 0 {
			t.Errorf("begun %d times, results %+v, fails %+v", m.starts.Load(), j.Results, j.Fails)
		}
	}
	if n := killedAtEach(t, quickSpec, none, check); n < 4 {
		t.Errorf("only %d writes", n)
	}
}

type checkKilled func(t *testing.T, h *fakeHub, j fakeJob, begun bool, m *machineOfTheKilled)

// killedAtEach kills runners before each of their writes, and returns how many there are, counted from 1, and one more.
func killedAtEach(t *testing.T, spec string, owner func() (*policy.Policy, error), check checkKilled) (n int64) {
	t.Helper()
	for n = 1; ; n++ {
		killed := false
		t.Run(fmt.Sprint("write ", n), func(t *testing.T) { killed = killedAt(t, n, spec, owner, check) })
		if !killed || t.Failed() {
			return n
		}
		if n > 100 {
			t.Fatal("it has no end")
		}
	}
}

// killedAt kills a runner before its n-th write. It is false when there are fewer.
func killedAt(t *testing.T, n int64, spec string, owner func() (*policy.Policy, error), check checkKilled) (killed bool) {
	t.Helper()
	dir, then := t.TempDir(), t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		h := newHub()
		h.Submit("job_1", spec)
		machine := &machineOfTheKilled{t: t, owner: owner}
		cfg := machine.config(h, dir)
		var writes atomic.Int64
		begun := false
		cfg.BeforeWrite(func() {
			if writes.Add(1) != n {
				return
			}
			killed, begun = true, machine.starts.Load() > 0
			h.do(func() { h.down = true }) // nothing more comes of it
			if err := os.CopyFS(then, os.DirFS(dir)); err != nil {
				t.Error(err)
			}
		})
		r := start(t, cfg)
		if pass(time.Minute); !killed {
			settled(t, h, "job_1")
			r.kill()
			return
		}
		r.kill()
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(dir, os.DirFS(then)); err != nil {
			t.Fatal(err)
		}
		h.do(func() { h.down = false })
		r = start(t, machine.config(h, dir))
		if leases, err := filepath.Glob(filepath.Join(then, "attempts", "*", "lease.json")); err != nil || len(leases) == 0 {
			pass(time.Minute) // nobody knows of the lease, which runs out at the hub
			wantEmptySpool(t, dir)
			r.kill()
			return
		}
		defer r.kill()
		settled(t, h, "job_1")
		pass(time.Minute)
		j := h.Job("job_1")
		check(t, h, j, begun, machine)
		wantEmptySpool(t, dir)
	})
	return killed
}

// machineOfTheKilled has containers that outlive runners: a job that writes two lines
// and leaves a file.
type machineOfTheKilled struct {
	t      *testing.T
	owner  func() (*policy.Policy, error)
	starts atomic.Int64
}

func (m *machineOfTheKilled) config(h *fakeHub, dir string) agent.Config {
	exec := topologytest.NewExecutor(func(ctx context.Context, work topology.Work, obs topology.Observer) topology.Result {
		m.starts.Add(1)
		return m.job(ctx, work, obs, topology.Resume{})
	})
	exec.AdoptScript = func(left topology.Resume) topologytest.RunFunc {
		return func(ctx context.Context, work topology.Work, obs topology.Observer) topology.Result {
			var ended *topology.Result
			if json.Unmarshal(left.Checkpoint, &ended) == nil && ended != nil {
				return *ended
			}
			m.starts.Add(1)
			return m.job(ctx, work, obs, left)
		}
	}
	return agent.Config{
		Client: h, HubID: "hub-1", SpoolDir: dir, Executor: exec, Policy: m.owner,
		Sources: sources(func(_ context.Context, _, dir string, _ func(string)) (string, *topology.Failure) {
			tree := filepath.Join(dir, "tree")
			if err := os.MkdirAll(tree, 0o700); err != nil {
				m.t.Error(err)
			}
			if err := os.WriteFile(filepath.Join(tree, "compose.yaml"), []byte("x"), 0o600); err != nil {
				m.t.Error(err)
			}
			return tree, nil
		}),
		Compose: func(_ context.Context, dir string, spec *topology.Spec) (*topology.Spec, []string, *topology.Failure) {
			if _, err := os.Stat(filepath.Join(dir, "compose.yaml")); err != nil {
				return nil, nil, &topology.Failure{Class: topology.ClassSource, Message: err.Error()}
			}
			return spec, nil, nil
		},
	}
}

// job is what the containers do, as far as it is not in the log yet.
func (m *machineOfTheKilled) job(ctx context.Context, work topology.Work, obs topology.Observer, left topology.Resume) topology.Result {
	at := left.Offsets[""].Stdout.Bytes
	if at < 4 {
		_ = obs.Log(topology.Record{Time: time.Now(), Stream: topology.Stdout, Data: []byte("one\n"), Offset: 4})
	}
	_ = work.Save([]byte("null"))
	if at < 8 {
		_ = obs.Log(topology.Record{Time: time.Now(), Stream: topology.Stdout, Data: []byte("two\n"), Offset: 8})
	}
	res := leaving(m.t, topologytest.Exit(0), "a")(ctx, work, obs)
	b, err := json.Marshal(res)
	if err != nil {
		m.t.Error(err)
	}
	if err := work.Save(b); err != nil {
		m.t.Error(err)
	}
	return res
}
