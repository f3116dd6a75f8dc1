package postgres

import (
	"context"
	"sync/atomic"
	"time"
)

// Leases live by the database's clock, since hubs' own clocks differ. Asking it
// on every call would cost a round trip, so that each hub estimates how far the database's
// clock is ahead of its own monotonic one, and looks again now and then.

const (
	clockSamples = 5
	// A step back that is smaller than this is the estimate getting better and not the clock being set.
	clockSlew = time.Second
	// Wall and monotonic clock that part by more than this mean that the machine slept or its clock was set.
	clockJump = time.Second
	// Two clocks part by one in so many: 100 µs a second are more than quartz does.
	clockDrift = 10_000
)

// anchor says what the database's clock showed at a moment of the local clock.
type anchor struct {
	local    time.Time // carries a monotonic reading
	wall     time.Time // the same without one
	database time.Time
	trip     time.Duration // of the sample; half of it is the most that the estimate is off by
}

func newAnchor(local, database time.Time) *anchor {
	return &anchor{local: local, wall: local.Round(0), database: database}
}

type clock struct {
	local  func() time.Time
	anchor atomic.Pointer[anchor]
	last   atomic.Int64 // microseconds since the epoch that were told last
}

// now tells the database's time. jumped says that the machine seems to have
// slept, which the monotonic clock does not show.
func (c *clock) now() (t time.Time, jumped bool) {
	a := c.anchor.Load()
	local := c.local()
	mono := local.Sub(a.local)
	wall := local.Round(0).Sub(a.wall)
	us := a.database.Add(mono).UnixMicro()
	for {
		last := c.last.Load()
		// Time does not run backwards for a caller because a later sample was better.
		if us < last && last-us < clockSlew.Microseconds() {
			us = last
		}
		if us == last || c.last.CompareAndSwap(last, us) {
			return time.UnixMicro(us).UTC(), (wall - mono).Abs() > clockJump
		}
	}
}

// syncClock takes the sample with the shortest round trip, whose error is at
// most half of that, as the new anchor.
func (s *Store) syncClock(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.opts.callTimeout())
	defer cancel()
	// One connection for all samples: waiting for a free one is no part of a round trip.
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	var best *anchor
	for range clockSamples {
		var db time.Time
		before := s.clock.local()
		if err := conn.QueryRow(ctx, selectClock).Scan(&db); err != nil {
			return err
		}
		after := s.clock.local()
		if trip := after.Sub(before); best == nil || trip < best.trip {
			best = newAnchor(before.Add(trip/2), db)
			best.trip = trip
		}
	}
	if old := s.clock.anchor.Load(); old == nil || !old.holds(best) {
		s.clock.anchor.Store(best)
	}
	return nil
}

// holds says that a is still the better estimate: a sample from a busy moment does not undo one from a quiet
// one, unless the two cannot both be true, because a clock was set or stood still.
func (a *anchor) holds(sample *anchor) bool {
	age := sample.local.Sub(a.local)
	if (sample.wall.Sub(a.wall) - age).Abs() > clockJump {
		return false // or the jump would be seen for ever
	}
	off := a.trip/2 + age.Abs()/clockDrift
	return off < sample.trip/2 && a.database.Add(age).Sub(sample.database).Abs() <= off+sample.trip/2
}

// Now implements hub.Store. It costs no round trip, save when the machine slept.
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	t, jumped := s.clock.now()
	if !jumped {
		return t, nil
	}
	if err := s.syncClock(ctx); err != nil {
		return time.Time{}, failure(ctx, "read the clock", err)
	}
	t, _ = s.clock.now()
	return t, nil
}

// keepClock looks at the database's clock on every tick. What it knew stays good while the database
// is away: clocks drift apart by milliseconds in a minute.
func (s *Store) keepClock(ctx context.Context, tick <-chan time.Time) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick:
			if err := s.syncClock(ctx); err != nil && ctx.Err() == nil {
				s.opts.Log.WarnContext(ctx, "the database's clock could not be read", "error", err)
			}
		}
	}
}
