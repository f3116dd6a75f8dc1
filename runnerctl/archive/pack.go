package archive

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"

	"github.com/klauspost/compress/zstd"
)

// Pack writes the named entries of a tree to an archive. names are slash-separated,
// a folder before what is in it and each once; their order is part of the archive.
// Of permissions only a file's x of its owner is kept, of times nothing. progress,
// which may be nil, is told of bytes that were read.
func Pack(ctx context.Context, to io.Writer, tree *os.Root, names []string, progress func(bytes int64)) error {
	// One thread and one level: what the bytes depend on is the tree alone.
	packed, err := zstd.NewWriter(to, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedDefault))
	if err != nil {
		return err
	}
	w := tar.NewWriter(packed)
	for _, name := range names {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := packEntry(w, tree, name, progress); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	return packed.Close()
}

func packEntry(w *tar.Writer, tree *os.Root, name string, progress func(int64)) error {
	info, err := tree.Lstat(name)
	if err != nil {
		return Unreadable(name, err)
	}
	header := &tar.Header{Name: path.Clean(name), Mode: 0o644, Format: tar.FormatPAX}
	switch info.Mode().Type() {
	case fs.ModeDir:
		header.Typeflag, header.Name, header.Mode = tar.TypeDir, header.Name+"/", 0o755
		return w.WriteHeader(header)
	case fs.ModeSymlink:
		header.Typeflag, header.Mode = tar.TypeSymlink, 0o777
		if header.Linkname, err = tree.Readlink(name); err != nil {
			return Unreadable(name, err)
		}
		return w.WriteHeader(header)
	case 0:
	default:
		return &Error{clip(name) + " became something that cannot be packed", ""}
	}
	f, err := tree.Open(name)
	if err != nil {
		return Unreadable(name, err)
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil {
		return Unreadable(name, err)
	}
	if info.Mode()&0o100 != 0 {
		header.Mode = 0o755
	}
	header.Typeflag, header.Size = tar.TypeReg, info.Size()
	if err := w.WriteHeader(header); err != nil {
		return err
	}
	n, err := io.Copy(w, io.TeeReader(io.LimitReader(f, header.Size), counter(progress)))
	if err == nil && n < header.Size {
		return &Error{fmt.Sprintf("%s became shorter while it was packed", clip(name)), "Pack again when nothing writes to the tree."}
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok && e.Op == "read" { // and not the archive's file, where it is written
		return Unreadable(name, err)
	}
	return err
}

// counter passes on how many bytes are written to it.
type counter func(int64)

func (c counter) Write(p []byte) (int, error) {
	if c != nil {
		c(int64(len(p)))
	}
	return len(p), nil
}
