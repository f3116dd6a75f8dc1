package docker

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/docker/docker/api/types/image"

	"github.com/runnerhub/runnerhub/topology"
)

// pullStall is how long a pull may go without a word from the engine.
const pullStall = 5 * time.Minute

var errPullStalled = errors.New("nothing was heard of the pull for 5 minutes")

// pullMessage is a line of the engine's report on a pull.
type pullMessage struct {
	ID             string `json:"id"`
	Status         string `json:"status"`
	ProgressDetail struct {
		Current int64 `json:"current"`
		Total   int64 `json:"total"`
	} `json:"progressDetail"`
	Error string `json:"error"`
}

// Pull fetches an image with the credentials of the user's Docker configuration.
func (e *Engine) Pull(ctx context.Context, ref, platform string, progress func(topology.PullProgress)) error {
	op := "pull " + ref
	auth, known, err := e.auth.forImage(ref)
	if err != nil {
		return &topology.EngineError{Kind: topology.KindPull, Op: op, Err: err, Hint: "Check the credential helper in the Docker configuration of the runner's user."}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stall := time.AfterFunc(pullStall, func() { cancel(errPullStalled) })
	defer stall.Stop()
	body, err := e.client.ImagePull(ctx, ref, image.PullOptions{RegistryAuth: auth, Platform: platform})
	if err != nil {
		return pullError(op, contextual(ctx, err), known)
	}
	defer func() { _ = body.Close() }()
	layers := newLayerCount()
	for decoder := json.NewDecoder(body); ; {
		var m pullMessage
		if err := decoder.Decode(&m); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return pullError(op, contextual(ctx, err), known)
		}
		stall.Reset(pullStall)
		if m.Error != "" {
			return pullError(op, errors.New(m.Error), known)
		}
		if layers.note(m) && progress != nil {
			progress(layers.progress())
		}
	}
}

// pullError keeps the registry's own words. known says that credentials were sent.
func pullError(op string, err error, known bool) error {
	wrapped := &topology.EngineError{}
	_ = errors.As(wrap(op, err), &wrapped)
	switch wrapped.Kind {
	case topology.KindDiskFull, topology.KindPlatform:
		return wrapped
	case topology.KindUnavailable:
		if !strings.Contains(err.Error(), "registry") {
			return wrapped
		}
	}
	out := *wrapped
	out.Kind = topology.KindPull
	words := strings.ToLower(err.Error())
	switch {
	case strings.Contains(words, "unauthorized"), strings.Contains(words, "no basic auth"), strings.Contains(words, "authentication required"),
		strings.Contains(words, "pull access denied"), strings.Contains(words, "denied:"):
		if known {
			out.Hint = "The registry refuses the credentials that the runner's user is logged in with; run docker login again as that user."
		} else {
			out.Hint = "Check the name; if the image is private, run docker login for its registry as the runner's user."
		}
	case strings.Contains(words, "manifest unknown"), strings.Contains(words, "not found"):
		out.Hint = "Check the image's name and tag."
	case strings.Contains(words, "toomanyrequests"), strings.Contains(words, "rate limit"):
		out.Hint = "The registry limits pulls; log in as the runner's user or use a mirror."
	case strings.Contains(words, "no such host"), strings.Contains(words, "connection refused"), strings.Contains(words, "timeout"):
		out.Hint = "The engine cannot reach the registry; check the name and the machine's network."
	}
	return &out
}
