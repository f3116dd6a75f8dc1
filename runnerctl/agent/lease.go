package agent

import (
	"context"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/runnerhub/runnerhub/mcp"
)

const (
	// holdLeast and holdMost bound how long the hub is asked to hold a poll. The
	// spread keeps runners that were started together apart.
	holdLeast = 20 * time.Second
	holdMost  = mcp.MaxWait * time.Millisecond
	// reallyHeld is when a poll without work counts as held: the hub is well.
	reallyHeld = time.Second
	// presenceEvery is how often a runner that takes no work tells that it is there.
	presenceEvery = 15 * time.Second
	// engineFirst is how long the engine has to answer before the hub is told that there is none.
	engineFirst = 2 * time.Second
)

// leaseLoop fills the slots with jobs until ctx ends, or with Config.Once one of them once.
func (a *Agent) leaseLoop(ctx context.Context) {
	for {
		select {
		case a.slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		lease, hubID := a.nextLease(ctx)
		if lease == nil {
			<-a.slots
			return
		}
		a.start(lease, hubID)
		if a.cfg.Once {
			return
		}
	}
}

// nextLease waits for the engine and then for work; it is nil only when ctx has ended.
func (a *Agent) nextLease(ctx context.Context) (*mcp.Lease, string) {
	pause := hubBackoff()
	for a.awaitEngine(ctx) {
		// A fresh id for each new lease; it stays the same over retries, so that a
		// lease whose answer was lost is not lost.
		args := a.leaseArgs()
		args.RequestID = uuid.NewString()
		args.WaitMS = (holdLeast + rand.N(holdMost-holdLeast+1)).Milliseconds()
		begin := time.Now()
		res, ok := a.poll(ctx, args, pause)
		if !ok {
			continue
		}
		if res.Lease != nil {
			return res.Lease, res.HubID
		}
		if time.Since(begin) >= reallyHeld {
			pause.reset()
		}
		pause.wait(ctx, nil)
	}
	return nil, ""
}

// poll asks for one lease until the hub has answered. It is false when it gave
// up: ctx has ended, the engine is gone or the owner's policy is another.
func (a *Agent) poll(ctx context.Context, args mcp.LeaseJobArgs, pause *backoff) (mcp.LeaseJobResult, bool) {
	held, cancel := context.WithCancel(ctx)
	defer cancel()
	_, up, changed := a.engine.state()
	open, moved := a.guard.state()
	if !up || !open {
		return mcp.LeaseJobResult{}, false
	}
	gone := make(chan struct{})
	defer close(gone)
	go func() { // ends with this call
		select {
		case <-changed:
			cancel()
		case <-moved:
			cancel()
		case <-gone:
		}
	}()
	for {
		res, err := a.lease(held, args)
		switch {
		case err == nil:
			a.heard(res)
			return res, true
		case held.Err() != nil:
			a.withdraw(args)
			return res, false
		}
		a.unheard(err)
		if !pause.wait(held, err) {
			return res, false
		}
	}
}

// withdraw ends a poll that was cut off while it was held. The hub may have
// given out a lease in that very moment: the same request id tells, and the lease is given back.
func (a *Agent) withdraw(args mcp.LeaseJobArgs) {
	ctx, cancel := context.WithTimeout(context.Background(), lastWords/2)
	defer cancel()
	args.WaitMS, args.Draining, args.Status = 0, true, a.board.forHub()
	res, err := a.lease(ctx, args)
	if err != nil || res.Lease == nil {
		return
	}
	a.logger.Info("giving back a lease that came too late", "job", res.Lease.JobID)
	_, _ = deliver(ctx, a.client, proofOf(res.Lease), released("the runner takes no work now"), a.logger)
}

// awaitEngine waits until jobs can be run and the machine's owner lets them; meanwhile the hub is told that the
// runner is there and why it takes no work. It is false when ctx has ended.
func (a *Agent) awaitEngine(ctx context.Context) bool {
	wait := engineFirst
	if a.engine.hubID() == "" {
		wait = 0 // the hub's id is needed before the engine can be ready
	}
	pause := hubBackoff()
	for ctx.Err() == nil {
		_, up, changed := a.engine.state()
		open, moved := a.guard.state()
		if up && open {
			return true
		}
		t := time.NewTimer(wait)
		select {
		case <-changed:
		case <-moved:
		case <-ctx.Done():
		case <-t.C:
			wait = presenceEvery
			if err := a.presence(ctx); err != nil && ctx.Err() == nil {
				a.unheard(err)
				wait = pause.next(err)
			}
		}
		t.Stop()
	}
	return false
}

// presence tells the hub that the runner is there and takes no work. One that has nothing to say yet is starting: without
// a word it would look as if it had been told to stop.
func (a *Agent) presence(ctx context.Context) error {
	args := a.leaseArgs()
	if args.Status == nil || args.Status.Text == "" {
		args.Status = &mcp.RunnerStatus{Text: "it is starting", Level: "warning"}
	}
	return a.tell(ctx, args)
}

// tell tells the hub how the runner is, and asks for nothing.
func (a *Agent) tell(ctx context.Context, args mcp.LeaseJobArgs) error {
	args.RequestID, args.Draining = uuid.NewString(), true
	res, err := a.lease(ctx, args)
	if err == nil {
		a.heard(res)
	}
	return err
}

// farewell tells the hub once that the runner takes no more work, or is leaving, unless the hub does not want to hear
// it. An older hub refuses the second word and counts the runner as draining until it is stale.
func (a *Agent) farewell(ctx context.Context, leaving bool) {
	a.mu.Lock()
	mute := a.fatal != nil
	a.mu.Unlock()
	if mute {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, lastWords/2)
	defer cancel()
	args := a.leaseArgs()
	args.Leaving = leaving
	_ = a.tell(ctx, args)
}

// heard carries out what comes with every answer.
func (a *Agent) heard(res mcp.LeaseJobResult) {
	if a.engine.setHub(res.HubID) {
		if err := a.spool.setHubID(res.HubID); err != nil {
			a.logger.Warn("the hub's id cannot be remembered", "err", err)
		}
	}
	a.hubIs(nil)
	a.board.change(func(b *board) { b.polled, b.hubID = true, a.engine.hubID() })
	switch {
	case slices.Contains(res.Directives, mcp.DirectiveUnpaired):
		a.unpaired(nil)
	case slices.Contains(res.Directives, mcp.DirectiveUpdateRequired):
		a.fail(updateRequired(res.ServerVersion), false)
	case slices.Contains(res.Directives, mcp.DirectiveDrain):
		a.logger.Info("the hub asks the runner to drain")
		a.Drain()
	}
}

// unheard carries out what a failed poll means.
func (a *Agent) unheard(err error) {
	switch {
	case refused(err), codeOf(err) == mcp.CodeNotFound: // a token of another kind does not even see the tool
		a.unpaired(err)
	case codeOf(err) == mcp.CodeUpdateRequired:
		a.fail(err, false)
	default:
		a.hubIs(err)
	}
}

// hubIs notes whether the hub answers, and logs when that changes: err is why it does not.
func (a *Agent) hubIs(err error) {
	if codeOf(err) == mcp.CodeDraining { // its successor answers the next call
		return
	}
	a.board.change(func(b *board) {
		switch {
		case err == nil && b.hubErr != nil:
			a.logger.Info("the hub answers again", "after", time.Since(b.hubGone).Round(time.Second).String())
		case err != nil && b.hubErr == nil:
			b.hubGone = time.Now()
			a.logger.Warn("the hub does not answer; trying on", "err", err)
		}
		b.hubErr = err
	})
}

func (a *Agent) leaseArgs() mcp.LeaseJobArgs {
	info, _, _ := a.engine.state()
	args := mcp.LeaseJobArgs{
		Capabilities: info.Capabilities, OS: info.OS, Arch: info.Arch, Version: mcp.Version, Protocol: mcp.Protocol,
		Slots: a.cfg.Slots, FreeSlots: a.board.free(), Status: a.board.forHub(),
	}
	if args.OS == "" {
		args.OS, args.Arch = runtime.GOOS, runtime.GOARCH
	}
	return args
}
