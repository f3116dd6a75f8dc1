package host

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/runnerhub/runnerhub/topology"
)

// files opens what a container has of its own. Nothing outside of it can be reached through it, whatever links the
// job has made.
func (c *container) files() (*os.Root, error) { return os.OpenRoot(c.path("/")) }

// inside is an absolute path of a container as one below its root.
func inside(p string) string {
	if p = strings.TrimPrefix(path.Clean("/"+p), "/"); p == "" {
		return "."
	}
	return p
}

// OpenDir makes a directory for the container's user.
func (e *Engine) OpenDir(ctx context.Context, name, dir string) error {
	op := "make a directory in " + name
	c, err := e.find(ctx, op, name)
	if err != nil {
		return err
	}
	root, err := c.files()
	if err != nil {
		return fault(op, err)
	}
	defer root.Close()
	if err := root.MkdirAll(inside(dir), 0o700); err != nil {
		return fault(op, err)
	}
	return fault(op, c.give(root, inside(dir)))
}

// give makes the container's user the owner of a file that this process has made.
func (c *container) give(root *os.Root, name string) error {
	if !c.user.Switch {
		return nil
	}
	return root.Lchown(name, c.user.UID, c.user.GID)
}

// CopyTo unpacks a stream. Everything in it becomes the job's user's own.
func (e *Engine) CopyTo(ctx context.Context, name, dir string, stream io.Reader) error {
	op := "copy files to " + name
	c, err := e.find(ctx, op, name)
	if err != nil {
		return err
	}
	root, err := c.files()
	if err != nil {
		return fault(op, err)
	}
	defer root.Close()
	if info, err := root.Stat(inside(dir)); err != nil || !info.IsDir() {
		return faultf(topology.KindNotFound, op, "there is no directory %s", dir)
	}
	for archive := tar.NewReader(stream); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = ended(ctx, op)
		}
		if err == nil {
			err = c.unpack(root, inside(path.Join(dir, header.Name)), header, archive)
		}
		if err != nil {
			return fault(op, err)
		}
	}
}

// unpack makes one entry of a stream. What is neither file, folder nor link is left out.
func (c *container) unpack(root *os.Root, name string, header *tar.Header, content io.Reader) error {
	if name == "." {
		return nil
	}
	mode := fs.FileMode(header.Mode).Perm() &^ 0o022 // in containers nobody else is there
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	switch header.Typeflag {
	case tar.TypeDir:
		if err := root.Mkdir(name, mode|0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if err := root.Chmod(name, mode|0o700); err != nil {
			return err
		}
	case tar.TypeSymlink:
		if err := root.Symlink(header.Linkname, name); err != nil {
			return err
		}
	case tar.TypeReg:
		f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
		if err != nil {
			return err
		}
		_, err = io.Copy(f, content)
		if err == nil {
			err = f.Chmod(mode)
		}
		if closeErr := f.Close(); err == nil {
			err = closeErr
		}
		if err == nil && !header.ModTime.IsZero() {
			err = root.Chtimes(name, header.ModTime, header.ModTime)
		}
		if err != nil {
			return err
		}
	default:
		return nil
	}
	return c.give(root, name)
}

// CopyFrom packs what is at a path.
func (e *Engine) CopyFrom(ctx context.Context, name, from string) (io.ReadCloser, error) {
	op := "copy files from " + name
	c, err := e.find(ctx, op, name)
	if err != nil {
		return nil, err
	}
	root, err := c.files()
	if err != nil {
		return nil, fault(op, err)
	}
	if _, err := root.Lstat(inside(from)); err != nil {
		_ = root.Close()
		return nil, fault(op, err)
	}
	reader, writer := io.Pipe()
	go func() { // ends when all is packed, or when the reader is closed
		defer root.Close()
		w := tar.NewWriter(writer)
		err := pack(ctx, w, root, inside(from))
		if err == nil {
			err = w.Close()
		}
		writer.CloseWithError(fault(op, err))
	}()
	return reader, nil
}

// pack writes what is at a path, by names that begin with the path's last element.
func pack(ctx context.Context, w *tar.Writer, root *os.Root, from string) error {
	above := path.Dir(from)
	return fs.WalkDir(readable{root}, from, func(name string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // a process of the job's has just removed it
		case err != nil:
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		header := &tar.Header{Name: strings.TrimPrefix(strings.TrimPrefix(name, above), "/"), Mode: int64(info.Mode().Perm()), ModTime: info.ModTime()}
		switch info.Mode().Type() {
		case fs.ModeDir:
			header.Typeflag, header.Name = tar.TypeDir, header.Name+"/"
			return w.WriteHeader(header)
		case fs.ModeSymlink:
			header.Typeflag = tar.TypeSymlink
			if header.Linkname, err = root.Readlink(name); err != nil {
				return err
			}
			return w.WriteHeader(header)
		case 0:
			return packFile(w, root, name, header)
		}
		return nil // neither file, folder nor link
	})
}

// packFile writes a file as it is now. One that has become something else meanwhile is left out.
func packFile(w *tar.Writer, root *os.Root, name string, header *tar.Header) error {
	f, err := readable{root}.open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return err
	}
	header.Typeflag, header.Size = tar.TypeReg, info.Size()
	if err := w.WriteHeader(header); err != nil {
		return err
	}
	n, err := io.Copy(w, io.LimitReader(f, header.Size))
	if err == nil && n < header.Size {
		err = fmt.Errorf("%s has become shorter while it was read", name)
	}
	return err
}
