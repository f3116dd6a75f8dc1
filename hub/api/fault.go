package api

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/mcp"
)

// Fault maps any error to what a caller may see; nil stays nil. The words of a
// hub.Error are meant to be seen. Any other error is told as internal, with an
// id under which it stands whole in the log: Go errors can hold anything, passwords included.
func Fault(ctx context.Context, log *slog.Logger, err error) *mcp.Error {
	if err == nil {
		return nil
	}
	if wire, ok := errors.AsType[*mcp.Error](err); ok {
		return wire
	}
	if e, ok := errors.AsType[*hub.Error](err); ok && e.Code != hub.Internal {
		if e.Err != nil {
			log.WarnContext(ctx, "call failed", "code", string(e.Code), "error", err.Error(), "request_id", requestID(ctx))
		}
		return faultOf(e)
	}
	switch {
	case errors.Is(err, hub.ErrConflict):
		return faultOf(hub.Errorf(hub.Conflict, "something else changed this at the same time").
			WithHint("look at its state and call again"))
	case errors.Is(err, context.DeadlineExceeded):
		return faultOf(hub.Errorf(hub.Unavailable, "the hub took too long to answer").
			WithHint("call again; with the same idempotency_key or request_id nothing happens twice"))
	case errors.Is(err, context.Canceled):
		return faultOf(hub.Errorf(hub.Unavailable, "the call was canceled before it was answered").
			WithHint("call again; with the same idempotency_key or request_id nothing happens twice"))
	}
	return internal(ctx, log, "internal error", err.Error())
}

// Recovered maps a panic to what a caller may see.
func Recovered(ctx context.Context, log *slog.Logger, panicked any) *mcp.Error {
	return internal(ctx, log, "panic", fmt.Sprint(panicked), "stack", string(debug.Stack()))
}

func internal(ctx context.Context, log *slog.Logger, event, cause string, more ...any) *mcp.Error {
	id := requestID(ctx)
	log.ErrorContext(ctx, event, append([]any{"error", cause, "request_id", id}, more...)...)
	f := faultOf(hub.Errorf(hub.Internal, "the hub failed; its log has the cause under %s", id).
		WithHint("tell the hub's operator the id"))
	f.Details = map[string]any{"request_id": id}
	return f
}

func faultOf(e *hub.Error) *mcp.Error {
	code := mcp.Code(e.Code)
	info := code.Info()
	return &mcp.Error{
		Code:         info.Code, // a code outside the table is internal
		Message:      e.Message,
		Hint:         e.Hint,
		Retryable:    e.Retryable || info.Retryable,
		RetryAfterMS: e.RetryAfter.Milliseconds(),
		Details:      e.Details,
	}
}

// requestID is the correlation id: the request's own, or a fresh one where a
// call came by another way.
func requestID(ctx context.Context) string {
	if t := TraceFrom(ctx); t != nil && t.RequestID != "" {
		return t.RequestID
	}
	return rand.Text()[:16]
}
