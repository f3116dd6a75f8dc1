package load

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Config says who works on a hub.
type Config struct {
	Addr      string // host:port
	Key       string // of the producers
	Spec      []byte // of their jobs, a JSON object
	Producers int
	Runners   []string // their tokens
	InFlight  int      // jobs that are submitted and not reported yet, at most
	Chained   bool     // reports ask for the next lease
}

// Load is producers and runners that are connected. Runners wait for work all the time; producers submit
// while something is measured.
type Load struct {
	room    chan struct{} // one value for each job that may be in flight
	settled atomic.Int64
	open    atomic.Pointer[chan struct{}] // closed while producers may submit
	conns   []*Conn
	stop    context.CancelFunc
	done    sync.WaitGroup

	mu     sync.Mutex
	failed error
	ctx    context.Context
}

// Start has everybody begin.
func Start(c Config) *Load {
	l := &Load{room: make(chan struct{}, c.InFlight)}
	l.ctx, l.stop = context.WithCancel(context.Background())
	shut := make(chan struct{})
	l.open.Store(&shut)
	for range c.InFlight {
		l.room <- struct{}{}
	}
	for i, token := range c.Runners {
		r := NewRunner(c.Addr, token, fmt.Sprintf("r%d", i))
		r.Chained = c.Chained
		l.conns = append(l.conns, r.Conn)
		l.done.Go(func() { l.fail(l.run(r)) })
	}
	for range c.Producers {
		p := NewProducer(c.Addr, c.Key, c.Spec)
		l.conns = append(l.conns, p.Conn)
		l.done.Go(func() { l.fail(l.produce(p)) })
	}
	return l
}

func (l *Load) run(r *Runner) error {
	for {
		lease, err := r.Lease()
		for lease != nil && err == nil {
			lease, err = r.Settle(lease)
			if err == nil {
				l.settled.Add(1)
				l.room <- struct{}{}
			}
		}
		if err != nil {
			return err
		}
	}
}

func (l *Load) produce(p *Producer) error {
	for {
		select {
		case <-*l.open.Load():
		case <-l.ctx.Done():
			return nil
		}
		select {
		case <-l.room:
		case <-l.ctx.Done():
			return nil
		}
		if err := p.Submit(); err != nil {
			return err
		}
	}
}

func (l *Load) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil && l.ctx.Err() == nil {
		l.failed = err
		l.stop()
	}
}

func (l *Load) err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failed
}

// Measure returns how many jobs a second were reported in a time, after a tenth of it as warm-up, and waits until
// what is in flight has been reported too.
func (l *Load) Measure(d time.Duration) (float64, error) {
	gate := make(chan struct{})
	close(gate)
	shut := l.open.Swap(&gate)
	close(*shut) // wakes those who wait
	if err := l.sleep(d / 10); err != nil {
		return 0, err
	}
	before, began := l.settled.Load(), time.Now()
	if err := l.sleep(d); err != nil {
		return 0, err
	}
	n, took := l.settled.Load()-before, time.Since(began)
	next := make(chan struct{})
	l.open.Store(&next)
	for range cap(l.room) { // all of it: nothing is in flight
		select {
		case <-l.room:
		case <-l.ctx.Done():
			return 0, l.err()
		}
	}
	for range cap(l.room) {
		l.room <- struct{}{}
	}
	return float64(n) / took.Seconds(), nil
}

func (l *Load) sleep(d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-l.ctx.Done():
		return l.err()
	}
}

// Close ends everybody's calls.
func (l *Load) Close() error {
	l.stop()
	for _, c := range l.conns {
		_ = c.Close() // a call under way ends with an error that nobody needs
	}
	l.done.Wait()
	return l.err()
}
