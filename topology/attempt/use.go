package attempt

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/runnerhub/runnerhub/topology"
)

// errSessionOver ends what callers still run in a session, and refuses what they ask of it then.
var errSessionOver = errors.New("the session has ended")

// use counts what callers do in the containers of an attempt.
type use struct {
	mu      sync.Mutex
	life    context.Context // ended with the session, for what is under way
	end     context.CancelCauseFunc
	now     int           // requests under way
	last    time.Time     // when one ended, or the clock was started
	over    bool          // none begins any more
	changed chan struct{} // holds a value when one began or ended
}

func newUse() *use {
	u := &use{changed: make(chan struct{}, 1)}
	u.open()
	return u
}

// open lets requests begin, and starts the idle clock: what was done before does not count.
func (u *use) open() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.over, u.last = false, time.Now()
	if u.life == nil || u.life.Err() != nil {
		u.life, u.end = context.WithCancelCause(context.Background())
	}
}

// begin is called before a request is carried out, and done after that. The context ends with the session, too.
func (u *use) begin(ctx context.Context) (_ context.Context, done func(), err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.over {
		return ctx, nil, &topology.EngineError{Kind: topology.KindNotRunning, Op: "look into the job", Err: errSessionOver}
	}
	u.now++
	u.signal()
	ctx, cancel := context.WithCancelCause(ctx)
	life := u.life
	unlink := context.AfterFunc(life, func() { cancel(context.Cause(life)) })
	return ctx, sync.OnceFunc(func() {
		unlink()
		cancel(nil)
		u.mu.Lock()
		defer u.mu.Unlock()
		u.now--
		u.last = time.Now()
		u.signal()
	}), nil
}

func (u *use) signal() {
	select {
	case u.changed <- struct{}{}:
	default:
	}
}

// idle says whether a request is under way, and if not since when none has been.
func (u *use) idle() (busy bool, since time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.now > 0, u.last
}

// closeIdle has no request begin any more if none has been under way for limit; else it says that it has not.
func (u *use) closeIdle(limit time.Duration) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.now == 0 && time.Since(u.last) >= limit {
		u.over = true
	}
	return u.over
}

// close has no request begin any more.
func (u *use) close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.over = true
}

// abandon ends what is under way.
func (u *use) abandon() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.over = true
	u.end(errSessionOver)
}

// quiet waits until no request is under way; its error is the cause of ctx.
func (u *use) quiet(ctx context.Context) error {
	for {
		if busy, _ := u.idle(); !busy {
			return nil
		}
		select {
		case <-u.changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
