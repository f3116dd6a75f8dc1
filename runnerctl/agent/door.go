package agent

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/topology"
)

// ExecClient is the part of a hub that moves what callers ask of a job's containers and what comes of it. *mcpclient.Client
// is one. Errors are as Client's.
type ExecClient interface {
	BeginExec(ctx context.Context, logURL, execID, claim string) error
	ExecInput(ctx context.Context, logURL, execID string, offset int64) ([]byte, error)
	PutExecOutput(ctx context.Context, logURL, execID, stream string, offset int64, chunk []byte) (mcp.PutExecResult, error)
	EndExec(ctx context.Context, logURL, execID string, end mcp.EndExecArgs) error
}

// Causes that end a request before it has ended by itself.
var (
	errExecStopped = errors.New("it was stopped")
	errExecTime    = errors.New("its time ran out")
	errExecOver    = errors.New("the job ended while it ran")
)

// doorPatience bounds what is still told of requests when their attempt ends.
const doorPatience = 5 * time.Second

// door lets callers into one attempt's containers: it carries out what comes with heartbeats, each request once.
type door struct {
	hub      ExecClient // nil: nobody is let in
	logURL   string
	dir      string // that relative paths in the job's container are meant from; set before open
	logger   *slog.Logger
	released chan struct{} // closed when a caller lets go of a held job, or ends a session

	life context.Context // of what runs
	end  context.CancelCauseFunc
	word context.Context // of what is told to the hub
	mute context.CancelFunc

	mu      sync.Mutex
	in      topology.Inside // nil: the containers are not there yet, or no more
	seen    map[string]context.CancelCauseFunc
	let     bool // released is closed
	closed  bool
	running sync.WaitGroup
}

func newDoor(hub ExecClient, logURL string, logger *slog.Logger) *door {
	d := &door{
		hub: hub, logURL: logURL, logger: logger, released: make(chan struct{}),
		seen: map[string]context.CancelCauseFunc{},
	}
	d.life, d.end = context.WithCancelCause(context.Background())
	d.word, d.mute = context.WithCancel(context.Background())
	return d
}

// open is handed the way in by the executor.
func (d *door) open(in topology.Inside) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.in = in
}

// take carries out requests that it has not seen before. One that comes before there is a way in comes again.
func (d *door) take(orders []mcp.ExecOrder) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.hub == nil || d.closed || d.in == nil {
		return
	}
	for _, o := range orders {
		switch stop, known := d.seen[o.ExecID]; {
		case o.Stop && known:
			stop(errExecStopped)
		case o.Stop || known:
		default:
			ctx, cancel := context.WithCancelCause(d.life)
			d.seen[o.ExecID] = cancel
			v := &visit{d: d, order: o, in: d.in, claim: rand.Text()}
			d.running.Go(func() {
				defer cancel(nil)
				v.run(ctx)
			})
		}
	}
}

// release lets go of a held job, or ends a session.
func (d *door) release() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.let {
		d.let = true
		close(d.released)
	}
}

// close ends what runs and waits until the hub has heard of it, but not for long.
func (d *door) close() {
	d.mu.Lock()
	d.closed, d.in = true, nil
	d.mu.Unlock()
	d.end(errExecOver)
	late := time.AfterFunc(doorPatience, d.mute)
	d.running.Wait()
	late.Stop()
	d.mute()
}
