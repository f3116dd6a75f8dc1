package agent

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/runnerhub/runnerhub/topology"
)

const (
	probeTimeout = 20 * time.Second
	sweepTimeout = 2 * time.Minute
	probeEvery   = 5 * time.Minute // while all is well: capabilities change when an engine is updated
)

// engine knows whether this machine can run jobs. Work is taken only while it
// is ready: an engine answers and what an earlier process left behind is gone.
type engine struct {
	exec   topology.Executor
	runner string
	logger *slog.Logger
	board  *board
	// live names the attempts that run now: a sweep spares them.
	live func() []topology.Identity

	mu        sync.Mutex
	hub       string
	info      topology.Info
	up        bool
	setbacks  int           // jobs in a row that failed for the machine's sake
	changed   chan struct{} // closed at every change of what is above
	swept     chan struct{} // closed after the first sweep
	firstScan sync.Once
	kick      chan struct{} // holds a value: probe now
	pause     *backoff
	setback   *backoff
}

func newEngine(exec topology.Executor, runner, hub string, b *board, logger *slog.Logger, live func() []topology.Identity) *engine {
	return &engine{
		exec: exec, runner: runner, hub: hub, board: b, logger: logger, live: live,
		changed: make(chan struct{}), swept: make(chan struct{}), kick: make(chan struct{}, 1),
		pause:   newBackoff(time.Second, 15*time.Second),
		setback: newBackoff(2*time.Second, 2*time.Minute),
	}
}

// run probes until ctx ends: at once, again when it failed, when a job found the
// engine gone, and from time to time.
func (e *engine) run(ctx context.Context) {
	clean := "" // the hub whose leftovers were swept since the engine came up
	for ctx.Err() == nil {
		info, err := e.probe(ctx)
		hub := e.hubID()
		if err == nil && hub != "" && clean != hub {
			if err = e.sweep(ctx, hub); err == nil {
				clean = hub
			}
		}
		if ctx.Err() != nil {
			return
		}
		next := probeEvery
		switch {
		case err != nil:
			clean = ""
			next = e.pause.next(nil)
			e.down(err.Error())
		case hub == "": // the first answer of the hub will tell it
			e.board.change(func(b *board) { b.engine = info.Engine })
		default:
			e.pause.reset()
			if !sleep(ctx, e.rest()) {
				return
			}
			e.ready(info)
		}
		t := time.NewTimer(next)
		select {
		case <-t.C:
		case <-e.kick:
			if e.isDown() {
				clean = ""
			}
		case <-ctx.Done():
		}
		t.Stop()
	}
}

func (e *engine) probe(ctx context.Context) (topology.Info, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	return e.exec.Probe(ctx)
}

func (e *engine) sweep(ctx context.Context, hub string) error {
	ctx, cancel := context.WithTimeout(ctx, sweepTimeout)
	defer cancel()
	found, err := e.exec.Sweep(ctx, hub, e.runner, e.live())
	if found != (topology.Leaks{}) {
		e.logger.Warn("removed what an earlier run had left behind",
			"containers", found.Containers, "networks", found.Networks, "volumes", found.Volumes)
	}
	if err != nil {
		return fmt.Errorf("cannot remove what an earlier run left behind: %w", err)
	}
	e.firstScan.Do(func() { close(e.swept) })
	return nil
}

// rest is how long to hold off after jobs that failed for the machine's sake,
// although the engine answers: each of them costs its job an attempt.
func (e *engine) rest() time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.setbacks == 0 || e.up {
		return 0
	}
	return e.setback.next(nil)
}

func (e *engine) ready(info topology.Info) {
	e.mu.Lock()
	was := e.up
	e.up, e.info = true, info
	if !was {
		e.signal()
	}
	e.mu.Unlock()
	if !was {
		e.logger.Info("ready to run jobs", "engine", info.Engine, "endpoint", info.Endpoint, "capabilities", info.Capabilities)
	}
	e.board.change(func(b *board) { b.engine, b.trouble = info.Engine, "" })
}

func (e *engine) down(why string) {
	e.mu.Lock()
	was := e.up
	e.up = false
	if was {
		e.signal()
	}
	e.mu.Unlock()
	e.board.change(func(b *board) {
		if b.trouble != why {
			e.logger.Error("this machine cannot run jobs now", "err", why)
		}
		b.engine, b.trouble = "", why
	})
}

// failed tells that a job failed for the machine's sake; nothing is taken until
// the engine has been looked at and a while has passed.
func (e *engine) failed(why string) {
	e.mu.Lock()
	e.setbacks++
	e.mu.Unlock()
	e.down(why)
	e.probeNow()
}

// worked tells that a job ran, whatever it came to.
func (e *engine) worked() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.setbacks = 0
	e.setback.reset()
}

func (e *engine) probeNow() {
	select {
	case e.kick <- struct{}{}:
	default:
	}
}

// signal wakes everybody who waits for a change. Callers hold the lock.
func (e *engine) signal() {
	close(e.changed)
	e.changed = make(chan struct{})
}

// state is what the engine is now, and a channel that is closed when that changes.
func (e *engine) state() (info topology.Info, up bool, changed <-chan struct{}) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.info, e.up, e.changed
}

func (e *engine) isDown() bool {
	_, up, _ := e.state()
	return !up
}

func (e *engine) hubID() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.hub
}

// setHub is told the hub's id with each of its answers; it is true if that is news.
func (e *engine) setHub(id string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if id == "" || id == e.hub {
		return false
	}
	e.hub = id
	e.probeNow()
	return true
}
