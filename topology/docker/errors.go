package docker

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/client"

	"github.com/runnerhub/runnerhub/topology"
)

var errNeverStarted = errors.New("the container was never started")

// wrap gives an error of the client's its meaning; nil stays nil.
func wrap(op string, err error) error {
	if err == nil {
		return nil
	}
	var known *topology.EngineError
	if errors.As(err, &known) {
		return err
	}
	kind, hint := classify(err)
	return &topology.EngineError{Kind: kind, Op: op, Err: plain(err), Hint: hint}
}

// classify reads the kind from the error's type and, where engines have none for
// it, from their words. The words are those of Docker 20.10 to 28 and Podman 4.
func classify(err error) (topology.ErrorKind, string) {
	words := strings.ToLower(err.Error())
	has := func(parts ...string) bool {
		for _, p := range parts {
			if strings.Contains(words, p) {
				return true
			}
		}
		return false
	}
	var netErr net.Error
	switch {
	case has("no space left on device", "disk quota exceeded"):
		return topology.KindDiskFull, "Free space on the runner's machine; `docker system df` shows what Docker holds."
	case has("exec format error", "does not match the specified platform", "no matching manifest for"):
		return topology.KindPlatform, "Use an image for this machine's processor."
	case has("executable file not found", "exec: \"") && has("oci runtime", "crun", "runc", "failed to create shim"),
		has("no such file or directory") && has("exec failed", "unable to start container process", "starting container process"):
		return topology.KindCommand, "Check the command against the image: the program must exist there and be executable."
	case has("permission denied") && has("starting container process", "unable to start container process"):
		return topology.KindCommand, "The program in the image is not executable for the user that the container runs as."
	case has("non-overlapping ipv4 address pool", "address pools have been fully subnetted"):
		// The machine's fault and not the job's: no other job that needs a network would fare better on it.
		return topology.KindUnavailable, "The engine has no address left for a network: remove unused ones (`docker network prune`) or widen default-address-pools."
	case has("is not running", "container not running"):
		return topology.KindNotRunning, ""
	case errdefs.IsNotFound(err):
		return topology.KindNotFound, ""
	case has("already in progress", "has active endpoints", "volume is in use", "is in use", "network is being used",
		"pool overlaps with other one", "networks have overlapping ipv4"), errdefs.IsConflict(err):
		return topology.KindBusy, ""
	case errdefs.IsInvalidArgument(err):
		return topology.KindInvalid, ""
	case client.IsErrConnectionFailed(err), errors.As(err, &netErr), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		errors.Is(err, net.ErrClosed), errors.Is(err, context.DeadlineExceeded):
		return topology.KindUnavailable, "Check that the Docker engine runs: docker version"
	}
	return topology.KindOther, ""
}

// plain drops the frame that the client puts around the engine's own words.
func plain(err error) error {
	const frame = "Error response from daemon: "
	if text := err.Error(); strings.HasPrefix(text, frame) {
		return &plainError{text: strings.TrimPrefix(text, frame), err: err}
	}
	return err
}

type plainError struct {
	text string
	err  error
}

func (e *plainError) Error() string { return e.text }
func (e *plainError) Unwrap() error { return e.err }
