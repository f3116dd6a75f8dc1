package dispatch_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/dispatch"
)

const needsGPU = "image: busybox\nrequires: [gpu]\n"

func (w *world) explain(p hub.Principal, id string) dispatch.Explanation {
	w.Helper()
	e, err := w.s.Explain(w.ctx, p, id)
	w.must(err)
	for _, text := range append([]string{e.Summary}, e.Next...) {
		if strings.Contains(text, "..") || strings.Contains(text, "%!") || !strings.HasSuffix(text, ".") && !strings.Contains(text, "\n") {
			w.Errorf("is no sentence: %q", text)
		}
	}
	for i, n := range e.Next {
		if slices.Contains(e.Next[:i], n) {
			w.Errorf("said twice: %q", n)
		}
	}
	return e
}

// codes are the reasons of a runner, by its label.
func codes(list []dispatch.RunnerReason, label string) (out []hub.ReasonCode) {
	for _, r := range list {
		if r.Label == label {
			for _, x := range r.Reasons {
				out = append(out, x.Code)
			}
		}
	}
	return out
}

func (w *world) wantReason(list []dispatch.RunnerReason, label string, c hub.ReasonCode) {
	w.Helper()
	if got := codes(list, label); !slices.Contains(got, c) {
		w.Errorf("%s has reasons %v and not %s", label, got, c)
	}
}

func (w *world) wantBlock(e dispatch.Explanation, c hub.ReasonCode, words string) {
	w.Helper()
	for _, r := range e.Reasons {
		if r.Code == c && strings.Contains(r.Message, words) && strings.Contains(e.Summary, r.Message) {
			return
		}
	}
	w.Errorf("no %s with %q among %v; %s", c, words, e.Reasons, e.Summary)
}

func TestExplainNamesWhatEachRunnerIsUpTo(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		gone, old, box, busy := w.machine(self(w.ann), label("gone")), w.machine(self(w.ann), label("old")), w.machine(self(w.ann), label("box")), w.machine(self(w.ann), label("busy"))
		gone.none()
		w.clock.advance(time.Hour)
		old.presence.Protocol = 0
		old.none()
		box.none()
		w.submit()
		busy.take()
		box.presence.Draining = true
		box.none()
		job := w.submit(specText("image: busybox\nlabels: [fast]\n"))
		e := w.explain(w.ann, job.ID)
		for label, c := range map[string]hub.ReasonCode{
			"gone": hub.ReasonOffline, "old": hub.ReasonUpdateRequired, "box": hub.ReasonDraining, "busy": hub.ReasonBusy,
		} {
			w.wantReason(e.Runners, label, c)
			w.wantReason(e.Runners, label, hub.ReasonMissingLabel)
		}
		job = w.submit(specText(needsGPU))
		w.wantReason(w.explain(w.ann, job.ID).Runners, "busy", hub.ReasonMissingCapability)
		// A machine that has stopped is no riddle.
		w.clock.advance(time.Minute)
		job = w.submit()
		w.wantReason(w.explain(w.ann, job.ID).Runners, "box", hub.ReasonDraining)
	})
}

func TestExplainNamesRunnersOfOtherOwners(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		other := w.join()
		team, mine := w.machine(hub.WorkspaceOwner(w.ws.ID), label("team")), w.machine(self(w.ann), label("mine"))
		lab := w.machine(hub.WorkspaceOwner(other.ID), label("lab"))
		team.presence.Capabilities = append(team.presence.Capabilities, "gpu")
		lab.presence.Capabilities = append(lab.presence.Capabilities, "gpu")
		team.none()
		mine.none()
		lab.none()
		job := w.submit(specText(needsGPU))
		e := w.explain(w.ann, job.ID)
		w.wantReason(e.Runners, "mine", hub.ReasonMissingCapability)
		w.wantReason(e.Runners, "team", hub.ReasonOwnerDiffers)
		w.wantReason(e.Runners, "lab", hub.ReasonOwnerDiffers)
		for _, hint := range []string{"`--target workspace`", "`--target workspace --workspace " + other.Slug + "`"} {
			if !strings.Contains(strings.Join(e.Next, "\n"), hint) {
				t.Errorf("no %s in %q", hint, e.Next)
			}
		}
		// What the other way round a person's own machine could do.
		r, err := w.s.Check(w.ctx, w.ann, request(specText("image: busybox\nlabels: [mine]\n"), target(dispatch.TargetWorkspace)).JobRequest)
		w.must(err)
		w.wantReason(r.Runners, "team", hub.ReasonMissingLabel)
		w.wantReason(r.Runners, "mine", hub.ReasonOwnerDiffers)
		if !strings.Contains(strings.Join(r.Next, "\n"), "`--target self`") {
			t.Errorf("%q", r.Next)
		}
		// Nobody hears of machines that are not theirs to use.
		bob := w.person(other)
		got, err := w.s.Submit(w.ctx, bob, request(specText(needsGPU)))
		w.must(err)
		e = w.explain(bob, got.Job.Job.ID)
		if len(codes(e.Runners, "team"))+len(codes(e.Runners, "mine")) > 0 || len(codes(e.Runners, "lab")) != 1 {
			t.Errorf("bob hears of %+v", e.Runners)
		}
	})
}

