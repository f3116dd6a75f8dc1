package topologytest

import (
	"archive/tar"
	"context"
	"errors"
	"io"
	"strings"

	"github.com/runnerhub/runnerhub/topology"
)

// Build makes an image of whatever the context is, as long as it has the Dockerfile. A
// line "RUN false" fails.
func (f *Fake) Build(ctx context.Context, spec topology.BuildSpec, context io.Reader, out topology.Output) error {
	op := "build image " + spec.Image
	if err := f.enter(ctx, "Build", spec.Image); err != nil {
		return err
	}
	files := map[string]string{}
	for archive := tar.NewReader(context); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		data, err := io.ReadAll(archive)
		if err != nil {
			return err
		}
		files[strings.TrimSuffix(header.Name, "/")] = string(data)
	}
	dockerfile, present := files[spec.Dockerfile]
	if !present {
		return fault(topology.KindBuild, op, "cannot locate "+spec.Dockerfile)
	}
	for line := range strings.Lines(dockerfile) {
		out(topology.Stdout, []byte(strings.TrimSuffix(line, "\n")+"\n"))
		if strings.TrimSpace(line) == "RUN false" {
			return fault(topology.KindBuild, op, "RUN false: exit code 1")
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.built[spec.Image], f.contexts[spec.Image] = spec, files
	f.images[spec.Image] = topology.Image{ID: "sha256:built", OS: "linux", Arch: "amd64"}
	return nil
}

// Built returns the builds so far whose images are still there, and the files of their contexts.
func (f *Fake) Built() (specs map[string]topology.BuildSpec, contexts map[string]map[string]string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	specs, contexts = map[string]topology.BuildSpec{}, map[string]map[string]string{}
	for name, spec := range f.built {
		specs[name], contexts[name] = spec, f.contexts[name]
	}
	return specs, contexts
}

// RemoveImage removes an image that was built and that no container uses.
func (f *Fake) RemoveImage(ctx context.Context, name string) error {
	if err := f.enter(ctx, "RemoveImage", name); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, present := f.built[name]; !present {
		return fault(topology.KindNotFound, "remove image "+name, "no such image")
	}
	for _, c := range f.containers {
		if c.spec.Image == name {
			return fault(topology.KindBusy, "remove image "+name, "image is being used")
		}
	}
	delete(f.built, name)
	delete(f.images, name)
	return nil
}
