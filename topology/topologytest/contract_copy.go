package topologytest

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/runnerhub/runnerhub/topology"
)

// testCopy puts files into a created container, has a program use them and takes
// its files out: while it may still run, when it has ended, and from its volume.
func testCopy(l *lab) {
	ctx := l.Context()
	volume := "rh-contract-vol-" + l.tag
	l.must(l.engine.CreateVolume(ctx, topology.VolumeSpec{Name: volume, Labels: l.id.Labels(topology.RoleWorkspace)}))
	name := l.create(scriptAppend, func(c *topology.ContainerSpec) {
		c.WorkingDir, c.User, c.Volumes = "/workspace", "1000:1000", map[string]string{"/workspace": volume}
	})
	l.must(l.engine.CopyTo(ctx, name, "/", archive(
		tar.Header{Typeflag: tar.TypeDir, Name: "workspace/", Mode: 0o755, Uid: 1000, Gid: 1000},
	)))
	l.must(l.engine.CopyTo(ctx, name, "/workspace", archive(
		tar.Header{Typeflag: tar.TypeDir, Name: "tree/", Mode: 0o755, Uid: 1000, Gid: 1000},
		tar.Header{Typeflag: tar.TypeReg, Name: "tree/in", Mode: 0o755, Uid: 1000, Gid: 1000, Linkname: "given"},
	)))
	process, out := l.start(name)
	if exit := l.wait(process); exit.Code != 0 {
		l.Fatalf("exit %+v, stderr %q", exit, out.of(topology.Stderr))
	}
	if got, want := l.copyFrom(name, "/workspace/tree"), []string{"tree/ 1000", "tree/in 1000 given"}; !slices.Equal(got, want) {
		l.Errorf("what went in comes out as %q, want %q", got, want)
	}
	for at, want := range map[string][]string{
		"/workspace/out":      {"out/", "out/file made\n", "out/link -> file"},
		"/workspace/out/file": {"file made\n"},
		"/workspace/out/link": {"link -> file"},
	} {
		got := l.copyFrom(name, at)
		for i := range got {
			got[i] = strings.Replace(got[i], " 1000", "", 1) // a Fake has no users
		}
		if !slices.Equal(got, want) {
			l.Errorf("%s comes out as %q, want %q", at, got, want)
		}
	}
	_, err := l.engine.CopyFrom(ctx, name, "/workspace/nothing")
	l.wantKind("absent path", err, topology.KindNotFound)
	_, err = l.engine.CopyFrom(ctx, name+"-x", "/workspace")
	l.wantKind("files of an absent container", err, topology.KindNotFound)
	l.wantKind("absent directory", l.engine.CopyTo(ctx, name, "/no/such/place", archive()), topology.KindNotFound)
	l.wantKind("files for an absent container", l.engine.CopyTo(ctx, name+"-x", "/", archive()), topology.KindNotFound)
	reason := errors.New("the source broke off")
	if err := l.engine.CopyTo(ctx, name, "/workspace", io.MultiReader(io.LimitReader(archive(
		tar.Header{Typeflag: tar.TypeReg, Name: "cut", Mode: 0o644, Linkname: strings.Repeat("x", 4096)},
	), 1024), failing{reason})); err == nil {
		l.Errorf("half a stream was taken for a whole one")
	}
}

// copyFrom describes what an engine gives out: names in order, with owner (unless
// the superuser) and content.
func (l *lab) copyFrom(name, at string) []string {
	l.Helper()
	stream, err := l.engine.CopyFrom(l.Context(), name, at)
	l.must(err)
	var found []string
	for r := tar.NewReader(stream); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		l.must(err)
		line := header.Name
		if header.Uid != 0 {
			line += fmt.Sprintf(" %d", header.Uid)
		}
		if header.Typeflag == tar.TypeSymlink {
			line += " -> " + header.Linkname
		}
		data, err := io.ReadAll(r)
		l.must(err)
		if len(data) > 0 {
			line += " " + string(data)
		}
		found = append(found, line)
	}
	l.must(stream.Close())
	slices.Sort(found)
	return found
}

// archive packs entries; the content of a file is its header's Linkname.
func archive(entries ...tar.Header) io.Reader {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, header := range entries {
		data := ""
		if header.Typeflag == tar.TypeReg {
			data, header.Linkname, header.Size = header.Linkname, "", int64(len(header.Linkname))
		}
		// A buffer takes everything, and the headers are the tests' own.
		_ = w.WriteHeader(&header)
		_, _ = io.WriteString(w, data)
	}
	_ = w.Close()
	return &b
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
