package topology

import (
	"errors"
	"fmt"
)

// ErrorKind says what an engine's error means for the one who asked.
type ErrorKind string

// The kinds of an engine's error.
const (
	KindNotFound    ErrorKind = "not_found"
	KindNotRunning  ErrorKind = "not_running" // the container has ended or was not started
	KindBusy        ErrorKind = "busy"        // in use, or a removal is under way: try again
	KindInvalid     ErrorKind = "invalid"     // the engine refuses the request as it is
	KindCommand     ErrorKind = "command"     // the image has no such program, or it cannot be executed
	KindPlatform    ErrorKind = "platform"    // for another operating system or processor
	KindPull        ErrorKind = "pull"        // the registry does not give the image
	KindBuild       ErrorKind = "build"       // a step of a build failed
	KindDiskFull    ErrorKind = "disk_full"
	KindUnavailable ErrorKind = "unavailable" // the engine does not answer
	KindDenied      ErrorKind = "denied"      // the machine's owner has not allowed it
	KindOther       ErrorKind = "other"
)

// EngineError is an error of an engine with its meaning.
type EngineError struct {
	Kind ErrorKind
	Op   string // what was asked for, for people: "start container db"
	Err  error  // the engine's own words
	Hint string // what a person can do about it; may be empty
}

// Error says what was asked for and the engine's own words.
func (e *EngineError) Error() string { return fmt.Sprintf("%s: %v", e.Op, e.Err) }

// Unwrap returns the engine's own error.
func (e *EngineError) Unwrap() error { return e.Err }

// KindOf returns the kind of err: "" for nil, KindOther for what is no engine's error.
func KindOf(err error) ErrorKind {
	if err == nil {
		return ""
	}
	var e *EngineError
	if errors.As(err, &e) {
		return e.Kind
	}
	return KindOther
}
