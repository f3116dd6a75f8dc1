package agent_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/runnerhub/runnerhub/runnerctl/agent"
	"github.com/runnerhub/runnerhub/topology/topologytest"
)

func TestUnsentResultAndLogAreSentAtTheNextStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub()
		dir := t.TempDir()
		finish := make(chan int)
		r := start(t, agent.Config{Client: h, SpoolDir: dir, Executor: topologytest.NewExecutor(topologytest.Until(nil, finish, "one", "two"))})
		h.Submit("job_1", quickSpec)
		await(t, h, "the acknowledgement", func() bool { return h.jobs["job_1"].Acked })
		synctest.Wait()
		h.do(func() { h.down = true })
		finish <- 3
		synctest.Wait()
		r.kill()
		h.do(func() { h.down = false })

		exec := &topologytest.Executor{}
		r = start(t, agent.Config{Client: h, SpoolDir: dir, Executor: exec})
		j := settled(t, h, "job_1")
		if len(j.Results) != 1 || *j.Results[0].ExitCode != 3 || len(exec.Runs()) != 0 {
			t.Errorf("results %+v, %d runs", j.Results, len(exec.Runs()))
		}
		if got := string(h.Log("job_1", 1)); got != "one\ntwo\n" {
			t.Errorf("log %q", got)
		}
		synctest.Wait()
		wantEmptySpool(t, dir)
		r.kill()
	})
}

func TestLeftoversThatNobodyWantsAreDropped(t *testing.T) {
	lease := `{"runner_id":"rnr-1","hub_id":"hub-1","proof":{"job_id":"job_1","attempt":1,"lease_epoch":1,"lease_token":"x"},"log_url":"/log/job_1/1"}`
	for name, files := range map[string]map[string]string{
		"stale":           {"lease.json": lease, "report.json": `{"result":{"status":"succeeded"}}`},
		"interrupted":     {"lease.json": lease, "log.00000000000000000000": "2026-01-02T15:04:05Z stdout F job whole\n2026-01-02T15:04:05Z stdo"},
		"another pairing": {"lease.json": `{"runner_id":"rnr-0"}`, "report.json": `{"release":"x"}`},
		"torn lease":      {"lease.json": `{"runner_id":`},
		"torn report":     {"lease.json": lease, "report.json": `{`},
		"no lease":        {"report.json": `{"release":"x"}`},
		"empty":           {},
		"strange names":   {"lease.json": lease, "report.json": `{"release":"x"}`, "log.what": "x", "log.00000000000000000500": "y\n"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHub()
				h.Submit("job_1", quickSpec) // another attempt than the spool's
				h.do(func() { h.queue = nil })
				dir := t.TempDir()
				at := filepath.Join(dir, "attempts", "job_1.1.1")
				if err := os.MkdirAll(at, 0o700); err != nil {
					t.Fatal(err)
				}
				for file, content := range files {
					if err := os.WriteFile(filepath.Join(at, file), []byte(content), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				r := start(t, agent.Config{Client: h, SpoolDir: dir})
				pass(time.Minute)
				wantEmptySpool(t, dir)
				if j := h.Job("job_1"); len(j.Results)+len(j.Fails)+len(j.Releases) != 0 {
					t.Errorf("job %+v", j)
				}
				r.kill()
			})
		})
	}
}

func TestOneProcessASpool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub()
		dir := t.TempDir()
		r := start(t, agent.Config{Client: h, SpoolDir: dir})
		synctest.Wait()
		if err := start(t, agent.Config{Client: h, SpoolDir: dir}).end(); !errors.Is(err, agent.ErrLocked) {
			t.Errorf("a second runner: %v", err)
		}
		r.kill()
		third := start(t, agent.Config{Client: h, SpoolDir: dir})
		synctest.Wait()
		third.Drain()
		if err := third.end(); err != nil {
			t.Errorf("after the first has ended: %v", err)
		}
	})
}

func TestSpoolIsForItsOwnersEyes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub()
		dir := t.TempDir()
		r := start(t, agent.Config{Client: h, SpoolDir: dir, Executor: topologytest.NewExecutor(topologytest.Until(nil, nil, "x"))})
		h.Submit("job_1", quickSpec)
		await(t, h, "the acknowledgement", func() bool { return h.jobs["job_1"].Acked })
		synctest.Wait()
		err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err != nil || path == dir {
				return err
			}
			fi, err := d.Info()
			if err == nil && fi.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s has mode %v", path, fi.Mode())
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
		r.kill()
	})
}

func TestHubThatNamesAPathAsAJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub()
		h.Submit("../../evil", quickSpec)
		r := start(t, agent.Config{Client: h})
		if j := settled(t, h, "../../evil"); len(j.Fails) != 1 || j.Fails[0].Class != "internal" {
			t.Errorf("reports %+v", j.Fails)
		}
		r.kill()
	})
}

func TestConfigIsChecked(t *testing.T) {
	h, exec := newHub(), &topologytest.Executor{}
	for _, cfg := range []agent.Config{
		{Executor: exec, RunnerID: "r", SpoolDir: "x"},
		{Client: h, RunnerID: "r", SpoolDir: "x"},
		{Client: h, Executor: exec, SpoolDir: "x"},
		{Client: h, Executor: exec, RunnerID: "r"},
	} {
		if err := agent.New(cfg).Run(t.Context()); err == nil {
			t.Errorf("%+v was accepted", cfg)
		}
	}
}
