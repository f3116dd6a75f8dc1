//go:build linux

package main

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// proxy passes TCP connections on to targets, one after the other. It can cut them, delay what they carry, and lose one
// half of them: then the target sees its end closed while the client still waits.
type proxy struct {
	listener net.Listener
	targets  func() []string
	turn     atomic.Uint64
	delay    atomic.Int64 // nanoseconds, for each piece in either direction

	mu    sync.Mutex
	links map[*link]struct{}
	wg    sync.WaitGroup
}

// link is one connection through the proxy.
type link struct {
	client, target net.Conn
	halfOpen       atomic.Bool
	once           sync.Once
	gone           chan struct{}
}

func newProxy(t *testing.T, targets func() []string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, targets: targets, links: map[*link]struct{}{}}
	p.wg.Go(p.accept)
	t.Cleanup(func() {
		l.Close()
		p.cut(1, nil)
		p.wg.Wait()
	})
	return p
}

func (p *proxy) address() string { return p.listener.Addr().String() }

func (p *proxy) accept() {
	for {
		c, err := p.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			p.wg.Go(func() { p.serve(c) })
		}
	}
}

// serve connects to the next target that answers.
func (p *proxy) serve(client net.Conn) {
	defer client.Close()
	all := p.targets()
	for range all {
		addr := all[p.turn.Add(1)%uint64(len(all))]
		target, err := net.DialTimeout("tcp", addr, time.Second)
		if err == nil {
			p.join(&link{client: client, target: target, gone: make(chan struct{})})
			return
		}
	}
}

func (p *proxy) join(l *link) {
	p.mu.Lock()
	p.links[l] = struct{}{}
	p.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { p.copy(l, l.target, l.client) })
	both.Go(func() { p.copy(l, l.client, l.target) })
	both.Wait()
	p.mu.Lock()
	delete(p.links, l)
	p.mu.Unlock()
}

// copy passes on what comes from one end until either ends.
func (p *proxy) copy(l *link, to, from net.Conn) {
	defer l.close()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 && !p.pass(l, to, buf[:n]) {
			return
		}
		if err != nil {
			if l.halfOpen.Load() && from == l.target { // the client is not to know
				<-l.gone
			}
			return
		}
	}
}

func (p *proxy) pass(l *link, to net.Conn, b []byte) bool {
	if d := time.Duration(p.delay.Load()); d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
		case <-l.gone:
			return false
		}
	}
	if l.halfOpen.Load() { // swallowed
		return true
	}
	_, err := to.Write(b)
	return err == nil || errors.Is(err, io.ErrShortWrite)
}

// close ends both halves.
func (l *link) close() {
	l.once.Do(func() { close(l.gone) })
	l.client.Close()
	l.target.Close()
}

// cut ends a share of the connections; pick draws from [0,1), nil cuts all.
func (p *proxy) cut(share float64, pick func() float64) int {
	n := 0
	for _, l := range p.some(share, pick) {
		l.close()
		n++
	}
	return n
}

// loseHalf closes the targets' ends of a share of the connections. The returned function ends the clients' halves.
func (p *proxy) loseHalf(share float64, pick func() float64) (end func()) {
	lost := p.some(share, pick)
	for _, l := range lost {
		l.halfOpen.Store(true)
		l.target.Close()
	}
	return func() {
		for _, l := range lost {
			l.close()
		}
	}
}

func (p *proxy) some(share float64, pick func() float64) []*link {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []*link
	for l := range p.links {
		if pick == nil || pick() < share {
			out = append(out, l)
		}
	}
	return out
}
