package storetest

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/runnerhub/runnerhub/hub"
)

func raceTests() []test {
	return []test{
		{name: "each job is claimed once", run: raceClaims},
		{name: "of different decisions one is written", run: raceDecisions},
		{name: "the running cap is exact", run: raceMaxRunning},
		{name: "a canceled call writes nothing", run: raceCanceled},
	}
}

// raceClaims lets machines pull one queue the way the hub does it until it is empty.
func raceClaims(w *world) {
	const jobs, machines = 30, 8
	for range jobs {
		w.enqueue("")
	}
	key := hub.NewQueueKey(w.owner, "")
	var mu sync.Mutex
	claimed := map[string]int{}
	errs := make([]error, machines)
	together(machines, func(i int) {
		r := w.runner()
		errs[i] = func() error {
			for {
				head, err := w.s.ListQueued(w.ctx, key, nil, 3)
				if err != nil || len(head) == 0 {
					return err
				}
				q := head[i%len(head)]
				d, err := hub.Lease(q.Job, q.Payload, grant(q.Job, r), at(time.Second), w.pol)
				if err != nil {
					return err
				}
				switch err := w.s.Apply(w.ctx, change(d, at(time.Second))); {
				case errors.Is(err, hub.ErrConflict): // somebody was faster
				case err != nil:
					return err
				default:
					mu.Lock()
					claimed[q.Job.ID]++
					mu.Unlock()
				}
			}
		}()
	})
	for _, err := range errs {
		w.must(err)
	}
	w.equal(len(claimed), jobs)
	for id, n := range claimed {
		if n != 1 {
			w.Errorf("%s was claimed %d times", id, n)
		}
		w.equal(len(w.events(id)), 2)
	}
}

func raceDecisions(w *world) {
	for range 5 {
		p := w.enqueue("")
		job := w.start(w.lease(p.Job.ID, w.runner(), at(time.Second)), at(2*time.Second))
		now := at(time.Minute)
		settle, err := hub.Settle(job, p.Payload, proof(job), success(), now)
		w.must(err)
		release, err := hub.Release(job, proof(job), "", now)
		w.must(err)
		ask, err := hub.Cancel(job, p.Payload, "", now, w.pol)
		w.must(err)
		beat, err := hub.Heartbeat(job, p.Payload, proof(job), "", "", "", now, w.pol)
		w.must(err)
		all := []hub.Decision{settle, release, ask, beat, hub.Expire(job, p.Payload, true, now)}
		errs := make([]error, len(all))
		together(len(all), func(i int) { errs[i] = w.s.Apply(w.ctx, change(all[i], now)) })
		won := -1
		for i, err := range errs {
			if err != nil {
				w.wantConflict(err)
				continue
			}
			if won >= 0 {
				w.Fatalf("both %s and %s were written", all[won].Action, all[i].Action)
			}
			won = i
		}
		if won < 0 {
			w.Fatal("nothing was written")
		}
		w.equal(w.job(job.ID), all[won].Job)
	}
}

func raceMaxRunning(w *world) {
	const most = 3
	jobs := make([]hub.EnqueueParams, 12)
	for i := range jobs {
		jobs[i] = w.enqueue("")
	}
	var leased, refused atomic.Int32
	errs := make([]error, len(jobs))
	together(len(jobs), func(i int) {
		p := jobs[i]
		d, err := hub.Lease(p.Job, p.Payload, grant(p.Job, w.runner()), at(time.Second), w.pol)
		if err == nil {
			c := change(d, at(time.Second))
			c.MaxRunning = most
			err = w.s.Apply(w.ctx, c)
		}
		switch {
		case err == nil:
			leased.Add(1)
		case hub.CodeOf(err) == hub.QuotaExceeded:
			refused.Add(1)
		default:
			errs[i] = err
		}
	})
	for _, err := range errs {
		w.must(err)
	}
	w.equal(leased.Load(), int32(most))
	w.equal(refused.Load(), int32(len(jobs)-most))
}

func raceCanceled(w *world) {
	p := w.enqueue("")
	d, err := hub.Lease(p.Job, p.Payload, grant(p.Job, w.runner()), at(time.Second), w.pol)
	w.must(err)
	ctx, cancel := cancelled(w.ctx)
	defer cancel()
	if err := w.s.Apply(ctx, change(d, at(time.Second))); err == nil {
		w.Fatal("a canceled call was answered")
	}
	q := NewJob(w.owner, "")
	if _, _, err := w.s.Enqueue(ctx, q); err == nil {
		w.Fatal("a canceled call was answered")
	}
	w.equal(w.job(p.Job.ID), p.Job)
	_, err = w.s.GetJob(w.ctx, q.Job.ID)
	w.wantCode(err, hub.NotFound)
	w.apply(d, at(time.Second))
}
