package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"syscall"

	"github.com/runnerhub/runnerhub/runnerctl/archive"
	"github.com/runnerhub/runnerhub/topology/gitpatch"
)

// maxOriginals is how many bytes of files are kept as they were before the patch.
const maxOriginals = 64 << 20

// maxNotes is how many hunks the log names that were found elsewhere.
const maxNotes = 5

// applyPatch changes a tree by a patch of the spec's, one file after the other. No
// link is followed, and what the patch writes is counted like a tree of its own.
func applyPatch(ctx context.Context, tree, text string, limits archive.Limits, say func(string)) error {
	if text == "" {
		return nil
	}
	changes, err := gitpatch.Parse(text)
	if bad, ok := errors.AsType[*gitpatch.ParseError](err); ok {
		return lastingf(bad.Hint, "The job's patch cannot be read: %v.", bad)
	}
	root, err := os.OpenRoot(tree)
	if err != nil {
		return err
	}
	defer root.Close()
	p := patcher{root: root, budget: archive.Budget{Limits: limits.WithDefaults()}}
	if err := p.keepOriginals(changes); err != nil {
		return err
	}
	for _, c := range changes {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := p.change(c); err != nil {
			return unpatched(c, err)
		}
	}
	for i, note := range p.notes {
		if i == maxNotes {
			say(fmt.Sprintf("… and %d more hunks of the patch", len(p.notes)-i))
			break
		}
		say("Of the patch " + note)
	}
	say(fmt.Sprintf("Applied the patch: %s", counted(len(changes), "file")))
	return nil
}

// unpatched says why a patch is not applied.
func unpatched(c *gitpatch.Change, err error) error {
	if bad, ok := errors.AsType[*gitpatch.Conflict](err); ok {
		return lastingf(bad.Hint, "The patch does not fit the source: %v.", bad)
	}
	_, over := errors.AsType[*archive.Error](err)
	_, worded := errors.AsType[*problem](err)
	if over || worded || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return err
	}
	return lastingf("Name it differently, or look at what the source has at that path.", "The patch cannot change %s: %s.", c.Name(), reason(err))
}

type patcher struct {
	root   *os.Root
	budget archive.Budget
	notes  []string // hunks that were found elsewhere
	// originals are files as they were before the patch, by the changes that copy them.
	originals map[*gitpatch.Change]original
}

// original is a file before the patch.
type original struct {
	content []byte
	was     state
}

// keepOriginals reads what is copied after it was changed: git means the file as it was
// before all of the patch. Anything else goes in the order of the text, so that a patch
// may be several ones behind each other.
func (p *patcher) keepOriginals(changes []*gitpatch.Change) error {
	p.originals = map[*gitpatch.Change]original{}
	touched, kept := map[string]bool{}, int64(0)
	for _, c := range changes {
		info, err := p.root.Lstat(c.From)
		if c.Copy && c.From != c.To && touched[c.From] && err == nil && info.Mode().IsRegular() && p.linkAbove(c.From) == "" {
			if kept += info.Size(); kept > maxOriginals {
				return lastingf("Split the patch, or make it with git diff --no-renames.", "The patch copies more than %d bytes of files that it changes.", maxOriginals)
			}
			content, err := p.root.ReadFile(c.From)
			if err != nil {
				return err
			}
			p.originals[c] = original{content, state{perm: info.Mode().Perm()}}
		}
		touched[c.From] = touched[c.From] || !c.Copy
		touched[c.To] = true
	}
	return nil
}

// change applies the change of one file.
func (p *patcher) change(c *gitpatch.Change) error {
	misfit := func(hint, format string, args ...any) error {
		return &gitpatch.Conflict{File: c.Name(), Line: c.Line, Message: fmt.Sprintf(format, args...), Hint: hint}
	}
	for _, name := range []string{c.From, c.To} {
		if link := p.linkAbove(name); link != "" {
			return misfit("Patch what the link leads to.", "%s is a symbolic link, and nothing behind it is patched", link)
		}
	}
	if c.To != "" && c.To != c.From {
		if _, err := p.root.Lstat(c.To); err == nil {
			return misfit("Leave it out of the patch, or change the file that is there.", "%s is in the source already", c.To)
		}
	}
	old, was, err := p.begin(c, misfit)
	if err != nil {
		return err
	}
	_, kept := p.originals[c]
	if !kept && !c.Edits() && c.From != "" && c.To != "" {
		return p.move(c, was)
	}
	content, notes, err := c.Apply(old)
	if err != nil {
		return err
	}
	p.notes = append(p.notes, notes...)
	if c.From != "" && !(c.Copy && c.From != c.To) {
		if err := p.root.Remove(c.From); err != nil {
			return err
		}
	}
	if c.To == "" {
		p.prune(path.Dir(c.From))
		return nil
	}
	if err := p.write(c.To, was.with(c.Mode), bytes.NewReader(content), int64(len(content))); err != nil {
		return err
	}
	if c.From != "" && c.From != c.To && !c.Copy {
		p.prune(path.Dir(c.From))
	}
	return nil
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
