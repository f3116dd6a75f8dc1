package attempt

import (
	"archive/tar"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/runnerhub/runnerhub/topology"
)

// fill puts the tree of the attempt's source into the workspace, owned by the
// job's user. The engine unpacks it, so that it needs no program of the image's.
func (x *execution) fill(ctx context.Context, op topology.Op) error {
	owner, err := x.owner(ctx, op.Target, op.User)
	if err != nil {
		return err
	}
	tree, err := os.OpenRoot(x.work.Source)
	if err != nil {
		return &failureError{sourceFailure(err)}
	}
	defer tree.Close()
	reader, writer := io.Pipe()
	defer reader.Close() // the packing goes no further than the engine reads
	packed := make(chan error, 1)
	go func() {
		err := packTree(ctx, writer, tree, op.Dir, owner)
		packed <- err
		writer.CloseWithError(err)
	}()
	err = x.e.engine.CopyTo(ctx, op.Target, "/", reader)
	_ = reader.Close()
	if packErr := <-packed; packErr != nil && packErr != io.ErrClosedPipe && ctx.Err() == nil { //nolint:errorlint // a pipe's end is the value itself
		return &failureError{sourceFailure(packErr)}
	}
	return err
}

func sourceFailure(err error) topology.Failure {
	f := topology.Failure{Class: topology.ClassSource, Message: "The job's source could not be copied into its workspace: " + err.Error()}
	if isDiskFull(err) {
		f.Class, f.Hint = topology.ClassDiskFull, "Free space on the runner's machine."
	}
	return f
}

// packTree writes a folder of this machine's as a tar stream whose names begin
// with dir. Links go as links, wherever they point: they are followed by the
// job, in its container, if at all. What is neither file, folder nor link stays out.
func packTree(ctx context.Context, to io.Writer, tree *os.Root, dir string, own owner) error {
	w := tar.NewWriter(to)
	base := strings.TrimPrefix(path.Clean(dir), "/")
	err := fs.WalkDir(tree.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		header := &tar.Header{
			Name: path.Join(base, name), Mode: int64(info.Mode().Perm()), ModTime: info.ModTime(), Uid: own.uid, Gid: own.gid,
		}
		switch info.Mode().Type() {
		case fs.ModeDir:
			header.Typeflag, header.Name = tar.TypeDir, header.Name+"/"
			if name == "." { // every user may write to it, as to an empty workspace
				header.Mode = 0o777
			}
			return w.WriteHeader(header)
		case fs.ModeSymlink:
			header.Typeflag, header.Mode = tar.TypeSymlink, 0o777
			if header.Linkname, err = tree.Readlink(name); err != nil {
				return err
			}
			return w.WriteHeader(header)
		case 0:
			header.Typeflag, header.Size = tar.TypeReg, info.Size()
			return packFile(w, header, tree, name)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return w.Close()
}

func packFile(w *tar.Writer, header *tar.Header, tree *os.Root, name string) error {
	f, err := tree.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := w.WriteHeader(header); err != nil {
		return err
	}
	if n, err := io.Copy(w, io.LimitReader(f, header.Size)); err != nil || n < header.Size {
		return fmt.Errorf("%s: %d of %d bytes read: %w", name, n, header.Size, errOr(err, io.ErrUnexpectedEOF))
	}
	return nil
}

func errOr(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}
