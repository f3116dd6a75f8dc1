package storetest

import (
	"errors"
	"time"

	"github.com/runnerhub/runnerhub/hub"
)

func runnerTests() []test {
	return []test{
		{name: "a runner comes back as it was paired", run: runnerRoundTrip},
		{name: "no such runner", run: runnerMissing},
		{name: "its owner's policy", run: runnerPolicy},
		{name: "revoked once, and for ever", run: runnerRevoke},
		{name: "a revoked runner gets no lease", run: runnerRevokedLease},
		{name: "an owner's, in pages", run: runnerList},
		{name: "by label, of several owners", run: runnerByLabel},
		{name: "a label is taken until its runner is revoked", run: runnerLabel},
	}
}

func (w *world) runnerNow(id string) hub.Runner {
	w.Helper()
	r, err := w.s.GetRunner(w.ctx, id)
	w.must(err)
	return r
}

// paired is a runner of the world's owner.
func (w *world) paired(edits ...func(*hub.Runner)) hub.Runner {
	w.Helper()
	r := w.runner()
	for _, f := range edits {
		f(&r)
	}
	AddRunner(w, w.s, r)
	return r
}

func runnerRoundTrip(w *world) {
	r := w.paired(func(r *hub.Runner) {
		r.Label, r.Labels = "größe 漢字", []string{"gpu-big", `a"b`, "c,d"}
		r.Hostname, r.PairedBy, r.PairedAt = "höst", "usr_1", at(time.Microsecond)
		r.Presence = hub.Presence{OS: "linux", Arch: "arm64", Version: "1.2.3"} // known before its first poll
	})
	w.equal(w.runnerNow(r.ID), r)
	got, err := w.s.RunnerByToken(w.ctx, r.TokenDigest)
	w.must(err)
	w.equal(got, r)
	plain := w.paired()
	w.equal(w.runnerNow(plain.ID), plain)
}

func runnerPolicy(w *world) {
	r := w.paired()
	other := w.paired()
	e := NewEvent(hub.ActRunnerPolicy)
	e.RunnerID = r.ID
	for _, policy := range []string{`{"images":["größe/*"]}`, `{"images":["größe/*"]}`, "{}", ""} {
		w.must(w.s.SavePolicy(w.ctx, r.ID, policy, e))
		r.Policy = policy
		w.equal(w.runnerNow(r.ID), r)
		byToken, err := w.s.RunnerByToken(w.ctx, r.TokenDigest)
		w.must(err)
		w.equal(byToken, r)
	}
	w.equal(w.runnerNow(other.ID), other)
	all, err := w.s.ListRunners(w.ctx, w.owner, false, "", 10)
	w.must(err)
	w.equal(all, []hub.Runner{r, other})
	w.wantCode(w.s.SavePolicy(w.ctx, "rnr-missing", "{}", e), hub.NotFound)
}

func runnerMissing(w *world) {
	_, err := w.s.GetRunner(w.ctx, "rnr-missing")
	w.wantCode(err, hub.NotFound)
	_, err = w.s.RunnerByToken(w.ctx, NewDigest())
	w.wantCode(err, hub.NotFound)
	_, err = w.s.RunnerByToken(w.ctx, nil)
	w.wantCode(err, hub.NotFound)
	_, err = w.s.RevokeRunner(w.ctx, "rnr-missing", at(0), NewEvent(hub.ActRunnerRevoked))
	w.wantCode(err, hub.NotFound)
}

func runnerRevoke(w *world) {
	r := w.paired()
	job := NewID("job_") // events are listed by job
	e := NewEvent(hub.ActRunnerRevoked)
	e.JobID, e.RunnerID = job, r.ID
	got, err := w.s.RevokeRunner(w.ctx, r.ID, at(time.Minute), e)
	w.must(err)
	r.RevokedAt = at(time.Minute)
	w.equal(got, r)
	w.equal(w.runnerNow(r.ID), r)
	got, err = w.s.RevokeRunner(w.ctx, r.ID, at(time.Hour), e)
	w.must(err)
	w.equal(got, r) // stays as it is
	w.equal(len(w.events(job)), 1)
	got, err = w.s.RunnerByToken(w.ctx, r.TokenDigest)
	w.must(err)
	w.equal(got, r)
}

