package attempt

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/moby/patternmatcher"
	"github.com/moby/patternmatcher/ignorefile"

	"github.com/runnerhub/runnerhub/topology"
)

// buildWidth is how many images of one attempt are built at the same time.
const buildWidth = 2

// ownDockerfile is what a Dockerfile that is not in its context is called there.
const ownDockerfile = ".runnerhub.Dockerfile"

// buildImages builds what the services are to run, and looks what came of it.
func (x *execution) buildImages() error {
	plan := topology.PlanBuilds(x.spec)
	if len(plan) == 0 {
		return nil
	}
	if err := topology.Execute(x.ctx, plan, buildWidth, false, x.build); err != nil {
		return err
	}
	return x.observeImages()
}

// build builds one image and logs what is said meanwhile as the service's.
func (x *execution) build(ctx context.Context, op topology.Op) error {
	x.note(func(s *topology.Snapshot) { s.Images = append(s.Images, topology.ObservedImage{Name: op.Target}) })
	root, err := x.sourceRoot()
	if err != nil {
		return err
	}
	defer root.Close()
	buildContext, err := newBuildContext(root, *op.Build)
	if err != nil {
		return err
	}
	begin := time.Now()
	x.say("Building the image of the service %s from %s", op.Service, op.Build.Context)
	log := newPump(x.obs, op.Service, x.e.opts.logLimit(), x.logFailed)
	defer log.close(false)
	spec := topology.BuildSpec{
		Image: op.Target, Dockerfile: buildContext.dockerfile, Args: op.Build.Args, Target: op.Build.Target, Platform: op.Platform,
		Network: op.Build.Network, NoCache: op.Build.NoCache, Pull: op.Build.Pull, ShmSize: op.Build.ShmSize, ExtraHosts: op.Build.ExtraHosts,
		Labels: x.id.Labels(topology.RoleImage),
	}
	// Ending ctx ends the build, and the engine leaves no image of it.
	err = packed(func(r io.Reader) error {
		return x.e.engine.Build(ctx, spec, r, func(s topology.Stream, data []byte) { log.write("", s, data, 0) })
	}, func(w *tar.Writer) error { return buildContext.pack(ctx, w) })
	if err == nil {
		x.say("Built the image of the service %s in %s", op.Service, time.Since(begin).Round(10*time.Millisecond))
	}
	return x.buildError(op.Service, err, log)
}

// buildError gives the failure of a build its culprit.
func (x *execution) buildError(service string, err error, log *pump) error {
	if err == nil || x.ctx.Err() != nil {
		return err
	}
	f := failureOf(err)
	f.Container = service
	switch topology.KindOf(err) {
	case topology.KindBuild:
		f.Message = fmt.Sprintf("The image of the service %s could not be built: %s", service, sentence(engineWords(err)))
		if lines := log.tail.lines(tailLines); len(lines) > 0 {
			f.Message += " Its last lines:\n" + strings.Join(lines, "\n")
		}
		f.Hint = "Read the build's log among that of the service " + service + "."
	case topology.KindPull:
		f.Message = fmt.Sprintf("The image of the service %s could not be built, since an image that it begins with is not to be had: %s", service, sentence(engineWords(err)))
	}
	return &failureError{f}
}

// buildContext is what an engine is sent for a build.
type buildContext struct {
	root       *sourceRoot
	build      topology.Build
	ignored    *patternmatcher.PatternMatcher
	dockerfile string // in the context
	ignoreFile string
}

func newBuildContext(root *sourceRoot, build topology.Build) (*buildContext, error) {
	c := &buildContext{root: root, build: build, dockerfile: path.Clean(cmp.Or(build.Dockerfile, "Dockerfile"))}
	fail := func(name string, err error) (*buildContext, error) { return nil, sourceError(name, err) }
	if err := root.missing(); err != nil {
		return fail("The context of a build", err)
	}
	info, err := root.Stat(build.Context)
	if err == nil && !info.IsDir() {
		err = errors.New("it is not a folder")
	}
	if err != nil {
		return fail(build.Context, err)
	}
	if build.Inline == "" {
		if _, err := root.Stat(path.Join(build.Context, c.dockerfile)); err != nil {
			return fail(path.Join(build.Context, c.dockerfile), err)
		}
	}
	c.ignored, err = c.readIgnored()
	if build.Inline != "" || strings.HasPrefix(c.dockerfile, "../") {
		c.dockerfile = ownDockerfile
	}
	if err != nil {
		return fail(c.ignoreFile, err)
	}
	return c, nil
}

// maxIgnoreFile is how large a list of what stays out may be, in bytes.
const maxIgnoreFile = 1 << 20

// readIgnored reads what is to stay out: the Dockerfile's own list, else the context's.
func (c *buildContext) readIgnored() (*patternmatcher.PatternMatcher, error) {
	for _, name := range []string{c.dockerfile + ".dockerignore", ".dockerignore"} {
		c.ignoreFile = path.Join(c.build.Context, name)
		info, err := fs.Stat(c.root.FS(), c.ignoreFile)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil && info.Size() > maxIgnoreFile {
			err = errors.New("it is larger than 1 MiB")
		}
		if err != nil {
			return nil, err
		}
		text, err := fs.ReadFile(c.root.FS(), c.ignoreFile)
		if err != nil {
			return nil, err
		}
		patterns, err := ignorefile.ReadAll(bytes.NewReader(text))
		if err != nil {
			return nil, err
		}
		return patternmatcher.New(patterns)
	}
	return patternmatcher.New(nil)
}

// pack writes the context, and the Dockerfile where it is not in there.
func (c *buildContext) pack(ctx context.Context, w *tar.Writer) error {
	base := c.build.Context
	var matchErr error
	err := packFolder(ctx, w, c.root.Root, base, func(name string, _ fs.DirEntry) string {
		rel := strings.TrimPrefix(strings.TrimPrefix(name, base), "/")
		if base == "." {
			rel = name
		}
		if rel == "" || rel == "." || rel == ownDockerfile {
			return ""
		}
		// What is ignored may hold what is not ("!keep"), so folders are walked all the same.
		ignored, err := c.ignored.MatchesOrParentMatches(rel)
		if err != nil {
			matchErr = err
		}
		if ignored && rel != c.dockerfile && rel != ".dockerignore" {
			return ""
		}
		return rel
	})
	switch {
	case err != nil:
		return sourceError(base, err)
	case matchErr != nil:
		return sourceError(c.ignoreFile, matchErr)
	case c.build.Inline != "":
		return packText(w, &tar.Header{Name: ownDockerfile, Mode: 0o644}, c.build.Inline)
	case c.dockerfile == ownDockerfile:
		name := path.Join(base, c.build.Dockerfile)
		return sourceError(name, packOne(w, c.root.Root, name, &tar.Header{Name: ownDockerfile}))
	}
	return nil
}
