package agent_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/runnerctl/agent"
	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/policy"
	"github.com/runnerhub/runnerhub/topology/topologytest"
)

// owner is somebody who changes their mind; the zero value has written nothing.
type owner struct {
	text   atomic.Pointer[string]
	onMain atomic.Bool
}

func (o *owner) says(text string) { o.text.Store(&text) }

func (o *owner) policy() (*policy.Policy, error) {
	text := o.text.Load()
	if text == nil {
		return &policy.Policy{}, nil
	}
	return policy.Parse([]byte(*text))
}

func (o *owner) battery() (bool, error) { return !o.onMain.Load(), nil }

// held asserts that no job is taken, and why the hub is told so.
func held(t *testing.T, h *fakeHub, why string) {
	t.Helper()
	pass(time.Minute)
	if h.Job("job_1").Attempt != 0 {
		t.Fatal("a job was leased")
	}
	last := lastPoll(h)
	if !last.Draining || last.Status == nil || last.Status.Level == "ok" || !strings.Contains(last.Status.Text, why) {
		t.Errorf("the hub was told %+v, want %q", last.Status, why)
	}
}

func TestOpenNetworkWhereTheCloudWouldTalk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, o := newHub(), &owner{}
		r := start(t, agent.Config{Client: h, Policy: o.policy, OpenMetadata: true})
		h.Submit("job_1", quickSpec)
		if j := settled(t, h, "job_1"); len(j.Results) != 1 || j.Results[0].Failure == nil || j.Results[0].Failure.Class != string(topology.ClassPolicyDenied) {
			t.Errorf("results %+v", j.Results)
		}
		if told := string(lastPoll(h).Policy); !strings.Contains(told, `"open_metadata":true`) {
			t.Errorf("the hub was told %s", told)
		}
		o.says("metadata_addresses: true")
		pass(time.Minute)
		h.Submit("job_2", quickSpec)
		if j := settled(t, h, "job_2"); len(j.Results) != 1 || j.Results[0].Status != "succeeded" {
			t.Errorf("results %+v", j.Results)
		}
		r.kill()
	})
}

func TestNoJobsOutsideHours(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // it begins at midnight in UTC, on a Saturday
		h, o := newHub(), &owner{}
		begin := time.Now()
		hour := begin.Add(time.Hour)
		o.says("hours: ['daily " + hour.Format("15:04") + "-" + hour.Add(time.Hour).Format("15:04") + "']")
		h.Submit("job_1", quickSpec)
		r := start(t, agent.Config{Client: h, Policy: o.policy})
		held(t, h, "again from "+hour.Format("Mon 15:04"))
		settled(t, h, "job_1")
		if took := time.Since(begin); took < time.Hour || took > time.Hour+time.Minute {
			t.Errorf("it was taken after %v", took)
		}
		pass(90 * time.Minute) // the hour is over while a poll is held
		h.Submit("job_2", quickSpec)
		pass(time.Minute)
		if h.Job("job_2").Attempt != 0 {
			t.Error("a job was leased after the hour")
		}
		r.kill()
	})
}

func TestNoJobsOnBattery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, o := newHub(), &owner{}
		o.says("not_on_battery: true")
		h.Submit("job_1", quickSpec)
		var states []agent.State
		r := start(t, agent.Config{Client: h, Policy: o.policy, OnBattery: o.battery, StatusFn: func(s agent.Status) { states = append(states, s.State) }})
		held(t, h, "on its battery")
		o.onMain.Store(true)
		settled(t, h, "job_1")
		r.kill()
		paused := false
		for _, s := range states {
			paused = paused || s == agent.StatePaused
		}
		if !paused {
			t.Errorf("states %v", states)
		}
	})
}

func TestNoJobsWhileNobodyKnowsThePolicy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, o := newHub(), &owner{}
		o.says("privilege: true")
		h.Submit("job_1", quickSpec)
		r := start(t, agent.Config{Client: h, Policy: o.policy})
		held(t, h, "line 1, column 1: privilege")
		if last := lastPoll(h); last.Status.Level != "error" {
			t.Errorf("level %s", last.Status.Level)
		}
		o.says("privileged: true")
		settled(t, h, "job_1")
		r.kill()
	})
}

func TestWhatTheOwnerDoesNotAllowIsNotRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, o, exec := newHub(), &owner{}, &topologytest.Executor{}
		o.says("images: [busybox]\nceiling: {memory: 1GiB}")
		h.Submit("job_1", `{"image":"example/app","resources":{"memory":2147483648}}`)
		r := start(t, agent.Config{Client: h, Policy: o.policy, Executor: exec})
		j := settled(t, h, "job_1")
		f := j.Results[0].Failure
		if f == nil || f.Class != "policy_denied" || f.Container != "job" {
			t.Fatalf("result %+v", j.Results[0])
		}
		for _, want := range []string{"images: the job's container runs the image docker.io/example/app:latest", "ceiling.memory: the job asks for 2GiB",
			"\n  allow it: runnerctl policy set images+=docker.io/example/app\n", "\n  allow it: runnerctl policy set ceiling.memory=2GiB"} {
			if !strings.Contains(f.Message, want) {
				t.Errorf("no %q in %s", want, f.Message)
			}
		}
		if log := j.Logs[1].String(); !strings.Contains(log, "images: ") {
			t.Errorf("the log says nothing: %q", log)
		}
		if len(exec.Runs()) != 0 {
			t.Error("it was run")
		}
		// It is no fault of the machine's: the next one is taken at once, with the ceiling as its limit.
		h.Submit("job_2", `{"image":"busybox"}`)
		if j := settled(t, h, "job_2"); j.Results[0].Status != "succeeded" {
			t.Errorf("result %+v", j.Results[0])
		}
		if got := exec.Runs()[0].Spec.Resources.Memory; got != 1<<30 {
			t.Errorf("memory %d", got)
		}
		r.kill()
	})
}

func TestTheHubHearsOfThePolicy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, o := newHub(), &owner{}
		r := start(t, agent.Config{Client: h, Policy: o.policy})
		pass(time.Second)
		if got := string(lastPoll(h).Policy); got != "{}" {
			t.Errorf("the default policy is told as %q", got)
		}
		o.says("gpus: true")
		pass(10 * time.Second) // a poll is held for longer
		if got := string(lastPoll(h).Policy); got != `{"gpus":true}` {
			t.Errorf("it is told as %q", got)
		}
		r.kill()
	})
}

func TestAHubWithoutPoliciesIsNotTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub()
		told := 0
		h.Before = func(_ context.Context, tool string, args any) error {
			if a, ok := args.(mcp.LeaseJobArgs); ok && tool == mcp.ToolLeaseJob && a.Policy != nil {
				told++
				return &mcp.Error{Code: mcp.CodeInvalidArgument, Message: "policy is not known"}
			}
			return nil
		}
		h.Submit("job_1", quickSpec)
		r := start(t, agent.Config{Client: h})
		settled(t, h, "job_1")
		pass(10 * time.Minute)
		if told != 1 {
			t.Errorf("it was told %d times", told)
		}
		r.kill()
	})
}

func TestABatteryThatCannotBeReadCountsAsOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, o := newHub(), &owner{}
		o.says("not_on_battery: true")
		h.Submit("job_1", quickSpec)
		r := start(t, agent.Config{Client: h, Policy: o.policy, OnBattery: func() (bool, error) { return false, errors.New("no such file") }})
		held(t, h, "no such file")
		o.says("")
		settled(t, h, "job_1")
		r.kill()
	})
}
