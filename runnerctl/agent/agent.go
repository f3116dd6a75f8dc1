package agent

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/runnerhub/runnerhub/topology"
)

const (
	// closeTimeout bounds the removal of topologies when the runner ends.
	closeTimeout = 30 * time.Second
	// lastWords bounds what is still told to the hub after the runner was asked to end at once.
	lastWords = 10 * time.Second
)

// Agent is one runner. Make it with New, start it with Run, and ask it to end
// with Drain (finish what runs) or by ending Run's context (give it back at once).
type Agent struct {
	cfg    Config
	cfgErr error
	client Client
	logger *slog.Logger
	board  *board
	engine *engine
	guard  *guard
	spool  *spool

	leasing     context.Context // ended by Drain
	stopLeasing context.CancelCauseFunc
	hard        context.Context // the parent of every execution
	stopHard    context.CancelCauseFunc

	slots    chan struct{} // holds a value for each running attempt
	attempts sync.WaitGroup

	mu    sync.Mutex
	live  map[topology.Identity]bool
	fatal error // the first reason to end that is an error
}

// New makes a runner. A fault of cfg is returned by Run.
func New(cfg Config) *Agent {
	cfg, err := cfg.withDefaults()
	a := &Agent{
		cfg: cfg, cfgErr: err, client: cfg.Client, logger: cfg.Logger,
		board: &board{tell: cfg.StatusFn, slots: cfg.Slots},
		slots: make(chan struct{}, max(cfg.Slots, 1)),
		live:  map[topology.Identity]bool{},
	}
	a.guard = newGuard(cfg, a.board)
	a.leasing, a.stopLeasing = context.WithCancelCause(context.Background())
	a.hard, a.stopHard = context.WithCancelCause(context.Background())
	return a
}

// Drain asks the runner to end once its jobs have ended: it takes no new ones,
// and after Config.DrainTimeout gives back what still runs. Run returns then. It does not wait and may be called at any time, more than once.
func (a *Agent) Drain() { a.stopLeasing(topology.ErrDraining) }

// Run runs jobs until it is told to end or has to. When ctx ends, the running
// jobs are stopped and their leases given back at once.
//
// It returns nil after a drain, after ctx has ended, and with Config.Once after
// one job. It returns a *mcp.Error of code unauthenticated or permission_denied when
// the hub does not accept the runner, update_required when it does not speak its protocol, and ErrLocked
// when another process uses the spool. Trouble that may pass (the hub restarts, the
// engine is down) is no reason to end.
func (a *Agent) Run(ctx context.Context) error {
	if a.cfgErr != nil {
		return a.cfgErr
	}
	sp, err := openSpool(a.cfg.SpoolDir, a.cfg.spoolWrite)
	if err != nil {
		return err
	}
	lock, err := lockSpool(sp.dir)
	if err != nil {
		return err
	}
	defer lock.Close()
	a.spool = sp
	a.tidyCaches()
	if err := sp.addRunner(a.cfg.RunnerID); err != nil {
		a.logger.Warn("what this runner leaves could not be found by runnerctl gc once it is unpaired", "err", err)
	}
	hub := a.cfg.HubID
	if hub == "" {
		hub = sp.hubID()
	}
	a.engine = newEngine(a.cfg.Executor, a.cfg.RunnerID, hub, a.board, a.logger, a.liveAttempts)
	a.board.change(func(b *board) { b.hubID = hub })
	defer a.board.change(func(b *board) { b.stopped = true })

	defer context.AfterFunc(ctx, func() {
		a.stopLeasing(topology.ErrDraining)
		a.stopHard(topology.ErrDraining)
	})()
	return a.run(context.WithoutCancel(ctx))
}

// run starts the loops and ends them in order: leasing, the attempts, the rest.
func (a *Agent) run(ctx context.Context) error {
	background, stop := context.WithCancel(ctx)
	defer stop()
	var loops sync.WaitGroup
	a.guard.look(time.Now())
	recovered := a.recover(background) // before the engine's loop sweeps
	loops.Go(func() { a.engine.run(background) })
	loops.Go(func() { a.guard.run(background) })
	loops.Go(func() { a.drainLoop(background) })

	a.leaseLoop(a.leasing)
	a.board.change(func(b *board) { b.draining = true })
	a.farewell(ctx, false)
	a.attempts.Wait()
	// What an earlier process left gets a last chance; it stays in the spool otherwise.
	select {
	case <-recovered:
	case <-a.hard.Done():
	case <-time.After(lastWords):
	}
	stop()
	<-recovered
	loops.Wait()
	a.farewell(ctx, true)

	closing, cancel := context.WithTimeout(ctx, closeTimeout)
	defer cancel()
	if err := a.cfg.Executor.Close(closing); err != nil {
		a.logger.Warn("the engine's client did not close cleanly", "err", err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.fatal
}

// drainLoop gives running jobs back when a drain takes too long.
func (a *Agent) drainLoop(ctx context.Context) {
	select {
	case <-a.leasing.Done():
	case <-ctx.Done():
		return
	}
	a.board.change(func(b *board) { b.draining = true })
	if a.cfg.DrainTimeout <= 0 {
		return
	}
	if sleep(ctx, a.cfg.DrainTimeout) {
		a.logger.Warn("the drain took too long; giving back what still runs", "timeout", a.cfg.DrainTimeout)
		a.stopHard(topology.ErrDraining)
	}
}

// fail ends the runner with an error: at once when its leases are worth nothing
// any more (kill), else after what runs has finished.
func (a *Agent) fail(err error, kill bool) {
	a.mu.Lock()
	if a.fatal == nil {
		a.fatal = err
		a.logger.Error("the runner ends", "err", err)
	}
	a.mu.Unlock()
	a.stopLeasing(err)
	if kill {
		a.stopHard(topology.ErrStale)
	}
}

// unpaired is told that the hub does not accept the runner.
func (a *Agent) unpaired(err error) { a.fail(unpaired(err), true) }

// untilShutdown returns a context that ends a while after the runner was asked
// to end at once, for what should still be told to the hub then.
func (a *Agent) untilShutdown(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(parent)
	stop := context.AfterFunc(a.hard, func() {
		sleep(ctx, lastWords)
		cancel()
	})
	return ctx, func() {
		stop()
		cancel()
	}
}

func (a *Agent) liveAttempts() []topology.Identity {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := make([]topology.Identity, 0, len(a.live))
	for id := range a.live {
		out = append(out, id)
	}
	return out
}

func (a *Agent) setLive(id topology.Identity, live bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if live {
		a.live[id] = true
	} else {
		delete(a.live, id)
	}
}
