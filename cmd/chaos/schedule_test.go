//go:build linux

package main

import (
	"math/rand/v2"
	"strconv"
	"time"
)

// faultKind names what is done.
type faultKind string

const (
	killHub       faultKind = "kill -9 a hub"
	freezeHub     faultKind = "freeze a hub"
	killRunner    faultKind = "kill -9 a runner"
	freezeRunner  faultKind = "freeze a runner"
	retireRunner  faultKind = "stop and start a runner"
	stopDatabase  faultKind = "stop and start PostgreSQL"
	crashDatabase faultKind = "crash PostgreSQL"
	cutFront      faultKind = "cut connections to hubs"
	delayFront    faultKind = "delay connections to hubs"
	halfFront     faultKind = "half-open connections to hubs"
	cutStore      faultKind = "cut connections to the store"
	delayStore    faultKind = "delay connections to the store"
	halfStore     faultKind = "half-open connections to the store"
	fillVolume    faultKind = "fill the log volume"
)

// fault is something to do at a moment, to a part, for a while.
type fault struct {
	kind   faultKind
	at     time.Duration // after the beginning
	target int           // number of the hub or runner
	lasts  time.Duration
	pick   uint64 // seed of what else is left to chance
}

// bag holds the faults of about twenty seconds, the frequent ones more than once. Runners die in threes.
var bag = []faultKind{
	killHub, killHub, freezeHub, killRunner, killRunner, killRunner, freezeRunner, freezeRunner, freezeRunner, retireRunner,
	stopDatabase, crashDatabase, cutFront, delayFront, halfFront, cutStore, delayStore, halfStore, fillVolume,
}

// newSchedule draws the faults of a run from its seed alone. Each bag is emptied in a random order, so that every kind
// of fault happens in every run that is long enough.
func newSchedule(o options, database bool) []fault {
	r := rand.New(rand.NewPCG(o.seed, 0xfa17))
	busy := map[string]time.Duration{} // part → when it is whole again
	var out []fault
	at := time.Second
	for {
		for _, i := range r.Perm(len(bag)) {
			f := draw(r, bag[i], o)
			f.at = at
			at += o.gap/2 + rand64(r, o.gap)
			if at > o.duration {
				return out
			}
			part, exists := f.part(database, o)
			if exists && busy[part] <= f.at {
				busy[part] = f.at + f.lasts + f.rest()
				out = append(out, f)
			}
		}
	}
}

// draw decides what a fault of a kind is like.
func draw(r *rand.Rand, k faultKind, o options) fault {
	f := fault{kind: k, pick: r.Uint64()}
	s := func(least, more time.Duration) { f.lasts = least + rand64(r, more) }
	switch k {
	case killHub:
		s(200*time.Millisecond, 2*time.Second)
	case killRunner, retireRunner:
		s(100*time.Millisecond, time.Second)
	case freezeHub, freezeRunner: // past the end of every lease
		s(leaseTTL+time.Second, leaseTTL/2)
	case stopDatabase, crashDatabase:
		s(500*time.Millisecond, 2*time.Second)
	default:
		s(time.Second, 3*time.Second)
	}
	n := o.hubs
	if k == killRunner || k == freezeRunner || k == retireRunner {
		n = o.runners
	}
	f.target = r.IntN(n)
	return f
}

// part is what the fault breaks, of which it has the sole use. It is false where there is no such part: a single hub
// has its store inside.
func (f fault) part(database bool, o options) (string, bool) {
	n := strconv.Itoa(f.target)
	switch f.kind {
	case killHub:
		return "hub-" + n, true
	case freezeHub: // with one hub that would be a pause of everything
		return "hub-" + n, o.hubs > 1
	case killRunner, freezeRunner, retireRunner:
		return "runner-" + n, true
	case stopDatabase, crashDatabase:
		return "postgres", database
	case cutFront, delayFront, halfFront:
		return "front", true
	case cutStore, delayStore, halfStore:
		return "store-" + n, database
	default:
		return "volume", true
	}
}

// rest is how long the part is left alone afterwards, so that something can happen in between.
func (f fault) rest() time.Duration {
	if f.kind == stopDatabase || f.kind == crashDatabase {
		return 5 * time.Second
	}
	return time.Second
}

func rand64(r *rand.Rand, below time.Duration) time.Duration {
	return time.Duration(r.Int64N(int64(below)))
}
