package storetest

import (
	"time"
)

func ticketTests() []test {
	return []test{
		{name: "a source is taken once", run: sourceOnce},
		{name: "one of several takers gets it", run: sourceRace},
		{name: "of an attempt that is not live nothing is taken", run: sourceStale},
		{name: "it goes with its job", run: sourceGone, alone: true},
	}
}

func sourceOnce(w *world) {
	id, _ := w.logged()
	other, _ := w.logged()
	w.must(w.s.TakeSource(w.ctx, id, 1, at(time.Minute)))
	w.wantConflict(w.s.TakeSource(w.ctx, id, 1, at(time.Minute)))
	w.must(w.s.TakeSource(w.ctx, other, 1, at(time.Minute)))
	w.must(w.s.ReturnSource(w.ctx, id, 1))
	w.must(w.s.ReturnSource(w.ctx, id, 1))
	w.must(w.s.ReturnSource(w.ctx, "job_missing", 1))
	w.must(w.s.TakeSource(w.ctx, id, 1, at(2*time.Minute)))
	w.wantConflict(w.s.TakeSource(w.ctx, other, 1, at(2*time.Minute)))
}

func sourceRace(w *world) {
	id, _ := w.logged()
	const takers = 8
	got := make(chan error, takers)
	for range takers {
		go func() { got <- w.s.TakeSource(w.ctx, id, 1, at(time.Minute)) }()
	}
	taken := 0
	for range takers {
		if err := <-got; err == nil {
			taken++
		} else {
			w.wantConflict(err)
		}
	}
	w.equal(taken, 1)
}

func sourceStale(w *world) {
	id, _ := w.logged()
	w.wantConflict(w.s.TakeSource(w.ctx, id, 2, at(time.Minute)))
	w.wantConflict(w.s.TakeSource(w.ctx, "job_missing", 1, at(time.Minute)))
	w.settle(w.job(id), success(), at(time.Minute))
	w.wantConflict(w.s.TakeSource(w.ctx, id, 1, at(2*time.Minute)))
}

func sourceGone(w *world) {
	id, _ := w.logged()
	w.must(w.s.TakeSource(w.ctx, id, 1, at(time.Minute)))
	w.settle(w.job(id), success(), at(time.Minute))
	n, err := w.s.DeleteJobs(w.ctx, at(time.Hour), []string{id})
	w.must(err)
	w.equal(n, 1)
	w.must(w.s.ReturnSource(w.ctx, id, 1))
}
