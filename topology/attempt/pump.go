package attempt

import (
	"fmt"
	"sync"
	"time"

	"github.com/docker/go-units"
	"golang.org/x/time/rate"

	"github.com/runnerhub/runnerhub/topology"
)

const (
	// backlogSoft is how much output may wait for the observer before the container
	// is slowed down, and backlogHard before it is stopped.
	backlogSoft = 1 << 20
	backlogHard = 64 << 20
	// Between the two a piece is taken every trickleEvery. Engines throw away what
	// of a container's output nobody has taken 2 s after its end; a pipe holds 64 KiB,
	// and there are two in a row for each stream. At this rate they run dry in time.
	trickleEvery = 60 * time.Millisecond
	tricklePiece = 16 << 10
	// linger is how long the beginning of a line waits for the rest of it.
	linger = 100 * time.Millisecond
)

// pump takes one container's output from the engine and hands it to the observer
// as records, in order, from a goroutine of its own.
type pump struct {
	obs     topology.Observer
	service string
	failed  func(error)   // hears the observer's first error
	limit   *rate.Limiter // of bytes; nil is none
	tail    tail

	mu        sync.Mutex
	queue     []piece
	size      int // bytes in queue or with the observer
	closed    bool
	abandoned bool
	writing   bool          // a piece of output waits to be taken
	spoke     time.Time     // when the last one was
	slowed    bool          // the limit was said to hold
	wake      chan struct{} // there is something for the observer
	room      chan struct{} // the observer has taken something
	done      chan struct{}
}

// piece is a part of one stream.
type piece struct {
	time   time.Time
	stream topology.Stream
	step   string
	data   []byte
	end    int64         // of data in the container's stream, 0 if that does not matter
	passed chan struct{} // of a mark without data: closed when all before it was handed over
}

func newPump(obs topology.Observer, service string, limit *rate.Limiter, failed func(error)) *pump {
	p := &pump{
		obs: obs, service: service, limit: limit, failed: failed, spoke: time.Now(),
		wake: make(chan struct{}, 1), room: make(chan struct{}, 1), done: make(chan struct{}),
	}
	go p.run()
	return p
}

// write takes output of the container; it blocks as the observer falls behind. end
// is the place of data's end in the stream, 0 where it is of no use.
func (p *pump) write(step string, stream topology.Stream, data []byte, end int64) {
	p.tail.write(data)
	p.busy(true)
	defer p.busy(false)
	for len(data) > 0 {
		n := min(len(data), tricklePiece)
		p.slow(n)
		p.await()
		p.push(piece{time.Now(), stream, step, append([]byte(nil), data[:n]...), before(end, len(data)-n), nil})
		data = data[n:]
	}
}

// system takes a sentence of the runner's. It is never held back.
func (p *pump) system(step, text string) {
	p.push(piece{time.Now(), topology.System, step, []byte(text + "\n"), 0, nil})
}

// before is the place of n bytes before end.
func before(end int64, n int) int64 {
	if end == 0 {
		return 0
	}
	return end - int64(n)
}

func (p *pump) busy(writing bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.writing, p.spoke = writing, time.Now()
}

// speak counts as output where silence is measured.
func (p *pump) speak() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.spoke = time.Now()
}

// silent is for how long there has been no output.
func (p *pump) silent() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.writing {
		return 0
	}
	return time.Since(p.spoke)
}

// slow holds n bytes back until the limit allows them, and with them the container: its
// own writes block. It says so in the log, once.
func (p *pump) slow(n int) {
	if p.limit == nil {
		return
	}
	wait := p.limit.ReserveN(time.Now(), n).Delay()
	if wait <= 0 {
		return
	}
	p.mu.Lock()
	said, gone := p.slowed, p.abandoned
	p.slowed = true
	p.mu.Unlock()
	if gone {
		return
	}
	if !said {
		p.system("", fmt.Sprintf("The output is slowed down to %s a second; nothing is lost", units.BytesSize(float64(p.limit.Limit()))))
	}
	select {
	case <-time.After(wait):
	case <-p.done:
	}
}

// await blocks until there is room for a piece, or its turn has come all the same.
func (p *pump) await() {
	for {
		p.mu.Lock()
		size, gone := p.size, p.abandoned
		p.mu.Unlock()
		if size < backlogSoft || gone {
			return
		}
		var turn <-chan time.Time
		if size < backlogHard {
			turn = time.After(trickleEvery)
		}
		select {
		case <-p.room:
		case <-p.done:
			return
		case <-turn:
			return
		}
	}
}

func (p *pump) push(item piece) {
	p.mu.Lock()
	if !p.abandoned {
		p.queue = append(p.queue, item)
		p.size += len(item.data)
	}
	p.mu.Unlock()
	signal(p.wake)
}

// sync waits until the observer has all that was taken so far.
func (p *pump) sync() {
	passed := make(chan struct{})
	p.push(piece{passed: passed})
	select {
	case <-passed:
	case <-p.done: // it was closed or has failed
	}
}

// close waits until the observer has everything, or drops the rest.
func (p *pump) close(drop bool) {
	p.mu.Lock()
	p.closed = true
	p.abandoned = p.abandoned || drop
	p.mu.Unlock()
	signal(p.wake)
	if drop {
		return // the observer may be holding run for ever, and nobody reads it
	}
	<-p.done
}

// next takes everything that waits; more is false at the end.
func (p *pump) next() (items []piece, more bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	items, p.queue = p.queue, nil
	if p.abandoned {
		return nil, false
	}
	return items, len(items) > 0 || !p.closed
}

func (p *pump) run() {
	defer close(p.done)
	r := recorder{emit: p.emit, service: p.service}
	for {
		items, more := p.next()
		if !more {
			r.flush()
			return
		}
		for _, item := range items {
			if item.passed != nil {
				r.flush()
				close(item.passed)
				continue
			}
			r.add(item)
			p.mu.Lock()
			p.size -= len(item.data)
			p.mu.Unlock()
			signal(p.room)
		}
		if len(items) > 0 {
			r.whole()
			continue
		}
		var late <-chan time.Time
		if r.pending() {
			late = time.After(linger)
		}
		select {
		case <-p.wake:
		case <-late:
			r.flush()
		}
	}
}

// emit gives the observer a record. After its first error it gets no more.
func (p *pump) emit(record topology.Record) {
	p.mu.Lock()
	gone := p.abandoned
	p.mu.Unlock()
	if gone {
		return
	}
	if err := p.obs.Log(record); err != nil {
		p.mu.Lock()
		p.abandoned = true
		p.queue = nil
		p.mu.Unlock()
		p.failed(err)
	}
}

// signal wakes whoever waits on c, or the next one who will.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
