package docker

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/build"
	"github.com/docker/docker/api/types/image"

	"github.com/runnerhub/runnerhub/topology"
)

// buildStall is how long a build may go without a word from the engine.
const buildStall = time.Hour

var errBuildStalled = errors.New("nothing was heard of the build for an hour")

// buildMessage is a line of the engine's report on a build.
type buildMessage struct {
	Stream string          `json:"stream"`
	Error  string          `json:"error"`
	ID     string          `json:"id"`
	Aux    json.RawMessage `json:"aux"`
}

// Build builds an image: by BuildKit where the engine names that as its builder, and by
// the classic builder otherwise.
func (e *Engine) Build(ctx context.Context, spec topology.BuildSpec, tar io.Reader, out topology.Output) error {
	op := "build image " + spec.Image
	version, err := e.builderVersion(ctx)
	if err != nil {
		return wrap(op, contextual(ctx, err))
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stall := time.AfterFunc(buildStall, func() { cancel(errBuildStalled) })
	defer stall.Stop()
	response, err := e.client.ImageBuild(ctx, tar, e.buildOptions(spec, version))
	if err != nil {
		return buildError(op, contextual(ctx, err))
	}
	defer func() { _ = response.Body.Close() }()
	log := &buildLog{out: out, names: map[string]string{}, labels: len(spec.Labels)}
	said := ""
	for decoder := json.NewDecoder(response.Body); said == ""; {
		var m buildMessage
		if err = decoder.Decode(&m); err != nil {
			break
		}
		stall.Reset(buildStall)
		log.take(m)
		said = m.Error
	}
	if said == "" && errors.Is(err, io.EOF) {
		err = nil
	}
	cancelled := context.Cause(ctx)
	e.dropStages(log.made, spec.Image)
	switch {
	case cancelled != nil:
		return wrap(op, cancelled)
	case said != "":
		return buildError(op, errors.New(said))
	case err != nil:
		return wrap(op, err)
	}
	return nil
}

func (e *Engine) builderVersion(ctx context.Context) (build.BuilderVersion, error) {
	if e.builder != "" {
		return e.builder, nil
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	ping, err := e.client.Ping(ctx)
	if err != nil || ping.BuilderVersion == "" {
		return build.BuilderV1, err
	}
	return ping.BuilderVersion, nil
}

func (e *Engine) buildOptions(spec topology.BuildSpec, version build.BuilderVersion) build.ImageBuildOptions {
	args := map[string]*string{}
	for name, value := range spec.Args {
		args[name] = &value
	}
	return build.ImageBuildOptions{
		Version: version, Tags: []string{spec.Image}, Dockerfile: spec.Dockerfile, BuildArgs: args, Target: spec.Target,
		Platform: spec.Platform, NetworkMode: spec.Network, NoCache: spec.NoCache, PullParent: spec.Pull, ShmSize: spec.ShmSize,
		ExtraHosts: hostList(spec.ExtraHosts), Labels: spec.Labels, Remove: true, ForceRemove: true,
		AuthConfigs: e.auth.all(),
	}
}

// buildError tells an image that could not be had from a step that failed.
func buildError(op string, err error) error {
	known := &topology.EngineError{}
	_ = errors.As(wrap(op, err), &known)
	words := strings.ToLower(err.Error())
	out := *known
	switch {
	case known.Kind == topology.KindDiskFull, known.Kind == topology.KindPlatform && !strings.Contains(words, "non-zero code"):
	case strings.Contains(words, "failed to create endpoint"): // the engine's own trouble
		out.Kind = topology.KindOther
	case known.Kind == topology.KindUnavailable && !strings.Contains(words, "registry") && !strings.Contains(words, "failed to"):
	case strings.Contains(words, "pull access denied"), strings.Contains(words, "manifest unknown"), strings.Contains(words, "failed to resolve source metadata"),
		strings.Contains(words, "manifest for ") && strings.Contains(words, "not found"), strings.Contains(words, "get \"https://"),
		strings.Contains(words, "failed to do request"):
		out.Kind, out.Hint = topology.KindPull, "Check the names after FROM, and that the runner's machine reaches their registry."
	default:
		out.Kind = topology.KindBuild
	}
	return &out
}

// dropStages removes images without a name that a build of the classic builder has
// left: those of stages that nothing was built on, and of steps before one that failed.
// Whatever something else is made of the engine keeps by itself.
func (e *Engine) dropStages(made []string, built string) {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	final, err := e.client.ImageInspect(ctx, built)
	if err != nil {
		final.ID = "none"
	}
	for i := len(made) - 1; i >= 0; i-- {
		found, err := e.client.ImageInspect(ctx, made[i])
		if err != nil || found.ID == final.ID || len(found.RepoTags)+len(found.RepoDigests) > 0 {
			continue
		}
		_, _ = e.client.ImageRemove(ctx, found.ID, image.RemoveOptions{}) // refused for what others are made of
	}
}

// RemoveImage removes an image with the unnamed ones that it alone was made of.
func (e *Engine) RemoveImage(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	_, err := e.client.ImageRemove(ctx, name, image.RemoveOptions{PruneChildren: true})
	if err != nil && !errdefs.IsNotFound(err) && strings.Contains(err.Error(), "image is being used") {
		return &topology.EngineError{Kind: topology.KindBusy, Op: "remove image " + name, Err: plain(err)}
	}
	return wrap("remove image "+name, err)
}
