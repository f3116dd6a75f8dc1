package attempt

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"strings"

	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/gitignore"
	"github.com/runnerhub/runnerhub/topology/gitpatch"
)

// comparison holds the files of a workspace, as they come, against those that the job
// started with.
type comparison struct {
	before  *sourceTree
	seen    map[string]bool // files of the source that are there still
	links   []string        // hard links, which come without content
	ignored map[string]bool // folders, by whether a rule names them or one that they are in

	deleted, written map[string]string // diffs by path
	bytes            int               // of them
	changes          topology.Changes
	leftOut          []string // the first, with why
}

// entry compares what is at a path of the workspace.
func (p *comparison) entry(h *tar.Header, content io.Reader) error {
	name := h.Name
	if name == "." || h.Typeflag == tar.TypeDir || gitsOwn(name) {
		return nil
	}
	was, known := p.before.files[name]
	if !known && p.isIgnored(name) {
		p.changes.Ignored++
		return nil
	}
	p.seen[name] = true
	if problem := gitpatch.PathProblem(name); problem != "" {
		p.leave(name, "its name "+problem)
		return nil
	}
	switch h.Typeflag {
	case tar.TypeReg:
		return p.file(h, content)
	case tar.TypeLink:
		if len(p.links) == maxLinksFetched {
			p.leave(name, "one of too many hard links")
			return nil
		}
		p.links = append(p.links, name)
		return nil
	case tar.TypeSymlink:
		if known && was.link == h.Linkname {
			return nil
		}
		if path.IsAbs(h.Linkname) || !filepath.IsLocal(path.Join(path.Dir(name), h.Linkname)) {
			p.leave(name, "a link that leads out of the working directory")
			return nil
		}
		if was.size > maxPatched {
			p.leave(name, fmt.Sprintf("more than %d bytes", maxPatched))
			return nil
		}
		return p.diff(name, &gitpatch.File{Mode: gitpatch.Link, Content: []byte(h.Linkname)})
	default:
		p.leave(name, "neither file, folder nor symbolic link")
		return nil
	}
}

// file compares a regular file.
func (p *comparison) file(h *tar.Header, content io.Reader) error {
	name, was := h.Name, p.before.files[h.Name]
	after := &gitpatch.File{Mode: gitpatch.Regular}
	if h.Mode&0o100 != 0 {
		after.Mode = gitpatch.Executable
	}
	if was.regular && was.size == h.Size {
		same, read, err := p.before.same(name, content, h.Size)
		switch {
		case err != nil:
			return err
		case same && was.mode == after.Mode:
			return nil
		case same: // the mode alone, whatever is in it
			text, err := gitpatch.Diff(name, &gitpatch.File{Mode: was.mode}, after)
			p.take(name, text, &p.changes.Modified)
			return err
		}
		content = io.MultiReader(bytes.NewReader(read), content)
	}
	if h.Size > maxPatched || was.size > maxPatched {
		p.leave(name, fmt.Sprintf("more than %d bytes", maxPatched))
		return nil
	}
	var err error
	if after.Content, err = io.ReadAll(content); err != nil {
		return err
	}
	return p.diff(name, after)
}

// diff adds what makes a file what it is now.
func (p *comparison) diff(name string, after *gitpatch.File) error {
	if p.full(name) {
		return nil
	}
	before, err := p.before.file(name)
	if err != nil {
		return err
	}
	count := &p.changes.Modified
	if before == nil {
		count = &p.changes.Added
	}
	text, err := gitpatch.Diff(name, before, after)
	p.take(name, text, count)
	return err
}

// deletions adds the files of the source that are gone.
func (p *comparison) deletions() error {
	for name, was := range p.before.files {
		switch {
		case p.seen[name] || p.full(name):
			continue
		case gitpatch.PathProblem(name) != "":
			p.leave(name, "deleted, and its name "+gitpatch.PathProblem(name))
			continue
		case was.size > maxPatched:
			p.leave(name, fmt.Sprintf("deleted, with more than %d bytes", maxPatched))
			continue
		}
		before, err := p.before.file(name)
		if err != nil {
			return err
		}
		text, err := gitpatch.Diff(name, before, nil)
		if err != nil {
			return err
		}
		if p.fits(name, text) {
			p.deleted[name] = text
			p.changes.Deleted++
		}
	}
	return nil
}

func (p *comparison) take(name, text string, count *int) {
	if text != "" && p.fits(name, text) {
		p.written[name] = text
		*count++
	}
}

// full leaves a file out where there is no room for any.
func (p *comparison) full(name string) bool { return p.bytes >= maxPatch && !p.fits(name, " ") }

// fits counts a diff, or leaves it out.
func (p *comparison) fits(name, text string) bool {
	if p.bytes+len(text) > maxPatch {
		p.leave(name, fmt.Sprintf("the patch would have more than %d bytes", maxPatch))
		return false
	}
	p.bytes += len(text)
	return true
}

func (p *comparison) leave(name, why string) {
	if p.changes.LeftOut++; len(p.leftOut) < maxLeftOut {
		p.leftOut = append(p.leftOut, fmt.Sprintf("%q (%s)", clipName(strings.ToValidUTF8(name, "\uFFFD")), why))
	}
}

// gitsOwn says whether a path is git's, or in a folder of git's.
func gitsOwn(name string) bool {
	for element := range strings.SplitSeq(name, "/") {
		if element == ".git" {
			return true
		}
	}
	return false
}

// isIgnored says whether the rules of the source are about a path, or a folder that it is in.
func (p *comparison) isIgnored(name string) bool {
	return len(p.before.rules) > 0 && (gitignore.Ignored(p.before.rules, name, false) || p.ignoredFolder(path.Dir(name)))
}

func (p *comparison) ignoredFolder(dir string) bool {
	if dir == "." {
		return false
	}
	is, known := p.ignored[dir]
	if !known {
		is = p.ignoredFolder(path.Dir(dir)) || gitignore.Ignored(p.before.rules, dir, true)
		if p.ignored == nil {
			p.ignored = map[string]bool{}
		}
		p.ignored[dir] = is
	}
	return is
}
