package archive

import (
	"archive/tar"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// window bounds the memory that an archive can make unpacking take.
const window = 64 << 20

// Unpack unpacks an archive into an empty folder. Whatever it holds, nothing is
// written anywhere else; what Pack would not have written is an *Error.
func Unpack(ctx context.Context, from io.Reader, dir string, limits Limits) error {
	plain, err := zstd.NewReader(from, zstd.WithDecoderMaxWindow(window), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return broken(err)
	}
	defer plain.Close()
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	u := &unpacker{root: root, budget: Budget{Limits: limits.WithDefaults()}, made: map[string]bool{".": true}}
	for r := tar.NewReader(&bounded{ctx: ctx, from: plain, left: u.budget.Limits.stream()}); ; {
		header, err := r.Next()
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return broken(err)
		}
		if err := u.entry(header, r); err != nil {
			return err
		}
	}
}

// bounded is a tar stream that ends with ctx, and after as many bytes as a tree within
// the limits can take: one header of it may have any number of others before it.
type bounded struct {
	ctx  context.Context
	from io.Reader
	left int64
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	if b.left <= 0 {
		return 0, errors.New("it is longer than what is in it")
	}
	n, err := b.from.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

const packIt = "Pack it with `runnerctl submit --source`."

func broken(err error) error { return &Error{"it cannot be read: " + err.Error(), packIt} }

type unpacker struct {
	root   *os.Root
	budget Budget
	made   map[string]bool // the folders: real ones, as each was made here
}

func (u *unpacker) entry(h *tar.Header, content io.Reader) error {
	name := path.Clean(h.Name)
	bad := func(why string) error { return &Error{"its entry " + clip(h.Name) + " " + why, packIt} }
	switch {
	case filepath.Separator != '/' && strings.ContainsRune(h.Name, filepath.Separator):
		return &Error{"its entry " + clip(h.Name) + " has a name that this runner's system cannot have", "Run the job on a runner with Linux, or rename the file."}
	case strings.Contains(h.Name, "\x00") || !filepath.IsLocal(filepath.FromSlash(h.Name)):
		return bad("leads out of it")
	case name == "." && h.Typeflag == tar.TypeDir:
		return nil
	case !u.made[path.Dir(name)]:
		return bad("is in no folder of it")
	}
	// The whole size is counted before a byte is written, and no more is read than that.
	if err := u.budget.Spend(name, max(h.Size, 0)); err != nil {
		return err
	}
	var err error
	switch h.Typeflag {
	case tar.TypeDir:
		if err = u.root.Mkdir(name, 0o755); err == nil {
			u.made[name] = true
			err = u.root.Chmod(name, 0o755) // whatever the process's umask is
		}
	case tar.TypeReg:
		err = u.file(name, h, content)
	case tar.TypeSymlink:
		if !Inside(name, h.Linkname) {
			return bad("is a link that leads out of it")
		}
		err = u.root.Symlink(h.Linkname, name)
	default:
		return bad("is neither file, folder nor symbolic link")
	}
	if errors.Is(err, fs.ErrExist) {
		return bad("is there twice")
	}
	return err
}

func (u *unpacker) file(name string, h *tar.Header, content io.Reader) error {
	f, err := u.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err = io.Copy(f, content); err != nil {
		if _, write := errors.AsType[*fs.PathError](err); !write {
			err = broken(err)
		}
	}
	if err == nil {
		perm := fs.FileMode(0o644)
		if h.Mode&0o100 != 0 {
			perm = 0o755
		}
		err = f.Chmod(perm)
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}
