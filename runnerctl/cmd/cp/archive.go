package cp

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/runnerhub/runnerhub/runnerctl/cmdutil"
)

// Bounds of what is unpacked. Bytes are bounded by the archive, which is not compressed.
const (
	maxEntries = 100_000
	maxLeft    = 20 // entries left out that are named
)

// pack writes a file or folder as a tar archive whose entries begin with its name. Links are kept as links; owners are left
// to the other end.
func pack(w io.Writer, root string) error {
	root, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	base := filepath.Base(root)
	if root, err = filepath.EvalSymlinks(root); err != nil { // what a link leads to is meant, under the link's name
		return err
	}
	out := tar.NewWriter(w)
	err = filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		return packOne(out, file, path.Join(base, filepath.ToSlash(rel)), d)
	})
	if err != nil {
		return err
	}
	return out.Close()
}

func packOne(out *tar.Writer, file, name string, d fs.DirEntry) error {
	fi, err := d.Info()
	if err != nil {
		return err
	}
	link := ""
	switch mode := fi.Mode(); {
	case mode.Type() == fs.ModeSymlink:
		if link, err = os.Readlink(file); err != nil {
			return err
		}
	case !mode.IsRegular() && !mode.IsDir():
		return nil // a socket or a device means nothing elsewhere
	}
	h, err := tar.FileInfoHeader(fi, filepath.ToSlash(link))
	if err != nil {
		return err
	}
	h.Name, h.Format = name, tar.FormatPAX
	h.Uid, h.Gid, h.Uname, h.Gname = 0, 0, "", ""
	h.AccessTime, h.ChangeTime = time.Time{}, time.Time{} // reading changes the first
	if fi.IsDir() {
		h.Name += "/"
	}
	if err := out.WriteHeader(h); err != nil || !fi.Mode().IsRegular() {
		return err
	}
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	n, err := io.CopyN(out, f, h.Size)
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("%s has become shorter, %d of %d bytes", file, n, h.Size)
	}
	return err
}

// unpack writes an archive that nobody trusts to a destination: into it where it is a folder, else under its name. It says
// what was left out. Every access goes through the destination's folder, which the system keeps it in, whatever links an
// archive or somebody at work in the folder makes.
func unpack(r io.Reader, dest string) (left []string, err error) {
	folder, name := dest, ""
	if !isFolder(dest) {
		folder, name = filepath.Dir(dest), filepath.Base(dest)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	u := &unpacking{root: root, name: name}
	in := tar.NewReader(r)
	for n := 0; ; n++ {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return u.left, nil
		}
		if err != nil {
			return u.left, fmt.Errorf("the archive is broken: %w", err)
		}
		if n == maxEntries {
			return u.left, fmt.Errorf("there are more than %d files", maxEntries)
		}
		if err := u.entry(h, in); err != nil {
			return u.left, err
		}
	}
}

type unpacking struct {
	root *os.Root
	name string // of the first element of every path; "" keeps the archive's
	left []string
}

func (u *unpacking) leave(h *tar.Header, why string) error {
	if len(u.left) < maxLeft {
		u.left = append(u.left, fmt.Sprintf("%q: %s", h.Name, why))
	} else if len(u.left) == maxLeft {
		u.left = append(u.left, "and more")
	}
	return nil
}

func (u *unpacking) entry(h *tar.Header, r io.Reader) error {
	name, ok := u.place(h.Name)
	if !ok {
		return u.leave(h, "its path leads out of the destination")
	}
	return cmdutil.Blocked(u.root, name, u.make(name, h, r))
}

// make makes an entry in its place.
func (u *unpacking) make(name string, h *tar.Header, r io.Reader) error {
	mode := fs.FileMode(h.Mode) & 0o777 // neither setuid nor the like
	switch h.Typeflag {
	case tar.TypeDir:
		return u.folder(name, mode)
	case tar.TypeReg:
		return u.file(name, mode, h.Size, r)
	case tar.TypeSymlink:
		if !inside(name, h.Linkname) {
			return u.leave(h, "a link that leads out of what is copied")
		}
		return u.replace(name, func() error { return u.root.Symlink(h.Linkname, name) })
	case tar.TypeLink:
		old, ok := u.place(h.Linkname)
		if !ok {
			return u.leave(h, "a link that leads out of what is copied")
		}
		return u.replace(name, func() error { return u.root.Link(old, name) })
	}
	return u.leave(h, "neither a file nor a folder nor a link")
}

// place is where an entry goes, below the destination's folder.
func (u *unpacking) place(entry string) (string, bool) {
	p := path.Clean(strings.TrimPrefix(entry, "./"))
	if p == "." || strings.ContainsRune(p, 0) || !filepath.IsLocal(filepath.FromSlash(p)) {
		return "", false
	}
	if u.name == "" {
		return filepath.FromSlash(p), true
	}
	_, rest, _ := strings.Cut(p, "/")
	return filepath.Join(u.name, filepath.FromSlash(rest)), true
}

// inside says whether a link of an entry stays below the first element of the entry's path.
func inside(name, target string) bool {
	if target == "" || path.IsAbs(target) || filepath.IsAbs(target) {
		return false
	}
	name = filepath.ToSlash(name)
	top, _, _ := strings.Cut(name, "/")
	to := path.Join(path.Dir(name), filepath.ToSlash(target))
	return to == top || strings.HasPrefix(to, top+"/")
}

func (u *unpacking) folder(name string, mode fs.FileMode) error {
	if err := u.parents(name); err != nil {
		return err
	}
	err := u.root.Mkdir(name, mode|0o700) // so that what follows can be written
	if errors.Is(err, fs.ErrExist) {
		fi, statErr := u.root.Lstat(name)
		if statErr == nil && fi.IsDir() {
			return nil
		}
		return fmt.Errorf("%s is there already and no folder, and the copy is one", name)
	}
	return err
}

func (u *unpacking) file(name string, mode fs.FileMode, size int64, r io.Reader) error {
	return u.replace(name, func() error {
		f, err := u.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if err != nil {
			return err
		}
		if _, err = io.CopyN(f, r, size); err != nil {
			_ = f.Close()
			return fmt.Errorf("the archive is broken: %w", err)
		}
		return f.Close()
	})
}

// replace makes an entry in the place of a file or link that was there. A folder is not replaced.
func (u *unpacking) replace(name string, create func() error) error {
	if err := u.parents(name); err != nil {
		return err
	}
	if fi, err := u.root.Lstat(name); err == nil {
		if fi.IsDir() {
			return fmt.Errorf("%s is a folder, and the copy is none", name)
		}
		if err := u.root.Remove(name); err != nil {
			return err
		}
	}
	return create()
}

func (u *unpacking) parents(name string) error {
	if dir := filepath.Dir(name); dir != "." {
		return u.root.MkdirAll(dir, 0o777)
	}
	return nil
}