func TestExplainNamesCapsAndGroups(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t, withPolicy(func(p *hub.Policy) { p.MaxRunning, p.MaxRunningPerWorkspace = 2, 1 }))
		m := w.machine(self(w.ann), label("box"))
		m.presence.Slots = 9
		other := w.join()
		holder := w.submit(inGroup("deploy"))
		l := m.take()
		m.begin(l)
		waits := w.submit(inGroup("deploy"))
		e := w.explain(w.ann, waits.ID)
		w.wantBlock(e, hub.ReasonCapReached, hub.CapWorkspace)
		w.wantBlock(e, hub.ReasonGroupBusy, `"deploy" behind `+holder.ID)
		w.wantReason(e.Runners, "box", hub.ReasonGroupBusy) // and not that it is ready
		if got := codes(e.Runners, "box"); slices.Contains(got, hub.ReasonReady) {
			t.Errorf("%v", got)
		}
		r, err := w.s.Check(w.ctx, w.ann, request(inGroup("deploy")).JobRequest)
		w.must(err)
		if len(r.Reasons) != 1 || r.Reasons[0].Code != hub.ReasonGroupBusy || !strings.Contains(r.Summary, holder.ID) {
			t.Errorf("check says %q, %+v", r.Summary, r.Reasons)
		}
		w.submit(forWorkspace(other))
		m.take()
		last := w.submit(forWorkspace(other))
		e = w.explain(w.ann, last.ID)
		w.wantBlock(e, hub.ReasonCapReached, "already runs 2 jobs, the most that it may (max_running)")
		if e.Position != 2 || !strings.Contains(strings.Join(e.Next, " "), "2 workspaces share this queue") {
			t.Errorf("place %d, %q", e.Position, e.Next)
		}
	})
}

func TestEndsAreSaidOnce(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		m := w.machine(self(w.ann))
		queued := w.submit()
		_, err := w.s.Cancel(w.ctx, w.ann, queued.ID, "mistake.")
		w.must(err)
		running := w.submit()
		l := m.take()
		m.begin(l)
		_, err = w.s.Cancel(w.ctx, w.ann, running.ID, "")
		w.must(err)
		m.settle(dispatch.SettleRequest{JobID: l.JobID, Proof: l.Proof, State: hub.JobCanceled})
		asked := w.submit()
		l = m.take()
		m.begin(l)
		_, err = w.s.Cancel(w.ctx, w.ann, asked.ID, "too slow")
		w.must(err)
		m.settle(dispatch.SettleRequest{JobID: l.JobID, Proof: l.Proof, State: hub.JobCanceled})
		failed := w.submit()
		l = m.take()
		m.begin(l)
		bad := failure(l, hub.ClassScript)
		bad.Failure.Message, bad.Failure.Hint = "The job exited with code 4.", "Look at the log."
		m.settle(bad)
		for id, want := range map[string]string{
			queued.ID: "The job was canceled: mistake.", running.ID: "The job was canceled: no reason given.",
			asked.ID: "The job was canceled: too slow.", failed.ID: "The job failed (script): The job exited with code 4.",
		} {
			if e := w.explain(w.ann, id); e.Summary != want {
				t.Errorf("%q, want %q", e.Summary, want)
			}
		}
	})
}

// rosterStore counts how often the roster is read.
type rosterStore struct {
	hub.Store
	reads atomic.Int32
}

func (r *rosterStore) ListRunners(ctx context.Context, o hub.Owner, revoked bool, afterID string, limit int) ([]hub.Runner, error) {
	r.reads.Add(1)
	return r.Store.ListRunners(ctx, o, revoked, afterID, limit)
}

func TestSubmitTellsWhenNoRunnerCanTakeTheJob(t *testing.T) {
	onStores(t, func(t backend) {
		var st *rosterStore
		w := newWorld(t, withStore(func(s hub.Store) hub.Store {
			st = &rosterStore{Store: s}
			return st
		}))
		told := func(edits ...func(*dispatch.SubmitRequest)) *dispatch.Notice {
			t.Helper()
			r, err := w.s.Submit(w.ctx, w.ann, request(edits...))
			w.must(err)
			if r.Job.Job.State != hub.JobQueued || len(r.Notices) > 1 {
				t.Fatalf("%+v", r)
			}
			if len(r.Notices) == 0 {
				return nil
			}
			return &r.Notices[0]
		}
		want := func(n *dispatch.Notice, c hub.ReasonCode, hint string) {
			t.Helper()
			if n == nil || n.Code != c || n.Message == "" || strings.Contains(n.Message, "..") || !strings.Contains(n.Hint, hint) {
				t.Errorf("told %+v, want %s with %q", n, c, hint)
			}
		}
		want(told(), hub.ReasonNoRunner, "runnerctl pair")
		m := w.machine(self(w.ann), label("box"))
		want(told(), hub.ReasonOffline, "Start box")
		m.take()
		if n := told(); n != nil { // busy, and so there
			t.Errorf("told %+v", n)
		}
		reads := st.reads.Load()
		for range 5 {
			told()
		}
		if n := st.reads.Load(); n != reads {
			t.Errorf("the roster was read %d times for jobs like the one before", n-reads)
		}
		want(told(specText(needsGPU)), hub.ReasonMissingCapability, "`requires`")
		team := w.machine(hub.WorkspaceOwner(w.ws.ID))
		team.presence.Capabilities = append(team.presence.Capabilities, "gpu")
		team.none()
		want(told(specText(needsGPU)), hub.ReasonMissingCapability, "`--target workspace`")
		if n := told(specText(needsGPU), target(dispatch.TargetWorkspace)); n != nil {
			t.Errorf("told %+v", n)
		}
	})
}
