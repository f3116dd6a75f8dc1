package dispatch

import (
	"context"
	"errors"
	"time"
)

// hold is one held call: it ends with its wait, its context or the hub's drain,
// and looks again by itself every BackupPoll, in case a wake-up was lost.
type hold struct {
	ctx      context.Context
	draining <-chan struct{}
	end      *time.Timer
	poll     *time.Ticker
	every    time.Duration
}

// errWaited ends a wait that is over.
var errWaited = errors.New("the wait is over")

// hold starts a held call of at most MaxWait.
func (s *Service) hold(ctx context.Context, wait time.Duration) *hold {
	return &hold{
		ctx: ctx, draining: s.draining,
		end: time.NewTimer(max(0, min(wait, s.maxWait))), poll: time.NewTicker(s.policy.BackupPoll),
		every: s.policy.BackupPoll,
	}
}

func (h *hold) stop() {
	h.end.Stop()
	h.poll.Stop()
}

// within asks for the next look no later than after d.
func (h *hold) within(d time.Duration) { h.poll.Reset(min(max(d, time.Millisecond), h.every)) }

// wait returns nil when it is time to look again, errWaited, a Draining error, or the context's.
func (h *hold) wait(wake <-chan struct{}) error {
	if isDraining(h.draining) {
		return errDraining()
	}
	select {
	case <-wake:
		return nil
	case <-h.poll.C:
		return nil
	case <-h.end.C:
		return errWaited
	case <-h.draining:
		return errDraining()
	case <-h.ctx.Done():
		return ended(h.ctx)
	}
}
