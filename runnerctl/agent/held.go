package agent

import (
	"context"
	"sync"
	"time"
)

// held is a lease that is being kept.
type held struct {
	ctx  context.Context // ended when the attempt is to stop
	stop context.CancelCauseFunc

	keeper   *keeper
	door     *door
	free     func()
	deadline *time.Timer // nil for none
	life     context.Context
	endLife  context.CancelFunc
	loops    sync.WaitGroup
}

// holdLease makes the keeper of the attempt's lease. All times count on the
// monotonic clock: what this machine's calendar says does not matter. The hub gives the attempt up in remaining, if that is
// not 0.
func (t *attempt) holdLease(free func(), remaining time.Duration) *held {
	h := &held{free: free}
	h.ctx, h.stop = context.WithCancelCause(t.a.hard)
	h.life, h.endLife = context.WithCancel(context.Background())
	t.keeper = newKeeper(t.a.client, t.lease, h.stop, t.logger, t.a.unpaired, t.a.hubIs)
	t.door = newDoor(t.a.cfg.Execs, t.lease.LogURL, t.logger)
	t.keeper.asked = t.door.take
	h.keeper, h.door = t.keeper, t.door
	if remaining > 0 {
		h.deadline = time.AfterFunc(remaining, t.keeper.lose)
	}
	return h
}

// renew starts the heartbeats.
func (h *held) renew() {
	h.loops.Go(func() { h.keeper.hold(h.life) })
	h.loops.Go(func() { h.keeper.tell(h.life) })
}

// settled tells that nobody wants heartbeats any more and that the slot is free.
func (h *held) settled() {
	h.endLife()
	h.free()
}

// end waits for the keeper.
func (h *held) end() {
	h.endLife()
	h.door.close()
	h.loops.Wait()
	if h.deadline != nil {
		h.deadline.Stop()
	}
	h.stop(nil)
}
