package storetest

import (
	"context"
	"errors"
	"time"

	"github.com/runnerhub/runnerhub/hub"
)

func storeTests() []test {
	return []test{
		{name: "an id of its own", run: storeHubID, alone: true},
		{name: "the clock", run: storeNow},
		{name: "ping", run: storePing, alone: true},
		{name: "hints", run: storeHints, alone: true},
		{name: "listening ends", run: storeListen, alone: true},
		{name: "closed", run: storeClosed, alone: true},
	}
}

func cancelled(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	return ctx, cancel
}

func storeHubID(w *world) {
	id, err := w.s.HubID(w.ctx)
	w.must(err)
	if id == "" {
		w.Fatal("the hub has no id")
	}
	again, err := w.s.HubID(w.ctx)
	w.must(err)
	w.equal(again, id)
}

func storeNow(w *world) {
	a, err := w.s.Now(w.ctx)
	w.must(err)
	b, err := w.s.Now(w.ctx)
	w.must(err)
	if b.Before(a) || a.Location() != time.UTC || !a.Truncate(time.Microsecond).Equal(a) {
		w.Fatalf("%v and then %v", a, b)
	}
	if d := time.Since(a).Abs(); d > time.Hour {
		w.Fatalf("the store's clock is %v off", d)
	}
}

func storePing(w *world) {
	w.must(w.s.Ping(w.ctx))
	ctx, cancel := cancelled(w.ctx)
	defer cancel()
	if err := w.s.Ping(ctx); err == nil {
		w.Fatal("a canceled ping was answered")
	}
}

// storeHints: whether they arrive is for the driver's own tests; sending them never hurts.
func storeHints(w *world) {
	w.must(w.s.Notify(w.ctx, nil))
	w.must(w.s.Notify(w.ctx, []hub.Hint{{Queue: "user:1/*"}, {JobID: "job_1"}, {}}))
	many := make([]hub.Hint, 1000)
	for i := range many {
		many[i] = hub.Hint{Queue: hub.NewQueueKey("user:1", NewID("rnr-")), JobID: NewID("job_")}
	}
	w.must(w.s.Notify(w.ctx, many))
}

func storeListen(w *world) {
	ctx, cancel := context.WithCancel(w.ctx)
	done := make(chan error, 1)
	go func() { done <- w.s.Listen(ctx, func(hub.Hint) {}) }()
	cancel()
	if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
		w.Fatalf("Listen: %v", err)
	}
}

func storeClosed(w *world) {
	p := w.enqueue("")
	w.must(w.s.Close())
	_, err := w.s.GetJob(w.ctx, p.Job.ID)
	w.wantCode(err, hub.Unavailable)
	_, _, err = w.s.Enqueue(w.ctx, NewJob(w.owner, ""))
	w.wantCode(err, hub.Unavailable)
	w.wantCode(w.s.Ping(w.ctx), hub.Unavailable)
	w.must(w.s.Close()) // a second time is nothing
}
