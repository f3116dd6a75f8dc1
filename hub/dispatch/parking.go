package dispatch

import (
	"context"
	"errors"
	"time"
)

// Parking lets a held call leave the stack that it came on. A call comes to Wait through many layers, and Go does not give back a stack
// that deep as long as somebody stands on it: each agent that waits would hold 64 KiB. With a Parking in its context, Wait returns
// ErrParked instead of waiting; whoever gave it then waits in Await, near the stack's beginning, and makes the same call again.
//
// It is for one call at a time.
type Parking struct {
	ctx   context.Context // outlives each time that the call is made
	until time.Time       // when the whole wait is over; set when the call is parked first
	held  *parked
}

// ErrParked is the error of a call that is to be made again after Parking.Await. No caller of the hub's is to see it.
var ErrParked = errors.New("the call waits elsewhere")

// parked is what a held call waits for.
type parked struct {
	hold    *hold
	wake    <-chan struct{}
	enough  func() bool // whether there is an answer now
	release func()
}

type parkingKey struct{}

// WithParking is ctx for a call that may be parked.
func WithParking(ctx context.Context) (context.Context, *Parking) {
	p := &Parking{ctx: ctx}
	return context.WithValue(ctx, parkingKey{}, p), p
}

func parkingFrom(ctx context.Context) *Parking {
	p, _ := ctx.Value(parkingKey{}).(*Parking)
	return p
}

// rest is what is left of a wait; all of it, unless the call was parked before.
func (p *Parking) rest(wait time.Duration) time.Duration {
	if p == nil || p.until.IsZero() {
		return wait
	}
	return max(0, min(wait, time.Until(p.until)))
}

// park takes over what a call holds, for the rest of its wait. It is false where the call must wait by itself.
func (p *Parking) park(wait time.Duration, held *parked) bool {
	if p == nil || isDraining(held.hold.draining) {
		return false
	}
	if p.until.IsZero() {
		p.until = time.Now().Add(wait)
	}
	p.held = held
	return true
}

// Parked says whether the call is to be made again.
func (p *Parking) Parked() bool { return p.held != nil }

// Await returns when the call, made again, has an answer: what it waited for is there, its time is over, its caller has gone, or the
// hub drains.
func (p *Parking) Await() {
	held := p.held
	p.held = nil
	defer held.release()
	for held.hold.wait(held.wake) == nil {
		// A look needs a deep stack; it takes one of its own, which goes with it.
		enough := make(chan bool, 1)
		go func() {
			defer func() {
				if recover() != nil { // the same look fails again in the call, where somebody is told
					enough <- true
				}
			}()
			enough <- held.enough()
		}()
		if <-enough {
			return
		}
	}
}
