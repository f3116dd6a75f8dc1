package attempt

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/runnerhub/runnerhub/topology"
)

// packed runs pack with a tar stream that use reads, at the same time. The error of
// the packing counts more: it is why the reader found no more.
func packed(use func(io.Reader) error, pack func(*tar.Writer) error) error {
	reader, writer := io.Pipe()
	done := make(chan error, 1)
	go func() {
		w := tar.NewWriter(writer)
		err := pack(w)
		if err == nil {
			err = w.Close()
		}
		done <- err
		writer.CloseWithError(err)
	}()
	err := use(reader)
	_ = reader.Close() // the packing goes no further than the reader read
	if packErr := <-done; packErr != nil && !errors.Is(packErr, io.ErrClosedPipe) {
		return packErr
	}
	return err
}

// packFolder writes what is in a folder of root's. at names each file in the stream,
// "" leaves it out. Links go as links: they are followed in the container, if at all.
// Files are the superuser's, and everybody may write to folders, since nobody knows
// yet who runs there.
func packFolder(ctx context.Context, w *tar.Writer, root *os.Root, folder string, at func(name string, d fs.DirEntry) string) error {
	return fs.WalkDir(root.FS(), folder, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		}
		to := at(name, d)
		if to == "" {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		header := &tar.Header{Name: to, Mode: int64(info.Mode().Perm()), ModTime: info.ModTime()}
		switch info.Mode().Type() {
		case fs.ModeDir:
			header.Typeflag, header.Name, header.Mode = tar.TypeDir, to+"/", header.Mode|0o777
			return w.WriteHeader(header)
		case fs.ModeSymlink:
			header.Typeflag = tar.TypeSymlink
			if header.Linkname, err = root.Readlink(name); err != nil {
				return err
			}
			return w.WriteHeader(header)
		case 0:
			return packOne(w, root, name, header)
		}
		return nil // neither file, folder nor link
	})
}

// packOne writes a file of root's under a header that has its name and mode.
func packOne(w *tar.Writer, root *os.Root, name string, header *tar.Header) error {
	f, err := root.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a file", name)
	}
	header.Typeflag, header.Size = tar.TypeReg, info.Size()
	if header.Mode == 0 {
		header.Mode, header.ModTime = int64(info.Mode().Perm()), info.ModTime()
	}
	if err := w.WriteHeader(header); err != nil {
		return err
	}
	n, err := io.Copy(w, io.LimitReader(f, header.Size))
	if err == nil && n < header.Size {
		err = fmt.Errorf("%s has become shorter while it was read", name)
	}
	return err
}

// packText writes a file that is not from a source.
func packText(w *tar.Writer, header *tar.Header, text string) error {
	header.Typeflag, header.Size = tar.TypeReg, int64(len(text))
	err := w.WriteHeader(header)
	if err == nil {
		_, err = io.WriteString(w, text)
	}
	return err
}

// copyFiles puts files of the source, or of the spec, into a container that was
// created. The engine unpacks them, so that it needs no program of the image's.
func (x *execution) copyFiles(ctx context.Context, op topology.Op) error {
	root, err := x.sourceRoot()
	if err != nil {
		return err
	}
	defer root.Close()
	return packed(func(r io.Reader) error {
		return x.e.engine.CopyTo(ctx, op.Target, op.Dir, r)
	}, func(w *tar.Writer) error {
		for _, c := range op.Copies {
			if err := x.packCopy(ctx, w, root, op.Dir, c); err != nil {
				return err
			}
		}
		return nil
	})
}

func (x *execution) packCopy(ctx context.Context, w *tar.Writer, root *sourceRoot, dir string, c topology.Copy) error {
	target := strings.TrimPrefix(strings.TrimPrefix(path.Clean(c.Target), dir), "/")
	header := &tar.Header{Name: target}
	header.Uid, _ = strconv.Atoi(c.UID)
	header.Gid, _ = strconv.Atoi(c.GID)
	if mode, err := strconv.ParseInt(c.Mode, 8, 32); err == nil {
		header.Mode = mode
	}
	if c.Source == "" {
		return packText(w, header, c.Content)
	}
	err := root.missing()
	if err == nil && c.Mode == "" {
		var info fs.FileInfo
		if info, err = root.Stat(c.Source); err == nil && info.IsDir() {
			err = packFolder(ctx, w, root.Root, c.Source, func(name string, _ fs.DirEntry) string {
				return path.Join(target, strings.TrimPrefix(strings.TrimPrefix(name, c.Source), "/"))
			})
			return sourceError(c.Source, err)
		}
		if errors.Is(err, fs.ErrNotExist) { // a folder that Compose would have made
			return w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: target + "/", Mode: 0o777})
		}
	}
	if err == nil {
		err = packOne(w, root.Root, c.Source, header)
	}
	return sourceError(c.Source, err)
}

// sourceRoot is the attempt's source, or none.
type sourceRoot struct{ *os.Root }

func (x *execution) sourceRoot() (*sourceRoot, error) {
	if x.work.Source == "" {
		return &sourceRoot{}, nil
	}
	root, err := os.OpenRoot(x.work.Source)
	if err != nil { // it was fetched to there
		return nil, &failureError{sourceFailure(err)}
	}
	return &sourceRoot{root}, nil
}

// Close frees it.
func (r *sourceRoot) Close() {
	if r.Root != nil {
		_ = r.Root.Close()
	}
}

var errNoSource = errors.New("the job has no source")

func (r *sourceRoot) missing() error {
	if r.Root == nil {
		return errNoSource
	}
	return nil
}

// sourceError makes a failure of what the source did not yield.
func sourceError(name string, err error) error {
	var known *failureError
	var engine *topology.EngineError
	if err == nil || errors.As(err, &known) || errors.As(err, &engine) || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, context.Canceled) {
		return err
	}
	return &failureError{topology.Failure{
		Class: unread(err), Message: fmt.Sprintf("%s cannot be read from the job's source: %v.", name, err),
		Hint: "Check that the path is in the source, and leads to nothing outside of it.",
	}}
}

// unread is the class of a file of the source that cannot be read: only an error of the
// machine's can be another one the next time, what the source has cannot.
func unread(err error) topology.Class {
	errno, ok := errors.AsType[syscall.Errno](err)
	switch {
	case !ok, slices.Contains([]syscall.Errno{syscall.ENOENT, syscall.ENOTDIR, syscall.EISDIR, syscall.ELOOP, syscall.ENAMETOOLONG, syscall.EINVAL}, errno):
		return topology.ClassSpecInvalid
	}
	return topology.ClassSource
}

// observeSource finds out which of the mounted parts of the source are files.
func (x *execution) observeSource() error {
	if what := x.spec.UsesSource(); what != "" && x.work.Source == "" {
		return &failureError{topology.Failure{
			Class: topology.ClassSpecInvalid, Message: fmt.Sprintf("%s needs files of a source, but the job has none.", what),
			Hint: "Submit the job with its source: runnerctl submit --source .",
		}}
	}
	root, err := x.sourceRoot()
	if err != nil {
		return err
	}
	defer root.Close()
	x.observed.Files = map[string]bool{}
	for _, svc := range x.spec.Services {
		for _, m := range svc.Volumes {
			if m.Type != topology.MountBind || path.IsAbs(m.Source) {
				continue
			}
			info, err := root.Stat(m.Source)
			switch {
			case err == nil:
				x.observed.Files[m.Source] = !info.IsDir()
			case !errors.Is(err, fs.ErrNotExist):
				return sourceError(m.Source, err)
			}
		}
	}
	return nil
}
