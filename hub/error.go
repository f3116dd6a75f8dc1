package hub

import (
	"errors"
	"fmt"
	"time"
)

// Code names a kind of error. The wire contract's error table has the same codes.
type Code string

// The codes that the domain and its use cases answer with.
const (
	InvalidArgument   Code = "invalid_argument"
	Unauthenticated   Code = "unauthenticated"
	PermissionDenied  Code = "permission_denied"
	NotFound          Code = "not_found" // also for what belongs to someone else
	Conflict          Code = "conflict"
	StaleLease        Code = "stale_lease"
	AlreadySettled    Code = "already_settled"
	QueueFull         Code = "queue_full"
	QuotaExceeded     Code = "quota_exceeded"
	CapabilityMissing Code = "capability_missing"
	NoRunner          Code = "no_runner"
	UpdateRequired    Code = "update_required"
	ClockSkew         Code = "clock_skew"
	TooLarge          Code = "too_large"
	RateLimited       Code = "rate_limited"
	Unavailable       Code = "unavailable"
	Draining          Code = "draining"
	Internal          Code = "internal"
)

// Error is an error that its caller may see: a code, a message for a person and
// a hint that names what to do next. Err is the cause for the log and is never shown.
type Error struct {
	Code       Code
	Message    string
	Hint       string
	Retryable  bool
	RetryAfter time.Duration
	Details    map[string]any
	Err        error
}

// Error implements error.
func (e *Error) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%s: %s: %v", e.Code, e.Message, e.Err)
	}
	return fmt.Sprintf("%s: %s", e.Code, e.Message)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is matches any Error of the same code, so that errors.Is(err, &Error{Code: c}) works.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code && t.Message == ""
}

// CodeOf returns the code of err: Internal when it carries none, "" for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return Internal
}

// Errorf makes an Error without a hint.
func Errorf(c Code, format string, args ...any) *Error {
	return &Error{Code: c, Message: fmt.Sprintf(format, args...)}
}

// WithHint sets the hint and returns e.
func (e *Error) WithHint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

// WithDetail adds one detail and returns e.
func (e *Error) WithDetail(key string, value any) *Error {
	if e.Details == nil {
		e.Details = map[string]any{}
	}
	e.Details[key] = value
	return e
}

// ErrConflict is what a store answers when a guarded write found another state
// than the one that was decided on: read again and decide again.
var ErrConflict = errors.New("hub: the state has changed since it was read")

// ErrGroupBusy is what a store answers to the lease of a job whose concurrency group another live job holds.
// Nothing is changed: the job keeps its place and can be leased once the other has ended.
var ErrGroupBusy = Errorf(Conflict, "another job of the concurrency group is running")

// ErrRevoked is what a store answers to a lease for a runner that was revoked. Nothing is changed.
var ErrRevoked = Errorf(Unauthenticated, "the runner was unpaired")

// The caps on live attempts, as the detail "cap" of a QuotaExceeded error names them.
const (
	CapRunning   = "max_running"               // of an owner's runners
	CapWorkspace = "max_running_per_workspace" // of one workspace's jobs on an owner's runners
)

// OverRunning is the refusal of a lease over CapRunning.
func OverRunning(limit int) *Error {
	return Errorf(QuotaExceeded, "%d jobs of this owner are running, which is the cap", limit).
		WithHint("the job stays queued and is leased once another has ended").
		WithDetail("cap", CapRunning).WithDetail("limit", limit)
}

// OverWorkspace is the refusal of a lease over CapWorkspace.
func OverWorkspace(limit int) *Error {
	return Errorf(QuotaExceeded, "%d jobs of this workspace are running on the owner's runners, which is the cap", limit).
		WithHint("the job stays queued and is leased once another of its workspace has ended").
		WithDetail("cap", CapWorkspace).WithDetail("limit", limit)
}

// OverExecs is the refusal of a request to reach into a job that has as many open ones as it may.
func OverExecs(most int) *Error {
	return Errorf(QuotaExceeded, "%d commands and copies are under way in this job, which is the cap", most).
		WithHint("wait until one has ended").
		WithDetail("cap", "max_execs").WithDetail("limit", most)
}
