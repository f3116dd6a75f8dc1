package postgres

import (
	"context"
	"testing"
	"time"
)

// Two hubs whose own clocks are an hour apart and wrong agree with the database and with each other.
func TestClocksAnHourApart(t *testing.T) {
	t.Parallel()
	url := newDatabase(t)
	off := func(d time.Duration) Options {
		return Options{MaxConns: 2, Now: func() time.Time { return time.Now().Add(d) }}
	}
	ahead, behind := openAt(t, url, off(time.Hour)), openAt(t, url, off(-time.Hour))
	const close = 50 * time.Millisecond // milliseconds at rest; the machine that tests is shared
	var best time.Duration = time.Hour
	for range 5 {
		var db time.Time
		a, _ := ahead.Now(t.Context())
		if err := behind.pool.QueryRow(t.Context(), selectClock).Scan(&db); err != nil {
			t.Fatal(err)
		}
		b, _ := behind.Now(t.Context())
		// a ≤ db ≤ b, save for the estimates' errors.
		if a.Sub(db) > close || db.Sub(b) > close {
			t.Errorf("ahead says %s, the database %s, behind %s", a, db, b)
		}
		if a.Location() != time.UTC || !a.Equal(a.Truncate(time.Microsecond)) {
			t.Errorf("%s is not UTC with microseconds", a)
		}
		best = min(best, b.Sub(a))
	}
	t.Logf("the two, asked one after the other with a round trip between, were at best %s apart", best)
	if best > close {
		t.Errorf("the two are %s apart", best)
	}
}

func TestNowNeedsNoRoundTrip(t *testing.T) {
	t.Parallel()
	s := open(t)
	// All connections are taken, so that a round trip would wait for ever.
	for range s.pool.Config().MaxConns {
		c, err := s.pool.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Release()
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var last time.Time
	for range 1000 {
		now, err := s.Now(ctx)
		if err != nil || now.Before(last) {
			t.Fatalf("%s after %s, error %v", now, last, err)
		}
		last = now
	}
}

// While a machine sleeps its monotonic clock may stand still. The hub sees that by its wall clock, and looks again.
func TestClockAfterSleep(t *testing.T) {
	t.Parallel()
	s := open(t)
	a := *s.clock.anchor.Load()
	a.wall, a.database = a.wall.Add(-time.Hour), a.database.Add(-time.Hour)
	s.clock.anchor.Store(&a)
	s.clock.last.Store(0)
	var db time.Time
	if err := s.pool.QueryRow(t.Context(), selectClock).Scan(&db); err != nil {
		t.Fatal(err)
	}
	now, err := s.Now(t.Context())
	if err != nil || now.Before(db.Add(-time.Minute)) {
		t.Errorf("the hub says %s and the database %s, error %v", now, db, err)
	}
}

func TestClockDoesNotRunBackwards(t *testing.T) {
	t.Parallel()
	local := time.Now()
	c := clock{local: func() time.Time { return local }}
	set := func(db time.Time) { c.anchor.Store(newAnchor(local, db)) }
	tell := func() time.Time { now, _ := c.now(); return now }
	set(at(10))
	if got := tell(); !got.Equal(at(10)) {
		t.Fatal(got)
	}
	set(at(10).Add(-5 * time.Millisecond)) // a better sample
	if got := tell(); !got.Equal(at(10)) {
		t.Errorf("%s after %s", got, at(10))
	}
	local = local.Add(6 * time.Millisecond)
	if got, want := tell(), at(10).Add(time.Millisecond); !got.Equal(want) {
		t.Errorf("%s, want %s", got, want)
	}
	set(at(-3600)) // the database's clock was set: it is the truth
	if got := tell(); !got.Equal(at(-3600)) {
		t.Errorf("%s, want %s", got, at(-3600))
	}
}

func TestClockIsReadAgain(t *testing.T) {
	t.Parallel()
	s := open(t)
	before := s.clock.anchor.Load()
	ctx, cancel := context.WithCancel(t.Context())
	tick, done := make(chan time.Time), make(chan struct{})
	go func() {
		defer close(done)
		s.keepClock(ctx, tick)
	}()
	tick <- time.Time{}
	tick <- time.Time{} // taken only after the first was dealt with
	cancel()
	<-done
	if s.clock.anchor.Load() == before {
		t.Error("the anchor is still the first")
	}
}
