package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/runnerhub/runnerhub/hub"
)

func retentionTests() []test {
	return []test{
		{name: "a job goes with all that was kept of it", run: retainWhole},
		{name: "what has not ended long ago stays", run: retainOthers, alone: true},
		{name: "ended jobs are found page by page", run: retainPages, alone: true},
		{name: "keys go before their jobs", run: retainKeys, alone: true},
		{name: "two hubs at once", run: retainTwice},
	}
}

// later is after everything that these tests make, by the ids of jobs too.
func later() time.Time { return time.Now().Add(time.Hour) }

// finished is a job that ran twice and ended at a time, with a log, a result and a key.
func (w *world) finished(end time.Time, edits ...func(*hub.EnqueueParams)) hub.EnqueueParams {
	w.Helper()
	p := w.enqueue("", edits...)
	j := w.lease(p.Job.ID, w.runner(), at(time.Second))
	w.must(w.s.AppendLog(w.ctx, j.ID, 1, chunk(0, 7)))
	d, err := hub.Release(j, proof(j), "", at(2*time.Second))
	w.must(err)
	w.apply(d, at(2*time.Second))
	j = w.start(w.lease(j.ID, w.runner(), at(3*time.Second)), at(4*time.Second))
	w.must(w.s.AppendLog(w.ctx, j.ID, 2, chunk(0, 5)))
	w.settle(j, success(), end)
	return p
}

func withKey(key string) func(*hub.EnqueueParams) {
	return func(p *hub.EnqueueParams) {
		p.Payload.SubmittedBy, p.IdempotencyKey, p.Fingerprint = string(p.Job.Owner), key, []byte("same")
	}
}

// wantGone wants nothing left of a job.
func (w *world) wantGone(id string) {
	w.Helper()
	_, err := w.s.GetJob(w.ctx, id)
	w.wantCode(err, hub.NotFound)
	_, err = w.s.GetPayload(w.ctx, id)
	w.wantCode(err, hub.NotFound)
	attempts, err := w.s.ListAttempts(w.ctx, id)
	w.must(err)
	for n := range 3 {
		_, err = w.s.GetAttempt(w.ctx, id, n+1)
		w.wantCode(err, hub.NotFound)
		chunks, err := w.s.LogChunks(w.ctx, id, n+1, 0, 10)
		w.must(err)
		w.equal(chunks, []hub.LogChunk{})
	}
	w.equal(attempts, []hub.Attempt{})
	w.equal(w.events(id), []hub.Event{})
}

func (w *world) deleteJobs(before time.Time, ids ...string) int {
	w.Helper()
	n, err := w.s.DeleteJobs(w.ctx, before, ids)
	w.must(err)
	return n
}

func retainWhole(w *world) {
	p, other := w.finished(at(time.Minute)), w.finished(at(time.Minute))
	digest := w.attempt(p.Job.ID, 1).LogDigest
	w.equal(w.deleteJobs(at(time.Hour), p.Job.ID, "job_missing"), 1)
	w.wantGone(p.Job.ID)
	_, err := w.s.AttemptByLog(w.ctx, digest)
	w.wantCode(err, hub.NotFound)
	w.wantCode(w.s.AppendLog(w.ctx, p.Job.ID, 2, chunk(5, 1)), hub.NotFound)
	// All of the other one is there.
	w.job(other.Job.ID)
	w.payload(other.Job.ID)
	w.equal(len(w.attempt(other.Job.ID, 2).Result) > 0, true)
	w.equal(len(w.events(other.Job.ID)), 6)
	w.equal(len(w.chunks(other.Job.ID, 0, 10)), 1)
	w.equal(w.deleteJobs(at(time.Hour), p.Job.ID), 0)
	w.equal(w.deleteJobs(at(time.Hour)), 0)
}

