package mcp

import (
	"net/http"
	"time"
)

// Code names a kind of error. A client may rely on it; messages may change.
type Code string

// The error codes.
const (
	CodeInvalidArgument   Code = "invalid_argument"
	CodeUnauthenticated   Code = "unauthenticated"
	CodePermissionDenied  Code = "permission_denied"
	CodeNotFound          Code = "not_found" // also for what belongs to someone else
	CodeConflict          Code = "conflict"
	CodeStaleLease        Code = "stale_lease"
	CodeAlreadySettled    Code = "already_settled"
	CodeQueueFull         Code = "queue_full"
	CodeQuotaExceeded     Code = "quota_exceeded"
	CodeCapabilityMissing Code = "capability_missing"
	CodeNoRunner          Code = "no_runner"
	CodeUpdateRequired    Code = "update_required"
	CodeClockSkew         Code = "clock_skew"
	CodeTooLarge          Code = "too_large"
	CodeRateLimited       Code = "rate_limited"
	CodeUnavailable       Code = "unavailable"
	CodeDraining          Code = "draining"
	CodeInternal          Code = "internal"
)

// Error is what a failed call answers, over MCP and HTTP alike.
type Error struct {
	Code         Code           `json:"code"`
	Message      string         `json:"message"`
	Hint         string         `json:"hint,omitempty"` // what to do next
	Retryable    bool           `json:"retryable"`      // the same call may succeed later
	RetryAfterMS int64          `json:"retry_after_ms,omitempty"`
	Details      map[string]any `json:"details,omitempty"`
}

// Error implements error.
func (e *Error) Error() string {
	if e.Hint == "" {
		return string(e.Code) + ": " + e.Message
	}
	return string(e.Code) + ": " + e.Message + " (" + e.Hint + ")"
}

// RetryAfter is RetryAfterMS as a duration, zero when the hub named none.
func (e *Error) RetryAfter() time.Duration { return time.Duration(e.RetryAfterMS) * time.Millisecond }

// CodeInfo is one row of the error table.
type CodeInfo struct {
	Code      Code
	HTTP      int  // status of the HTTP twin
	Exit      int  // exit code of runnerctl
	Retryable bool // unless the error says otherwise
	Meaning   string
}

// Codes is the one table that maps error codes to HTTP statuses and exit codes.
// Over MCP every row is a tool error whose _meta carries code and retryable.
func Codes() []CodeInfo {
	return []CodeInfo{
		{CodeInvalidArgument, http.StatusBadRequest, ExitUsage, false, "an argument or the job spec is wrong; details name fields"},
		{CodeUnauthenticated, http.StatusUnauthorized, ExitAuth, false, "no token, or one that is mistyped, expired or revoked"},
		{CodePermissionDenied, http.StatusForbidden, ExitAuth, false, "the caller may see this but not do it"},
		{CodeNotFound, http.StatusNotFound, ExitNotFound, false, "it does not exist or belongs to someone else"},
		{CodeConflict, http.StatusConflict, ExitConflict, false, "the state of things does not allow it"},
		{CodeStaleLease, http.StatusConflict, ExitConflict, false, "the lease was superseded; kill the containers at once"},
		{CodeAlreadySettled, http.StatusConflict, ExitConflict, false, "the job has ended already"},
		{CodeQueueFull, http.StatusTooManyRequests, ExitUnavailable, true, "too many jobs wait in that queue"},
		{CodeQuotaExceeded, http.StatusTooManyRequests, ExitUnavailable, true, "a limit of the workspace or user is reached; details name it"},
		{CodeCapabilityMissing, http.StatusUnprocessableEntity, ExitRejected, false, "the chosen runner lacks a capability that the job requires"},
		{CodeNoRunner, http.StatusUnprocessableEntity, ExitRejected, false, "no runner could take the job"},
		{CodeUpdateRequired, http.StatusUpgradeRequired, ExitUsage, false, "this program is too old or too new for the hub"},
		{CodeClockSkew, http.StatusBadRequest, ExitUsage, false, "a clock is too far off for what was asked"},
		{CodeTooLarge, http.StatusRequestEntityTooLarge, ExitUsage, false, "a request or value is over its limit"},
		{CodeRateLimited, http.StatusTooManyRequests, ExitUnavailable, true, "too many calls; wait retry_after_ms"},
		{CodeUnavailable, http.StatusServiceUnavailable, ExitUnavailable, true, "the hub cannot reach its store"},
		{CodeDraining, http.StatusServiceUnavailable, ExitUnavailable, true, "the hub is shutting down; call again"},
		{CodeInternal, http.StatusInternalServerError, ExitInternal, false, "a fault of the hub's; its log has the cause"},
	}
}

// Info returns the row of c; an unknown code is treated as internal.
func (c Code) Info() CodeInfo {
	for _, i := range Codes() {
		if i.Code == c {
			return i
		}
	}
	return CodeInfo{Code: CodeInternal, HTTP: http.StatusInternalServerError, Exit: ExitInternal}
}
