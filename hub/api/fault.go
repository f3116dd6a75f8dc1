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
// hub.Error are meant to be seen. Of any other error nothing is told but that it
// is internal: Go errors can hold anything, passwords included.
func Fault(err error) *mcp.Error {
	if err == nil {
		return nil
	}
	if wire, ok := errors.AsType[*mcp.Error](err); ok {
		return wire
	}
	if e, ok := errors.AsType[*hub.Error](err); ok {
		if e.Code == hub.Internal {
			return internal()
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
	return internal()
}

// Report is Fault for an error that ends a request: what the caller is not told
// goes to log whole, under an id that the caller is told.
func Report(ctx context.Context, log *slog.Logger, err error) *mcp.Error {
	f := Fault(err)
	if f == nil {
		return nil
	}
	if f.Code == mcp.CodeInternal {
		return withID(ctx, log, f, "internal error", "error", err.Error())
	}
	if e, ok := errors.AsType[*hub.Error](err); ok && e.Err != nil {
		log.WarnContext(ctx, "call failed", "error", err.Error(), "request_id", requestID(ctx))
	}
	return f
}

// Recovered is Report for a panic.
func Recovered(ctx context.Context, log *slog.Logger, panicked any) *mcp.Error {
	return withID(ctx, log, internal(), "panic", "error", fmt.Sprint(panicked), "stack", string(debug.Stack()))
}

func internal() *mcp.Error {
	return faultOf(hub.Errorf(hub.Internal, "the hub failed").WithHint("its log has the cause"))
}

func withID(ctx context.Context, log *slog.Logger, f *mcp.Error, event string, cause ...any) *mcp.Error {
	id := requestID(ctx)
	log.ErrorContext(ctx, event, append(cause, "request_id", id)...)
	f.Message = "the hub failed; its log has the cause under " + id
	f.Hint = "tell the hub's operator that id"
	f.Details = map[string]any{"request_id": id}
	return f
}

func faultOf(e *hub.Error) *mcp.Error {
	info := mcp.Code(e.Code).Info()
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