func runnerRevokedLease(w *world) {
	gone, there := w.paired(), w.paired()
	p := w.enqueue("")
	held := w.lease(w.enqueue("").Job.ID, gone, at(time.Second))
	_, err := w.s.RevokeRunner(w.ctx, gone.ID, at(time.Minute), NewEvent(hub.ActRunnerRevoked))
	w.must(err)
	before := w.everything(p.Job.ID)
	d, err := hub.Lease(p.Job, p.Payload, grant(p.Job, gone), at(time.Minute), w.pol)
	w.must(err)
	if err := w.s.Apply(w.ctx, change(d, at(time.Minute))); !errors.Is(err, hub.ErrRevoked) {
		w.Fatalf("got %v", err)
	}
	w.equal(w.everything(p.Job.ID), before)
	w.settle(w.start(held, at(time.Minute)), success(), at(time.Minute)) // what it held is for the machine to say
	w.lease(p.Job.ID, there, at(time.Minute))
	stale := change(d, at(time.Minute))
	w.wantConflict(w.s.Apply(w.ctx, stale)) // a guard that finds another state comes first
}

func runnerList(w *world) {
	var valid, all []hub.Runner
	for i := range 5 {
		r := w.paired()
		if i == 1 || i == 4 {
			_, err := w.s.RevokeRunner(w.ctx, r.ID, at(time.Minute), NewEvent(hub.ActRunnerRevoked))
			w.must(err)
			r.RevokedAt = at(time.Minute)
		} else {
			valid = append(valid, r)
		}
		all = append(all, r)
	}
	AddRunner(w, w.s, NewRunner(hub.UserOwner(NewID("usr_"))))
	pages := func(revoked bool, page int) []hub.Runner {
		var out []hub.Runner
		after := ""
		for {
			got, err := w.s.ListRunners(w.ctx, w.owner, revoked, after, page)
			w.must(err)
			out = append(out, got...)
			if len(got) < page {
				return out
			}
			after = got[len(got)-1].ID
		}
	}
	for page := 1; page <= 6; page++ {
		w.equal(pages(false, page), valid)
		w.equal(pages(true, page), all)
	}
}

func runnerByLabel(w *world) {
	named := func(r *hub.Runner) { r.Label = "builder" }
	mine := w.paired(named)
	theirs := NewRunner(hub.WorkspaceOwner(NewID("wsp_")))
	named(&theirs)
	AddRunner(w, w.s, theirs)
	find := func(label string, owners ...hub.Owner) []string {
		got, err := w.s.RunnersByLabel(w.ctx, owners, label)
		w.must(err)
		var ids []string
		for _, r := range got {
			ids = append(ids, r.ID)
		}
		return ids
	}
	w.equal(find("builder", w.owner), []string{mine.ID})
	w.equal(find("builder", w.owner, theirs.Owner), []string{mine.ID, theirs.ID}) // by id
	w.equal(find("Builder", w.owner), []string{})
	w.equal(find("builder", "user:nobody"), []string{})
	w.equal(find("builder"), []string{})
	_, err := w.s.RevokeRunner(w.ctx, mine.ID, at(time.Minute), NewEvent(hub.ActRunnerRevoked))
	w.must(err)
	w.equal(find("builder", w.owner, theirs.Owner), []string{theirs.ID})
}

func runnerLabel(w *world) {
	first := w.paired()
	again := w.runner()
	again.Label = first.Label
	p := w.approved(again)
	err := w.s.RedeemPairing(w.ctx, redeemed(p, again), again, NewEvent(hub.ActRunnerPaired))
	w.wantCode(err, hub.Conflict)
	_, err = w.s.GetRunner(w.ctx, again.ID)
	w.wantCode(err, hub.NotFound)
	got, err := w.s.GetPairing(w.ctx, p.ID)
	w.must(err)
	w.equal(got, p) // still to be redeemed, with another label

	_, err = w.s.RevokeRunner(w.ctx, first.ID, at(time.Minute), NewEvent(hub.ActRunnerRevoked))
	w.must(err)
	w.must(w.s.RedeemPairing(w.ctx, redeemed(p, again), again, NewEvent(hub.ActRunnerPaired)))
	w.equal(w.runnerNow(again.ID), again)
}
