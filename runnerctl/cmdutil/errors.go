package cmdutil

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sort"

	"github.com/runnerhub/runnerhub/mcp"
)

// UsageError marks an error of the command line.
type UsageError struct{ Err error }

// Error implements error.
func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *UsageError) Unwrap() error { return e.Err }

// Usagef makes a UsageError.
func Usagef(format string, args ...any) error { return &UsageError{fmt.Errorf(format, args...)} }

// ExitError ends the program with a code; what there was to say has been said.
type ExitError struct{ Code int }

// Error implements error.
func (e *ExitError) Error() string { return fmt.Sprintf("exit code %d", e.Code) }

// Report says what went wrong and what to do next, and returns the exit code: the one
// place where errors become either.
func Report(w io.Writer, err error) int {
	if err == nil {
		return mcp.ExitOK
	}
	if e, ok := errors.AsType[*ExitError](err); ok {
		return e.Code
	}
	if e, ok := errors.AsType[*mcp.Error](err); ok {
		fmt.Fprintf(w, "error: %s\n", e.Message)
		reportDetails(w, e)
		if e.Hint != "" {
			fmt.Fprintf(w, "  hint: %s\n", e.Hint)
		}
		return e.Code.Info().Exit
	}
	if errors.Is(err, context.Canceled) {
		fmt.Fprintln(w, "interrupted")
		return mcp.ExitInterrupted
	}
	fmt.Fprintf(w, "error: %v\n", err)
	if _, ok := errors.AsType[*UsageError](err); ok {
		return mcp.ExitUsage
	}
	return mcp.ExitFailure
}

// reportDetails shows details other than the spec's problems, which submit shows at their lines.
func reportDetails(w io.Writer, e *mcp.Error) {
	keys := make([]string, 0, len(e.Details))
	for k := range e.Details {
		if k != "problems" {
			keys = append(keys, k)
		}
	}
	sort.Strings(keys)
	for _, k := range keys {
		fmt.Fprintf(w, "  %s: %v\n", k, e.Details[k])
	}
}
