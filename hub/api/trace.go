package api

import (
	"context"
	"sync"

	"github.com/runnerhub/runnerhub/mcp"
)

// Trace collects what one request came to, for its line in the access log and
// for the correlation id of an internal error. All methods work on nil.
type Trace struct {
	RequestID string

	mu   sync.Mutex
	seen TraceView
}

// TraceView is what a Trace has seen so far.
type TraceView struct {
	Actor     string   // who called, as events name it
	Operation string   // the tool
	Code      mcp.Code // of the error, if it was one
}

type traceKey struct{}

// WithTrace puts t into the context of a request.
func WithTrace(ctx context.Context, t *Trace) context.Context {
	return context.WithValue(ctx, traceKey{}, t)
}

// TraceFrom returns the request's trace, or nil.
func TraceFrom(ctx context.Context) *Trace {
	t, _ := ctx.Value(traceKey{}).(*Trace)
	return t
}

// View returns what was seen.
func (t *Trace) View() TraceView {
	if t == nil {
		return TraceView{}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.seen
}

// SetActor notes who calls.
func (t *Trace) SetActor(actor string) { t.set(func(v *TraceView) { v.Actor = actor }) }

// SetFault notes an error that no operation has made.
func (t *Trace) SetFault(c mcp.Code) { t.set(func(v *TraceView) { v.Code = c }) }

func (t *Trace) operation(name string) { t.set(func(v *TraceView) { v.Operation = name }) }

func (t *Trace) fault(c mcp.Code) { t.SetFault(c) }

func (t *Trace) set(f func(*TraceView)) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	f(&t.seen)
}
