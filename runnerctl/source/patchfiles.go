package source

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"

	"github.com/runnerhub/runnerhub/runnerctl/archive"
	"github.com/runnerhub/runnerhub/topology/gitpatch"
)

// state is what a file is besides its content.
type state struct {
	link bool
	perm fs.FileMode
}

// with is the state that a change leaves.
func (s state) with(m gitpatch.Mode) state {
	switch m {
	case gitpatch.Regular:
		return state{perm: 0o644}
	case gitpatch.Executable:
		return state{perm: 0o755}
	case gitpatch.Link:
		return state{link: true}
	}
	return s
}

// begin returns what a change begins with: the file, or what is kept of it.
func (p *patcher) begin(c *gitpatch.Change, misfit func(hint, format string, args ...any) error) ([]byte, state, error) {
	if was, kept := p.originals[c]; kept {
		return was.content, was.was, nil
	}
	return p.read(c, misfit)
}

// read reads what a change begins with, the content where that is to be edited.
func (p *patcher) read(c *gitpatch.Change, misfit func(hint, format string, args ...any) error) ([]byte, state, error) {
	if c.From == "" {
		return nil, state{perm: 0o644}, nil
	}
	const paths = "Paths are below the job's working directory: where the source has a path, they are below that."
	info, err := p.root.Lstat(c.From)
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR):
		return nil, state{}, misfit(paths, "the source has no file %s", c.From)
	case err != nil:
		return nil, state{}, err
	case info.Mode().Type() == fs.ModeSymlink:
		if c.Mode == gitpatch.Regular || c.Mode == gitpatch.Executable {
			return nil, state{}, misfit("Delete the link and make the file anew, as git diff does.", "%s is a symbolic link in the source", c.From)
		}
		target, err := p.root.Readlink(c.From)
		return []byte(target), state{link: true}, err
	case !info.Mode().IsRegular():
		return nil, state{}, misfit(paths, "%s is no file in the source", c.From)
	}
	was := state{perm: info.Mode().Perm()}
	switch {
	case c.Mode == gitpatch.Link:
		return nil, state{}, misfit("Delete the file and make the link anew, as git diff does.", "%s is a file in the source and not a link", c.From)
	case !c.Edits():
		return nil, was, nil
	case info.Size() > gitpatch.MaxFile:
		return nil, state{}, misfit("", "the file has %d bytes, and one that is patched may have %d", info.Size(), gitpatch.MaxFile)
	}
	old, err := p.root.ReadFile(c.From)
	return old, was, err
}

// move gives a file another name or mode, or copies it.
func (p *patcher) move(c *gitpatch.Change, was state) error {
	is := was.with(c.Mode)
	if c.Copy && c.From != c.To {
		if is.link {
			target, err := p.root.Readlink(c.From)
			if err != nil {
				return err
			}
			return p.write(c.To, is, bytes.NewReader([]byte(target)), int64(len(target)))
		}
		in, err := p.root.Open(c.From)
		if err != nil {
			return err
		}
		defer in.Close()
		info, err := in.Stat()
		if err != nil {
			return err
		}
		return p.write(c.To, is, in, info.Size())
	}
	if c.From != c.To {
		if is.link { // where it leads depends on where it is
			target, err := p.root.Readlink(c.From)
			if err != nil {
				return err
			}
			if !archive.Inside(c.To, target) {
				return leadsOut(c.To)
			}
		}
		if err := p.makeFolder(c.To); err != nil {
			return err
		}
		if err := p.root.Rename(c.From, c.To); err != nil {
			return err
		}
		p.prune(path.Dir(c.From))
	}
	if is.link {
		return nil
	}
	return p.root.Chmod(c.To, is.perm)
}

// write makes a file that is not there.
func (p *patcher) write(name string, is state, content io.Reader, size int64) error {
	if err := p.budget.Spend(name, size); err != nil {
		return err
	}
	if err := p.makeFolder(name); err != nil {
		return err
	}
	if is.link {
		target, err := io.ReadAll(content)
		if err != nil {
			return err
		}
		if !archive.Inside(name, string(target)) {
			return leadsOut(name)
		}
		return p.root.Symlink(string(target), name)
	}
	f, err := p.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	if err == nil {
		err = f.Chmod(is.perm) // whatever the process's umask is
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}

// leadsOut refuses a link.
func leadsOut(name string) error {
	return lastingf("Links of a source stay inside.", "The patch makes %s a symbolic link that leads out of the source.", name)
}

func (p *patcher) makeFolder(name string) error {
	if dir := path.Dir(name); dir != "." {
		return p.root.MkdirAll(dir, 0o755)
	}
	return nil
}

// prune removes folders that are empty now, as git does.
func (p *patcher) prune(dir string) {
	for ; dir != "."; dir = path.Dir(dir) {
		if p.root.Remove(dir) != nil { // it is not empty
			return
		}
	}
}

// linkAbove is the first folder of a path that is a symbolic link, "" for none.
func (p *patcher) linkAbove(name string) string {
	for dir := path.Dir(name); dir != "." && dir != "/"; dir = path.Dir(dir) {
		if info, err := p.root.Lstat(dir); err == nil && info.Mode().Type() == fs.ModeSymlink {
			return dir
		}
	}
	return ""
}
