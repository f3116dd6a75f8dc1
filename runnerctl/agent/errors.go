package agent

import (
	"errors"
	"fmt"
	"time"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/topology"
)

// cancelCause ends an attempt because the hub says so. It is topology.ErrCanceled
// with the hub's reason, and an executor that wants to know the grace can ask for it
// by errors.As with interface{ Grace() time.Duration }.
type cancelCause struct {
	reason string
	grace  time.Duration
}

// Error implements error.
func (c *cancelCause) Error() string {
	if c.reason == "" {
		return topology.ErrCanceled.Error()
	}
	return topology.ErrCanceled.Error() + ": " + c.reason
}

// Is makes it topology.ErrCanceled.
func (c *cancelCause) Is(target error) bool { return target == topology.ErrCanceled }

// Grace is how long the job has between SIGTERM and SIGKILL.
func (c *cancelCause) Grace() time.Duration { return c.grace }

// unpaired is how the runner ends when the hub does not know it any more.
func unpaired(err error) error {
	e := &mcp.Error{
		Code: mcp.CodeUnauthenticated, Message: "the hub does not accept this runner: it was unpaired, or its token is not valid",
		Hint: "pair the machine again with `runnerctl pair`",
	}
	var cause *mcp.Error
	if errors.As(err, &cause) && cause.Code != mcp.CodeUnauthenticated {
		e.Code, e.Message = mcp.CodePermissionDenied, "the hub does not let this token run jobs: "+cause.Message
	}
	return e
}

// updateRequired is how the runner ends when the hub does not speak its protocol.
func updateRequired(server string) error {
	return &mcp.Error{
		Code:    mcp.CodeUpdateRequired,
		Message: fmt.Sprintf("this runner (%s, protocol %d) is not served by the hub (%s)", mcp.Version, mcp.Protocol, server),
		Hint:    "install the hub's release of runnerctl",
	}
}

// refused tells whether err means that the token is worth nothing.
func refused(err error) bool {
	c := codeOf(err)
	return c == mcp.CodeUnauthenticated || c == mcp.CodePermissionDenied
}

// lost tells whether err means that the lease is not the runner's any more.
func lost(err error) bool {
	switch codeOf(err) {
	case mcp.CodeStaleLease, mcp.CodeAlreadySettled, mcp.CodeNotFound:
		return true
	}
	return refused(err)
}
