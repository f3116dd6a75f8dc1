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
	// Half of a round trip each, and what clocks drift apart meanwhile: milliseconds, unless the machine is busy.
	off1, off2 := ahead.clock.anchor.Load().trip/2+time.Millisecond, behind.clock.anchor.Load().trip/2+time.Millisecond
	best := time.Hour
	for range 5 {
		var db time.Time
		a, _ := ahead.Now(t.Context())
		if err := behind.pool.QueryRow(t.Context(), selectClock).Scan(&db); err != nil {
			t.Fatal(err)
		}
		b, _ := behind.Now(t.Context())
		// a ≤ db ≤ b, save for the estimates' errors.
		if a.Sub(db) > off1 || db.Sub(b) > off2 {
			t.Errorf("ahead says %s (± %s), the database %s, behind %s (± %s)", a, off1, db, b, off2)
		}
		if a.Location() != time.UTC || !a.Equal(a.Truncate(time.Microsecond)) {
			t.Errorf("%s is not UTC with microseconds", a)
		}
		best = min(best, b.Sub(a))
	}
	t.Logf("the hubs' estimates are off by %s and %s at most; asked one after the other, with a round trip between, "+
		"they were %s apart", off1, off2, best)
	if off1 > time.Minute || off2 > time.Minute { // far from the hour that the clocks are off by
		t.Errorf("a round trip took %s", 2*max(off1, off2))
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
	wrong := *s.clock.anchor.Load()
	wrong.trip, wrong.database = 0, wrong.database.Add(-time.Hour) // the database's clock was set
	s.clock.anchor.Store(&wrong)
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
	if s.clock.anchor.Load() == &wrong {
		t.Error("the anchor is still the wrong one")
	}
}

func TestBetterSampleHolds(t *testing.T) {
	t.Parallel()
	local := time.Now()
	sample := func(after, off, trip time.Duration) *anchor {
		a := newAnchor(local.Add(after), at(0).Add(after+off))
		a.trip = trip
		return a
	}
	quiet := sample(0, 0, time.Millisecond)
	jumped := sample(time.Second, 0, 20*time.Millisecond)
	jumped.wall = jumped.wall.Add(time.Hour)
	for name, c := range map[string]struct {
		sample *anchor
		holds  bool
	}{
		"busy, the wall clock was set":  {jumped, false},
		"a quieter moment":              {sample(time.Second, 0, time.Millisecond/2), false},
		"a busy moment":                 {sample(time.Second, 9*time.Millisecond, 20*time.Millisecond), true},
		"busy, and the clock was set":   {sample(time.Second, time.Hour, 20*time.Millisecond), false},
		"busy, but so much later":       {sample(10*time.Minute, 0, 20*time.Millisecond), false},
		"busy, a local clock set back":  {sample(-time.Second, 0, 20*time.Millisecond), true},
		"busy, the machine has slept":   {sample(time.Second, time.Minute, 20*time.Millisecond), false},
		"as quiet, which is new enough": {sample(time.Second, 0, time.Millisecond), false},
	} {
		if got := quiet.holds(c.sample); got != c.holds {
			t.Errorf("%s: %v", name, got)
		}
	}
}
