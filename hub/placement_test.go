package hub_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/runnerhub/runnerhub/hub"
)

func TestFilterCapabilities(t *testing.T) {
	t.Parallel()
	got := hub.FilterCapabilities([]string{"linux", " Docker", "linux", "fast-box", "", "GPU"})
	if diff := cmp.Diff([]string{"docker", "gpu", "linux"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestFit(t *testing.T) {
	t.Parallel()
	r := runner()
	r.Labels = []string{"lab"}
	for _, tt := range []struct {
		name     string
		change   func(*hub.Runner)
		requires []string
		labels   []string
		denied   func(hub.Runner) []hub.Reason
		want     []hub.ReasonCode
	}{
		{"nothing asked", nil, nil, nil, nil, nil},
		{"os and architecture count", nil, []string{"docker", "linux", "amd64"}, nil, nil, nil},
		{"its own label and the owner's", nil, nil, []string{"box", "lab"}, nil, nil},
		{"missing", nil, []string{"gpu", "arm64"}, []string{"fast"}, nil, []hub.ReasonCode{hub.ReasonMissingCapability, hub.ReasonMissingCapability, hub.ReasonMissingLabel}},
		{"not allowed", nil, nil, nil, refused, []hub.ReasonCode{hub.ReasonPolicy}},
		{"unpaired", func(r *hub.Runner) { r.RevokedAt = t0 }, nil, nil, nil, []hub.ReasonCode{hub.ReasonRevoked}},
	} {
		r := r
		if tt.change != nil {
			tt.change(&r)
		}
		d := hub.Demand{Requires: tt.requires, Labels: tt.labels, Denied: tt.denied}
		ok, reasons := hub.Fit(r, d)
		if diff := cmp.Diff(tt.want, codes(reasons)); diff != "" || ok != (len(tt.want) == 0) {
			t.Errorf("%s: %v %s", tt.name, ok, diff)
		}
		if r.Suits(d) != ok {
			t.Errorf("%s: Suits says otherwise", tt.name)
		}
	}
}

// refused is the policy of an owner who allows nothing.
func refused(r hub.Runner) []hub.Reason {
	return []hub.Reason{{Code: hub.ReasonPolicy, Message: "the owner of " + r.Label + " does not allow it", Hint: "allow it"}}
}

func codes(rs []hub.Reason) (out []hub.ReasonCode) {
	for _, r := range rs {
		out = append(out, r.Code)
	}
	return out
}

func TestExplainNamesEveryStatus(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		change   func(*hub.Runner)
		busy     int
		eligible bool
		want     hub.ReasonCode
	}{
		{"ready", func(*hub.Runner) {}, 1, true, hub.ReasonReady},
		{"busy", func(*hub.Runner) {}, 2, true, hub.ReasonBusy},
		{"stale", func(r *hub.Runner) { r.Presence.SeenAt = t0.Add(-time.Minute) }, 0, true, hub.ReasonStale},
		{"offline", func(r *hub.Runner) { r.Presence.SeenAt = t0.Add(-time.Hour) }, 0, true, hub.ReasonOffline},
		{"never seen", func(r *hub.Runner) { r.Presence.SeenAt = time.Time{} }, 0, true, hub.ReasonOffline},
		{"draining", func(r *hub.Runner) { r.Presence.Draining = true }, 0, true, hub.ReasonDraining},
		{"paused", func(r *hub.Runner) {
			r.Presence.Draining, r.Presence.StatusText, r.Presence.StatusLevel = true, "on battery", "warning"
		}, 0, true, hub.ReasonPaused},
		{"old", func(r *hub.Runner) { r.Presence.Protocol = 0 }, 0, true, hub.ReasonUpdateRequired},
		{"unpaired", func(r *hub.Runner) { r.RevokedAt = t0 }, 0, false, hub.ReasonRevoked},
	} {
		r := runner()
		tt.change(&r)
		ok, reasons := hub.Explain(r, hub.Demand{Requires: []string{"docker"}}, tt.busy, t0, policy())
		if ok != tt.eligible || !slices.Equal(codes(reasons), []hub.ReasonCode{tt.want}) || reasons[0].Message == "" {
			t.Errorf("%s: %v, %+v", tt.name, ok, reasons)
		}
		if status := r.Status(t0, tt.busy, policy()); (tt.name == "paused") != (status == hub.RunnerPaused) || (tt.name == "draining") != (status == hub.RunnerDraining) {
			t.Errorf("%s: its status is %s", tt.name, status)
		}
	}
}

func TestNoRunnerSince(t *testing.T) {
	t.Parallel()
	now := t0.Add(time.Hour)
	seen := func(at time.Time, change ...func(*hub.Runner)) hub.Runner {
		r := runner()
		r.Presence.SeenAt = at
		for _, f := range change {
			f(&r)
		}
		return r
	}
	job := queued()
	for _, tt := range []struct {
		name    string
		runners []hub.Runner
		started time.Time
		want    time.Time
		denied  func(hub.Runner) []hub.Reason
	}{
		{"no runner: since it was queued", nil, t0.Add(-time.Hour), t0, nil},
		{"no runner: since the hub started", nil, t0.Add(time.Minute), t0.Add(time.Minute), nil},
		{"one is online", []hub.Runner{seen(now.Add(-time.Second))}, t0, time.Time{}, nil},
		{"one was seen later", []hub.Runner{seen(t0.Add(10 * time.Minute))}, t0, t0.Add(10 * time.Minute), nil},
		{"one is online and not capable", []hub.Runner{seen(now, func(r *hub.Runner) { r.Presence.Capabilities = nil })}, t0, t0, nil},
		{"one is online and unpaired", []hub.Runner{seen(now, func(r *hub.Runner) { r.RevokedAt = now })}, t0, t0, nil},
		{"one is online and another owner's", []hub.Runner{seen(now, func(r *hub.Runner) { r.Owner = "user:usr_2" })}, t0, t0, nil},
		{"one is online and too old", []hub.Runner{seen(now, func(r *hub.Runner) { r.Presence.Protocol = 0 })}, t0, t0, nil},
		{"one was never seen", []hub.Runner{seen(time.Time{})}, t0, t0, nil},
		{"one is online and its owner refuses it", []hub.Runner{seen(now)}, t0, t0, refused},
	} {
		got := hub.NoRunnerSince(job, hub.Demand{Requires: []string{"docker"}, Denied: tt.denied}, tt.runners, tt.started, now, func() hub.Policy { p := policy(); p.MinProtocol = 1; return p }())
		if !got.Equal(tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestRunnerServes(t *testing.T) {
	t.Parallel()
	r := runner()
	for key, want := range map[hub.QueueKey]bool{
		hub.NewQueueKey(mine, ""):            true,
		hub.NewQueueKey(mine, "rnr-1"):       true,
		hub.NewQueueKey(mine, "rnr-2"):       false,
		hub.NewQueueKey("user:usr_2", ""):    false,
		hub.NewQueueKey("ws:wsp_1", "rnr-1"): false,
	} {
		if r.Serves(key) != want {
			t.Errorf("%s: %v", key, !want)
		}
	}
}
