package hub_test

import (
	"testing"
	"time"

	"github.com/runnerhub/runnerhub/hub"
)

func parked() hub.Exec {
	return hub.NewExec(hub.Exec{ID: "exe_1", JobID: "job_1", Attempt: 1, Kind: hub.ExecRun, Timeout: time.Minute, Limit: 10}, t0)
}

var (
	word  = hub.Digest("word")
	other = hub.Digest("another word")
)

func begun(t *testing.T) hub.Exec {
	t.Helper()
	x, changed, err := parked().Begin(word, t0)
	if err != nil || !changed {
		t.Fatal(changed, err)
	}
	return x
}

func TestARequestIsBegunOnce(t *testing.T) {
	t.Parallel()
	x := begun(t)
	if _, changed, err := x.Begin(word, t0); changed || err != nil {
		t.Errorf("the same runner again: %v, %v", changed, err)
	}
	if _, _, err := x.Begin(other, t0); hub.CodeOf(err) != hub.AlreadySettled {
		t.Errorf("another runner: %v", err)
	}
	if _, _, err := x.Finish(other, hub.ExecEnd{Status: hub.ExecExited}, t0); hub.CodeOf(err) != hub.AlreadySettled {
		t.Errorf("another runner ends it: %v", err)
	}
	x, changed, err := x.Finish(word, hub.ExecEnd{Status: hub.ExecExited}, t0)
	if err != nil || !changed || x.Open() || x.End.At != t0 {
		t.Fatalf("%+v, %v", x, err)
	}
	if _, changed, err := x.Finish(word, hub.ExecEnd{Status: hub.ExecFailed}, t0); changed || err != nil {
		t.Errorf("the end again: %v, %v", changed, err)
	}
	if _, _, err := x.Begin(word, t0); hub.CodeOf(err) != hub.AlreadySettled {
		t.Errorf("after its end: %v", err)
	}
}

func TestInputFillsARequestBeforeItIsParked(t *testing.T) {
	t.Parallel()
	x := hub.NewExec(hub.Exec{ID: "exe_1", Kind: hub.ExecPut, InputTotal: 10}, t0)
	if _, _, err := x.Begin(word, t0); hub.CodeOf(err) != hub.AlreadySettled {
		t.Fatalf("begun before its input: %v", err)
	}
	x, err := x.Fill(0, 4, t0)
	if err != nil || x.State != hub.ExecFilling {
		t.Fatal(x.State, err)
	}
	if _, err := x.Fill(5, 5, t0); hub.CodeOf(err) != hub.Conflict {
		t.Errorf("a gap: %v", err)
	}
	if _, err := x.Fill(4, 7, t0); hub.CodeOf(err) != hub.TooLarge {
		t.Errorf("more than announced: %v", err)
	}
	if x, err = x.Fill(4, 6, t0); err != nil || x.State != hub.ExecParked {
		t.Errorf("%s, %v", x.State, err)
	}
	if _, err := x.Fill(10, 0, t0); hub.CodeOf(err) != hub.AlreadySettled {
		t.Errorf("after the end: %v", err)
	}
}

func TestOutputIsCountedAndCapped(t *testing.T) {
	t.Parallel()
	x := begun(t)
	x, err := x.Received(false, 0, 4)
	if err == nil {
		x, err = x.Received(true, 0, 5)
	}
	if err != nil || x.Stdout != 4 || x.Stderr != 5 {
		t.Fatalf("%+v, %v", x, err)
	}
	if _, err := x.Received(false, 5, 1); hub.CodeOf(err) != hub.Conflict {
		t.Errorf("a gap: %v", err)
	}
	if _, err := x.Received(false, 4, 2); hub.CodeOf(err) != hub.TooLarge {
		t.Errorf("over the cap: %v", err)
	}
	if _, err := parked().Received(false, 0, 1); hub.CodeOf(err) != hub.AlreadySettled {
		t.Errorf("before it began: %v", err)
	}
}

func TestWhatEndsARequest(t *testing.T) {
	t.Parallel()
	if x, changed := parked().Stop(t0); !changed || x.End.Status != hub.ExecStopped {
		t.Errorf("a parked one is stopped: %+v", x)
	}
	x, changed := begun(t).Stop(t0)
	if !changed || !x.Open() || x.StopAt.IsZero() {
		t.Errorf("one that runs is asked to stop: %+v", x)
	}
	if _, changed := x.Stop(t0); changed {
		t.Error("it is asked twice")
	}
	for name, tc := range map[string]struct {
		x    hub.Exec
		live bool
		at   time.Duration
		want string
	}{
		"the job ended":           {begun(t), false, 0, hub.ExecLost},
		"nobody fetched it":       {parked(), true, hub.ExecParkLimit, hub.ExecLost},
		"it waits":                {parked(), true, hub.ExecParkLimit - time.Second, ""},
		"it runs":                 {begun(t), true, time.Minute, ""},
		"its runner says nothing": {begun(t), true, time.Minute + hub.ExecMargin, hub.ExecLost},
	} {
		got := ""
		if x, changed := tc.x.Expire(tc.live, t0.Add(tc.at)); changed {
			got = x.End.Status
		}
		if got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

func TestWhoMayBeReachedInto(t *testing.T) {
	t.Parallel()
	open := payload()
	open.Exec = true
	ended := running(t)
	ended.State = hub.JobFailed
	for name, tc := range map[string]struct {
		j    hub.Job
		p    hub.JobPayload
		k    hub.ExecKind
		want hub.Code
	}{
		"a queued job":              {queued(), open, hub.ExecRun, hub.Conflict},
		"a job without its consent": {running(t), payload(), hub.ExecRun, hub.Conflict},
		"a job with it":             {running(t), open, hub.ExecRun, ""},
		"a held job":                {held(t, hub.ClassScript), holding(), hub.ExecRun, ""},
		"a hold":                    {held(t, hub.ClassScript), holding(), hub.ExecRelease, ""},
		"no hold":                   {running(t), open, hub.ExecRelease, hub.Conflict},
		"a job that has ended":      {ended, open, hub.ExecRun, hub.AlreadySettled},
	} {
		if got := hub.CodeOf(hub.Enterable(tc.j, tc.p, tc.k)); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