func retainOthers(w *world) {
	queued, leased := w.enqueue("").Job.ID, w.lease(w.enqueue("").Job.ID, w.runner(), at(time.Second)).ID
	running := w.start(w.lease(w.enqueue("").Job.ID, w.runner(), at(time.Second)), at(2*time.Second)).ID
	young := w.finished(at(time.Hour)).Job.ID
	old := w.finished(at(time.Hour - time.Microsecond)).Job.ID
	ids, next, err := w.s.EndedBefore(w.ctx, later(), "", 100)
	w.must(err)
	w.equal(ids, []string{young, old})
	w.equal(next, "")
	w.equal(w.deleteJobs(at(time.Hour), queued, leased, running, young, old), 1)
	for _, id := range []string{queued, leased, running, young} {
		w.job(id)
		w.payload(id)
	}
	w.wantGone(old)
}

func retainPages(w *world) {
	var want []string
	for i := range 7 {
		if i%3 == 2 {
			w.enqueue("")
		} else {
			want = append(want, w.finished(at(time.Minute)).Job.ID)
		}
	}
	var got []string
	pages := 0
	for after := ""; ; pages++ {
		ids, next, err := w.s.EndedBefore(w.ctx, later(), after, 3)
		w.must(err)
		got = append(got, ids...)
		if next == "" {
			break
		}
		after = next
	}
	w.equal(got, want)
	w.equal(pages, 2)
	// An id that is younger than the time need not be looked at: a job ends after it was made.
	ids, next, err := w.s.EndedBefore(w.ctx, at(time.Hour), "", 3)
	w.must(err)
	w.equal(ids, []string{})
	w.equal(next, "")
	made := uuid.MustParse(want[1][len(hub.JobIDPrefix):])
	sec, nsec := made.Time().UnixTime()
	ids, _, err = w.s.EndedBefore(w.ctx, time.Unix(sec, nsec).Add(time.Millisecond), want[0], 10)
	w.must(err)
	w.equal(slices.Contains(ids, want[1]) && !slices.Contains(ids, want[0]), true)
}

func retainKeys(w *world) {
	walk := func(before time.Time) {
		w.Helper()
		for after := (hub.KeyPos{}); ; {
			next, err := w.s.DeleteKeys(w.ctx, before, after, 2)
			w.must(err)
			if next == (hub.KeyPos{}) {
				return
			}
			after = next
		}
	}
	// taken says which of some keys still answers for its job.
	taken := func(of ...hub.EnqueueParams) (out []bool) {
		w.Helper()
		for _, p := range of {
			again := NewJob(w.owner, "")
			withKey(p.IdempotencyKey)(&again)
			j, existing, err := w.s.Enqueue(w.ctx, again)
			w.must(err)
			w.equal(existing, j.ID == p.Job.ID)
			out = append(out, existing)
		}
		return out
	}
	var old []hub.EnqueueParams
	for i := range 5 {
		old = append(old, w.finished(at(time.Minute), withKey(fmt.Sprint("k", i))))
	}
	young, queued := w.finished(at(time.Hour), withKey("a")), w.enqueue("", withKey("z"))
	walk(Start())
	w.equal(taken(old[0], young, queued), []bool{true, true, true})
	walk(at(time.Hour))
	w.equal(taken(young, queued), []bool{true, true})
	w.equal(taken(old...), []bool{false, false, false, false, false})
	w.job(old[0].Job.ID) // the jobs are for the next step
	// A key whose job is gone already, as a hub that was killed may leave it where keys are apart.
	w.deleteJobs(at(2*time.Hour), young.Job.ID)
	walk(at(2 * time.Hour))
	w.equal(taken(young), []bool{false})
}

func retainTwice(w *world) {
	ids := make([]string, 12)
	for i := range ids {
		ids[i] = w.finished(at(time.Minute)).Job.ID
	}
	n, errs := make([]int, 4), make([]error, 4)
	together(len(n), func(i int) {
		mine := slices.Clone(ids)
		if i%2 == 1 {
			slices.Reverse(mine)
		}
		n[i], errs[i] = w.s.DeleteJobs(w.ctx, at(time.Hour), mine)
	})
	sum := 0
	for i := range n {
		w.must(errs[i])
		sum += n[i]
	}
	w.equal(sum, len(ids))
}
