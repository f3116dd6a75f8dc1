package cmdutil

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/runnerctl/iostreams"
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
func Report(io *iostreams.IOStreams, err error) int {
	if err == nil {
		return mcp.ExitOK
	}
	if e, ok := errors.AsType[*ExitError](err); ok {
		return e.Code
	}
	if errors.Is(err, context.Canceled) {
		io.Note("interrupted\n")
		return mcp.ExitInterrupted
	}
	if e, ok := errors.AsType[*mcp.Error](err); ok {
		io.Note("error: %s\n", e.Message)
		for _, k := range slices.Sorted(maps.Keys(e.Details)) {
			if k != "problems" { // which submit shows at their lines
				noteDetail(io, k, e.Details[k])
			}
		}
		if e.Hint != "" {
			io.Note("  hint: %s\n", Commands(e.Hint))
		}
		return e.Code.Info().Exit
	}
	io.Note("error: %v\n", err)
	if _, ok := errors.AsType[*UsageError](err); ok {
		return mcp.ExitUsage
	}
	return mcp.ExitFailure
}

// Message is an error in one sentence.
func Message(err error) string {
	if e, ok := errors.AsType[*mcp.Error](err); ok {
		return e.Message
	}
	return err.Error()
}

// noteDetail shows one detail of an error: a list of wrong fields as a line each, all else as it comes.
func noteDetail(io *iostreams.IOStreams, key string, value any) {
	list, ok := value.([]any)
	if !ok {
		io.Note("  %s: %v\n", key, value)
		return
	}
	for _, x := range list {
		if f, ok := x.(map[string]any); ok && f["field"] != nil {
			io.Note("  %v: %v\n", f["field"], f["message"])
		} else {
			io.Note("  %s: %v\n", key, x)
		}
	}
}
