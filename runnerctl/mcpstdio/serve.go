// Package mcpstdio is an MCP server on standard input and output that passes every message on to a hub, and the hub's
// answers back. It adds the key and changes nothing else, so that whatever revision of MCP a client speaks, it speaks
// it with the hub.
//
// Each request is a call of its own over HTTP, and all run at once. A hub that is away, or that refuses the key,
// makes an error of the requests that need it and no end of the server: it goes on when the hub does.
package mcpstdio

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/mcp/mcpclient"
)

// Limits of one client.
const (
	// MaxLine bounds a message of the client's, in bytes; it is what the hub takes.
	MaxLine = 4 << 20
	// MaxCalls is how many requests may be under way.
	MaxCalls = 128
)

// linger is how long calls may go on after the client has closed its end.
const linger = 5 * time.Second

// Config says whom to serve and how to reach the hub.
type Config struct {
	In  io.Reader // the client's messages, one a line
	Out io.Writer // nothing but messages goes here
	// Open returns the hub's address and the key for it as they are now. It is asked at the first message, and again
	// whenever the hub refuses the key. Its error becomes the answer.
	Open func() (hub, key string, err error)
	// Note tells a person what goes wrong; it must not write to Out.
	Note func(format string, args ...any)
	// Retry says for how long a hub that is away is called again; the zero value is about 20 s.
	Retry mcpclient.Retry
	// View narrows the tools that the client sees.
	View mcpclient.View
}

// Serve runs until In ends, and then until the calls under way have, or a few seconds; or until ctx ends. Both are no
// errors. It returns one when Out cannot be written to. A read of In may stay behind when ctx ends.
func Serve(ctx context.Context, c Config) error {
	if c.Retry == (mcpclient.Retry{}) {
		// A hub that restarts is back within seconds, and a client that waits is better off than one that asks a person.
		c.Retry = mcpclient.Retry{MaxTries: 60, Cap: time.Second, Within: 20 * time.Second}
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	s := &server{
		view: c.View,
		note: c.Note, link: &link{open: c.Open, retry: c.Retry}, calls: map[string]*call{},
		out: &writer{to: c.Out, broken: func(err error) { stop(&outError{err}) }},
	}
	defer s.link.close()
	lines := make(chan line)
	go readLines(c.In, lines, ctx.Done())
	for {
		select {
		case l, more := <-lines:
			if !more {
				return s.finish(ctx, stop)
			}
			s.take(ctx, l)
		case <-ctx.Done():
			s.running.Wait()
			return s.out.err()
		}
	}
}

// server is one client's.
type server struct {
	note    func(string, ...any)
	view    mcpclient.View
	link    *link
	out     *writer
	running sync.WaitGroup

	mu       sync.Mutex
	revision string           // of MCP, as agreed on in initialize
	calls    map[string]*call // requests under way, by their key
}

// call is a request under way.
type call struct{ cancel context.CancelFunc }

// take deals with one line of the client's, without waiting for anything of the hub's.
func (s *server) take(ctx context.Context, l line) {
	if l.err != nil {
		s.note("warning: standard input: %v\n", l.err)
		return
	}
	m, fault := read(l)
	switch {
	case fault != nil:
		s.out.fail(m.id, fault)
	case m.method == "notifications/cancelled":
		s.cancel(m.params)
	case m.method == "": // an answer, and the hub asks nothing
	case m.id == nil:
		s.begin(ctx, m)
	default:
		s.request(ctx, m)
	}
}

// request registers a request before anything else is read, so that its cancellation finds it.
func (s *server) request(ctx context.Context, m message) {
	ctx, cancel := context.WithCancel(ctx)
	c, key := &call{cancel}, idKey(m.id)
	s.mu.Lock()
	busy := len(s.calls) >= MaxCalls
	if !busy {
		s.calls[key] = c
	}
	s.mu.Unlock()
	if busy {
		cancel()
		s.out.fail(m.id, fromError(&mcp.Error{
			Code: mcp.CodeRateLimited, Retryable: true, Message: fmt.Sprintf("%d calls are under way already", MaxCalls), Hint: "wait for some of them to end",
		}))
		return
	}
	s.running.Go(func() {
		defer cancel()
		s.answer(ctx, m)
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.calls[key] == c { // and not a later one that bears the same id
			delete(s.calls, key)
		}
	})
}

// begin sends a notification, whose fate the client does not ask for.
func (s *server) begin(ctx context.Context, m message) {
	s.running.Go(func() {
		err := s.link.relay(ctx, m.relayed(s.agreed(), s.view), func(json.RawMessage) {})
		if err != nil && ctx.Err() == nil {
			s.note("warning: %s was not delivered: %s\n", m.method, fromError(err).Message)
		}
	})
}

// cancel ends the client's own wait for a call; nobody is told, as MCP has it, and the hub sees that the caller left.
func (s *server) cancel(params json.RawMessage) {
	var p struct {
		RequestID json.RawMessage `json:"requestId"`
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	s.mu.Lock()
	c := s.calls[idKey(p.RequestID)]
	s.mu.Unlock()
	if c != nil {
		c.cancel()
	}
}

func (s *server) agreed() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.revision
}

// finish lets the calls under way end after the client has said its last word.
func (s *server) finish(ctx context.Context, stop context.CancelCauseFunc) error {
	idle := make(chan struct{})
	go func() { s.running.Wait(); close(idle) }()
	patience := time.NewTimer(linger)
	defer patience.Stop()
	select {
	case <-idle:
	case <-patience.C:
	case <-ctx.Done():
	}
	stop(nil)
	<-idle
	return s.out.err()
}
