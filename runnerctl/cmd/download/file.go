package download

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/mcp/mcpclient"
	"github.com/runnerhub/runnerhub/runnerctl/cmdutil"
)

// file is one that is downloaded. It is reached by root alone, which no path and no symbolic link leads out of.
type file struct {
	client *mcpclient.Client
	root   *os.Root
	mcp.Artifact
	force bool
}

// get downloads the file beside its place, and moves it there once it is whole and right.
func (f file) get(ctx context.Context) error {
	if !filepath.IsLocal(filepath.FromSlash(f.Path)) {
		return fmt.Errorf("the hub names a file that is outside of the folder: %q", f.Path)
	}
	if there, err := f.there(); there || err != nil {
		return err
	}
	dir := path.Dir(f.Path)
	if err := f.root.MkdirAll(dir, 0o755); err != nil {
		return cmdutil.Blocked(f.root, f.Path, err)
	}
	mode := fs.FileMode(0o644)
	if f.Executable {
		mode = 0o755
	}
	part := path.Join(dir, ".runnerhub-"+rand.Text()[:8]+".part") // short, whatever the file's name is
	out, err := f.root.OpenFile(part, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return cmdutil.Blocked(f.root, f.Path, err)
	}
	defer func() {
		_ = out.Close()
		_ = f.root.Remove(part) // it is not there any more when all went well
	}()
	if err := f.fetch(ctx, out); err != nil {
		return f.named(err)
	}
	if err := out.Close(); err != nil {
		return cmdutil.Blocked(f.root, f.Path, err)
	}
	if f.force {
		err = f.root.Rename(part, f.Path)
	} else if err = f.place(part, f.root.Link); errors.Is(err, fs.ErrExist) {
		return f.taken("another") // that came meanwhile
	}
	return cmdutil.Blocked(f.root, f.Path, err)
}

// place gives a whole file its name, and never replaces what came there meanwhile. A link does that in one step, where
// the file system has links: exFAT and many that are mounted from elsewhere have none, and say so in many ways. There an empty
// file of our own takes the name first, and a rename replaces that one. Whoever is killed in between leaves it.
func (f file) place(part string, link func(old, name string) error) error {
	err := link(part, f.Path)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	own, err := f.root.OpenFile(f.Path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err = own.Close(); err == nil {
		err = f.root.Rename(part, f.Path)
	}
	if err != nil {
		_ = f.root.Remove(f.Path)
	}
	return err
}

// there says whether the file is in its place already. Something else there is an error, unless the file may replace it.
// Nothing is followed or opened but a file: a link may lead anywhere, and whoever opens a pipe waits for its other end.
func (f file) there() (bool, error) {
	info, err := f.root.Lstat(f.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, cmdutil.Blocked(f.root, f.Path, err)
	case info.IsDir():
		return false, &mcp.Error{
			Code: mcp.CodeConflict, Message: fmt.Sprintf("there is a folder %s where the file should be", f.Path),
			Hint: "download to another folder with --dir, or move the folder that is there",
		}
	case info.Mode().IsRegular():
		if same, err := f.same(info); same || err != nil {
			return same, err
		}
	}
	switch {
	case f.force:
		return false, nil
	case info.Mode().Type() == fs.ModeSymlink:
		return false, f.taken("a symbolic link")
	case !info.Mode().IsRegular():
		return false, f.taken("a pipe, socket or device")
	}
	return false, f.taken("another")
}

// taken is the error of a name that something else has.
func (f file) taken(by string) error {
	return &mcp.Error{
		Code: mcp.CodeConflict, Message: fmt.Sprintf("there is %s %s already", by, f.Path),
		Hint: "download to another folder with --dir, or replace what is there with --force",
	}
}

// same says whether the file that is in its place has the same bytes. One that cannot be read is another one to --force.
func (f file) same(info fs.FileInfo) (bool, error) {
	if info.Size() != f.Size {
		return false, nil
	}
	in, err := f.root.Open(f.Path)
	if err != nil {
		if f.force {
			return false, nil
		}
		return false, fmt.Errorf("there is a %s already, which cannot be read: %w", f.Path, errors.Unwrap(err))
	}
	defer in.Close()
	hash := sha256.New()
	if _, err = io.Copy(hash, in); err != nil {
		return false, cmdutil.Blocked(f.root, f.Path, err)
	}
	return hex.EncodeToString(hash.Sum(nil)) == f.SHA256, nil
}

// fetch copies the file's bytes, from where it was cut short when a connection breaks, and checks them.
func (f file) fetch(ctx context.Context, out io.Writer) error {
	hash := sha256.New()
	to := io.MultiWriter(out, hash)
	for at := int64(0); at < f.Size; {
		body, err := f.client.Download(ctx, f.Artifact, at)
		if err != nil {
			return err
		}
		n, err := io.Copy(to, io.LimitReader(body, f.Size-at))
		_ = body.Close()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if _, ours := errors.AsType[*fs.PathError](err); ours { // and not the connection's
			return err
		}
		if n == 0 { // no progress: what is wrong does not pass by itself
			if err == nil {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
		at += n
	}
	if sum := hex.EncodeToString(hash.Sum(nil)); sum != f.SHA256 {
		return fmt.Errorf("its bytes have the SHA-256 %s and should have %s", sum, f.SHA256)
	}
	return nil
}

// named adds the file to an error of its transfer.
func (f file) named(err error) error {
	if e, ok := errors.AsType[*mcp.Error](err); ok {
		with := *e
		with.Message = f.Path + ": " + e.Message
		return &with
	}
	if _, ok := errors.AsType[*fs.PathError](err); ok {
		return cmdutil.Blocked(f.root, f.Path, err)
	}
	return fmt.Errorf("%s: %w", f.Path, err)
}
