// Package worktree finds out what of a working tree goes to a job, and packs it.
package worktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/docker/go-units"
	"github.com/moby/patternmatcher"
	"github.com/moby/patternmatcher/ignorefile"

	"github.com/runnerhub/runnerhub/runnerctl/archive"
	"github.com/runnerhub/runnerhub/topology/gitignore"
)

// The names of the files that say what stays out.
const (
	gitIgnore    = ".gitignore"
	ownIgnore    = ".runnerhubignore"
	dockerIgnore = ".dockerignore"
	maxIgnore    = 1 << 20 // bytes that are read of one
)

// Tree is what of a working tree goes to a job.
type Tree struct {
	Dir   string
	Names []string // slash-separated, in order, a folder before what is in it
	Files int      // of Names, those that are no folders
	Bytes int64    // of the files

	Ignored int // files and folders that a rule leaves out
	// Links are symbolic links that are left out since they lead out of the tree,
	// and Other what is neither file, folder nor link.
	Links []string
	Other int
}

// Scan looks through a folder. git's own files stay out, and so does what
// .gitignore and .runnerhubignore files ignore, each for the folder that it is in and
// the latter with the last word; but a file that git keeps all the same goes. A
// .dockerignore counts where there is neither of them at the top. A folder over a
// limit is an *archive.Error that names what is largest in it.
func Scan(ctx context.Context, dir string, limits archive.Limits) (*Tree, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	s := &scan{
		ctx: ctx, root: root, tree: &Tree{Dir: dir}, budget: archive.Budget{Limits: limits.WithDefaults()},
		keep: tracked(ctx, dir), sizes: map[string]int64{},
	}
	if err := s.begin(); err != nil {
		return nil, err
	}
	if err := s.folder(".", s.rules, false); err != nil {
		return nil, err
	}
	slices.Sort(s.tree.Links)
	return s.tree, nil
}

type scan struct {
	ctx    context.Context
	root   *os.Root
	tree   *Tree
	budget archive.Budget
	keep   map[string]bool
	rules  []gitignore.Rule // of .git/info/exclude
	docker *patternmatcher.PatternMatcher
	sizes  map[string]int64 // of what is at the top
}

// begin reads the rules that hold for the whole tree.
func (s *scan) begin() error {
	text, err := s.read(".git/info/exclude")
	if err != nil {
		return err
	}
	s.rules = gitignore.Parse(".", text)
	for _, name := range []string{gitIgnore, ownIgnore} {
		if _, err := s.root.Lstat(name); err == nil {
			return nil
		}
	}
	text, err = s.read(dockerIgnore)
	if err != nil || len(text) == 0 {
		return err
	}
	patterns, err := ignorefile.ReadAll(bytes.NewReader(text))
	if err == nil {
		s.docker, err = patternmatcher.New(patterns)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", dockerIgnore, err)
	}
	return nil
}

// read returns an ignore file, nothing where there is none.
func (s *scan) read(name string) ([]byte, error) {
	info, err := s.root.Stat(name)
	switch {
	case err != nil || !info.Mode().IsRegular(): // also a link that leads out, which git does not follow either
		return nil, nil //nolint:nilerr // there is none
	case info.Size() > maxIgnore:
		return nil, fmt.Errorf("%s is larger than 1 MiB", name)
	}
	text, err := s.root.ReadFile(name)
	if err != nil {
		return nil, archive.Unreadable(name, err)
	}
	return text, nil
}

// folder takes in a folder, whose own name is in the tree already. gone says that it is
// ignored and only there for what git keeps in it.
func (s *scan) folder(dir string, rules []gitignore.Rule, gone bool) error {
	if s.ctx.Err() != nil {
		return context.Cause(s.ctx)
	}
	// Rules of a deeper folder, and of .runnerhubignore, come later and win.
	for _, name := range []string{gitIgnore, ownIgnore} {
		text, err := s.read(path.Join(dir, name))
		if err != nil {
			return err
		}
		rules = append(slices.Clip(rules), gitignore.Parse(dir, text)...)
	}
	entries, err := fs.ReadDir(s.root.FS(), dir)
	if err != nil {
		return archive.Unreadable(dir, err)
	}
	for _, d := range entries {
		if err := s.entry(path.Join(dir, d.Name()), d, rules, gone); err != nil {
			return err
		}
	}
	return nil
}

func (s *scan) entry(name string, d fs.DirEntry, rules []gitignore.Rule, gone bool) error {
	if d.Name() == ".git" {
		return nil
	}
	if s.docker == nil {
		gone = gone || gitignore.Ignored(rules, name, d.IsDir())
	} else if drop, err := s.dockerDrops(name, d.IsDir()); err != nil {
		return err
	} else if drop {
		gone = true
	}
	if gone && !s.keep[name] {
		s.tree.Ignored++
		return nil
	}
	info, err := d.Info()
	if errors.Is(err, fs.ErrNotExist) { // gone since it was listed
		return nil
	}
	if err != nil {
		return archive.Unreadable(name, err)
	}
	size := int64(0)
	switch info.Mode().Type() {
	case fs.ModeDir:
	case fs.ModeSymlink:
		target, err := s.root.Readlink(name)
		if err != nil {
			return archive.Unreadable(name, err)
		}
		if !archive.Inside(name, target) {
			s.tree.Links = append(s.tree.Links, name)
			return nil
		}
	case 0:
		size = info.Size()
	default:
		s.tree.Other++
		return nil
	}
	top, _, _ := strings.Cut(name, "/")
	s.sizes[top] += size
	if err := s.budget.Spend(name, size); err != nil {
		return s.explain(err)
	}
	s.tree.Names = append(s.tree.Names, name)
	if d.IsDir() {
		return s.folder(name, rules, gone)
	}
	s.tree.Files++
	s.tree.Bytes += size
	return nil
}

// dockerDrops says whether a .dockerignore leaves a path out.
func (s *scan) dockerDrops(name string, isDir bool) (bool, error) {
	drop, err := s.docker.MatchesOrParentMatches(name)
	if drop && isDir && s.docker.Exclusions() { // something in it may come back
		drop = false
	}
	return drop, err
}

// explain adds to a limit what is largest in the tree.
func (s *scan) explain(err error) error {
	over, ok := errors.AsType[*archive.Error](err)
	if !ok {
		return err
	}
	names := make([]string, 0, len(s.sizes))
	for name := range s.sizes {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return int(min(1, max(-1, s.sizes[b]-s.sizes[a]))) })
	var largest []string
	for _, name := range names[:min(3, len(names))] {
		largest = append(largest, fmt.Sprintf("%s (%s)", name, units.BytesSize(float64(s.sizes[name]))))
	}
	return &archive.Error{Message: over.Message, Hint: over.Hint + " So far the largest is " + strings.Join(largest, ", ") + "."}
}
