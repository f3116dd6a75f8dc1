package attempt

import (
	"context"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/runnerhub/runnerhub/topology"
)

// Options tune an Executor; zero values mean the defaults.
type Options struct {
	// ReadyNetworks is how many networks each runner keeps, those in use included, so
	// that no job waits for one to be made; a job beyond that makes its own. It should
	// be the number of jobs at a time. Default 1; negative is none.
	ReadyNetworks int
	// Subnets is where networks get their addresses from: ranges of IPv4, in the order of
	// preference. nil is DefaultSubnets; empty leaves the choice to the engine, whose own
	// pools hold about thirty networks in all.
	Subnets []netip.Prefix
	// WarmFor is how long services that a spec marks with reuse stay for later jobs of the
	// same owner after the last one; 0 is not at all. At most as many sets of them are
	// idle as ReadyNetworks says, or four.
	WarmFor time.Duration
	// Pods has a container made ahead of the next job, with the network of which that starts
	// sooner, where the runner is at rest. WarmFor bounds how long it waits.
	Pods bool
	// Removals is how many topologies are removed at the same time, default 2. More
	// slows the jobs that run meanwhile.
	Removals int
	// Patience is how long an engine may be silent before its jobs are given up,
	// default 30 s.
	Patience time.Duration
	// LogRate is how many bytes a second a container's output may come to, and LogBurst how
	// many it may be ahead of that: what writes faster is slowed down. Defaults 8 MiB and
	// 64 MiB; a negative rate is none. Less than 1 MiB a second loses the end of the output
	// of a container that is killed, since engines do not keep it for long.
	LogRate, LogBurst int
	// Logger hears of what goes wrong behind the scenes; default is none.
	Logger *slog.Logger
	// Removed, where set, hears when an attempt's topology is gone, and what of it
	// could not be removed.
	Removed func(topology.Identity, topology.Leaks)
}

func (o Options) withDefaults() Options {
	if o.ReadyNetworks == 0 {
		o.ReadyNetworks = 1
	}
	o.Pods = o.Pods && o.WarmFor > 0
	if o.Subnets == nil {
		o.Subnets = DefaultSubnets
	}
	if o.Removals <= 0 {
		o.Removals = 2
	}
	if o.Patience <= 0 {
		o.Patience = 30 * time.Second
	}
	if o.LogRate == 0 {
		o.LogRate = 8 << 20
	}
	if o.LogBurst <= 0 {
		o.LogBurst = 64 << 20
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// spareNetworks is how many networks are kept beyond those that are ready: a pod's comes and
// goes with every job.
func (o Options) spareNetworks() int {
	if o.Pods {
		return 1
	}
	return 0
}

// logLimit is a fresh limit on the output of one container.
func (o Options) logLimit() *rate.Limiter {
	if o.LogRate < 0 {
		return nil
	}
	return rate.NewLimiter(rate.Limit(o.LogRate), max(o.LogBurst, tricklePiece))
}

// Executor is a topology.Executor on an engine.
type Executor struct {
	engine topology.Engine
	opts   Options
	nets   *subnets
	pool   *pool
	reaper *reaper
	warm   *warmth
	pods   *pods
	pulls  *pulls

	mu     sync.Mutex
	info   *topology.EngineInfo
	active map[topology.Identity]int // attempts whose topologies may exist
}

var _ topology.Executor = (*Executor)(nil)

// New returns an executor on engine, which it closes in the end.
func New(engine topology.Engine, opts Options) *Executor {
	opts = opts.withDefaults()
	e := &Executor{engine: engine, opts: opts, active: map[topology.Identity]int{}, pulls: newPulls(engine)}
	e.nets = newSubnets(engine, opts.Subnets, e.routes)
	e.pool = newPool(engine, e.nets, opts)
	e.reaper = newReaper(engine, e.pool, e.nets, opts)
	e.warm = newWarmth(opts, e.pool, e.reaper.add)
	e.pods = newPods(e)
	return e
}

// Probe reports what the engine is and can do, asked anew each time.
func (e *Executor) Probe(ctx context.Context) (topology.Info, error) {
	info, err := e.engine.Info(ctx)
	if err != nil {
		return topology.Info{}, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.info = &info
	out := info.Info
	out.Capabilities = slices.Sorted(slices.Values(out.Capabilities))
	return out, nil
}

// engineInfo is what the last Probe found: asking costs more than a whole step.
func (e *Executor) engineInfo(ctx context.Context) (topology.EngineInfo, error) {
	e.mu.Lock()
	known := e.info
	e.mu.Unlock()
	if known == nil {
		if _, err := e.Probe(ctx); err != nil {
			return topology.EngineInfo{}, err
		}
		return e.engineInfo(ctx)
	}
	return *known, nil
}

// routes are the machine's as of the last Probe.
func (e *Executor) routes(ctx context.Context) []netip.Prefix {
	info, err := e.engineInfo(ctx)
	if err != nil {
		return nil // what asks is about to hear the same of the engine
	}
	return info.Routes
}

// enter keeps the attempt's topology from being swept until leave.
func (e *Executor) enter(id topology.Identity) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.active[id]++
}

func (e *Executor) leave(id topology.Identity) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.active[id]--; e.active[id] <= 0 {
		delete(e.active, id)
	}
}

func (e *Executor) activeAttempts() []topology.Identity {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Collect(maps.Keys(e.active))
}

// Close removes services that stayed, waits for removals under way, removes the ready networks, and frees the
// engine. When ctx ends first, what is left is for another Close or the next Sweep.
func (e *Executor) Close(ctx context.Context) error {
	e.warm.close()
	e.pods.close(ctx)
	err := e.reaper.close(ctx)
	e.warm.wait()
	if poolErr := e.pool.close(ctx); err == nil {
		err = poolErr
	}
	e.pulls.close()
	if closeErr := e.engine.Close(); err == nil {
		err = closeErr
	}
	return err
}
