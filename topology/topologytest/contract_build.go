package topologytest

import (
	"archive/tar"
	"bytes"
	"strings"

	"github.com/runnerhub/runnerhub/topology"
)

// testBuild builds an image of a context, sees it, and removes it. A step that fails
// says so, and leaves nothing that carries the labels.
func testBuild(l *lab) {
	ctx := l.Context()
	spec := topology.BuildSpec{
		Image: "runnerhub-build:contract-" + l.tag, Dockerfile: "sub/Dockerfile", Args: map[string]string{"A": "b"}, Network: "none",
		Labels: l.id.Labels(topology.RoleImage),
	}
	out := newText()
	l.must(l.engine.Build(ctx, spec, l.context("sub/Dockerfile", "FROM "+l.image+"\nARG A\nRUN echo said $A\n"), out.write))
	if got := out.of(topology.Stdout); !strings.Contains(got, "RUN echo said $A") {
		l.Errorf("the build said %q", got)
	}
	if image, err := l.engine.Image(ctx, spec.Image); err != nil || image.ID == "" {
		l.Errorf("image %+v, %v", image, err)
	}
	filter := l.id.Filter()
	if seen, err := l.engine.Observe(ctx, filter); err != nil || len(seen.Images) > 0 {
		l.Errorf("images were listed unasked: %+v, %v", seen, err)
	}
	filter.Images = true
	seen, err := l.engine.Observe(ctx, filter)
	l.must(err)
	if len(seen.Images) != 1 || seen.Images[0].Name != spec.Image || topology.IdentityOf(seen.Images[0].Labels) != l.id {
		l.Errorf("observed %+v", seen.Images)
	}
	name := l.create(scriptSleep, func(c *topology.ContainerSpec) { c.Image = spec.Image })
	_, started := l.start(name)
	started.await(l, "ready")
	l.wantKind("image in use", l.engine.RemoveImage(ctx, spec.Image), topology.KindBusy)
	l.must(l.engine.RemoveContainer(ctx, name))
	l.must(l.engine.RemoveImage(ctx, spec.Image))
	l.wantKind("image twice", l.engine.RemoveImage(ctx, spec.Image), topology.KindNotFound)

	err = l.engine.Build(ctx, spec, l.context("sub/Dockerfile", "FROM "+l.image+"\nRUN false\n"), out.write)
	l.wantKind("a step that fails", err, topology.KindBuild)
	err = l.engine.Build(ctx, spec, l.context("Dockerfile", "FROM "+l.image+"\n"), out.write)
	l.wantKind("no Dockerfile", err, topology.KindBuild)
	if seen, err := l.engine.Observe(ctx, filter); err != nil || len(seen.Images) > 0 {
		l.Errorf("left of builds that failed: %+v, %v", seen, err)
	}
}

// context is a context of one file.
func (l *lab) context(name, text string) *bytes.Buffer {
	l.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	l.must(w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text)), Typeflag: tar.TypeReg}))
	_, err := w.Write([]byte(text))
	l.must(err)
	l.must(w.Close())
	return &out
}
