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
)

// file is one that is downloaded. It is reached by root alone, which no path and no symbolic link leads out of.
type file struct {
	client *mcpclient.Client
	root   *os.Root
	mcp.Artifact
	force bool
}

// get downloads the file beside its place, and moves it there once it is whole and right.
func (f file) get(ctx context.Context) (err error) {
	if !filepath.IsLocal(filepath.FromSlash(f.Path)) {
		return fmt.Errorf("the hub names a file that is outside of the folder: %q", f.Path)
	}
	if there, err := f.there(); there || err != nil {
		return err
	}
	dir := path.Dir(f.Path)
	if err := f.root.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the folder of %s: %w", f.Path, err)
	}
	mode := fs.FileMode(0o644)
	if f.Executable {
		mode = 0o755
	}
	part := path.Join(dir, "."+path.Base(f.Path)+"."+rand.Text()[:8]+".part")
	out, err := f.root.OpenFile(part, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return fmt.Errorf("write %s: %w", f.Path, err)
	}
	defer func() {
		_ = out.Close()
		_ = f.root.Remove(part) // it is not there any more when all went well
	}()
	if err := f.fetch(ctx, out); err != nil {
		return fmt.Errorf("download %s: %w", f.Path, err)
	}
	if err := out.Close(); err != nil {
		return fmt.Errorf("write %s: %w", f.Path, err)
	}
	if f.force {
		err = f.root.Rename(part, f.Path)
	} else {
		err = f.place(part, f.root.Link)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", f.Path, err)
	}
	return nil
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

// there says whether the file is in its place already; another one in its place is an error.
func (f file) there() (bool, error) {
	in, err := f.root.Open(f.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer in.Close()
	hash := sha256.New()
	n, err := io.Copy(hash, in)
	if err == nil && n == f.Size && hex.EncodeToString(hash.Sum(nil)) == f.SHA256 {
		return true, nil
	}
	if f.force {
		return false, nil
	}
	return false, &mcp.Error{
		Code: mcp.CodeConflict, Message: fmt.Sprintf("there is another %s already", f.Path),
		Hint: "download to another folder with --dir, or write over it with --force",
	}
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
