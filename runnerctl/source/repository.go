package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/runnerhub/runnerhub/runnerctl/archive"
	"github.com/runnerhub/runnerhub/topology"
)

// gitTimeout is Fetcher.Timeout where it is not set.
const gitTimeout = 30 * time.Minute

// errSlow is the cause of a fetch that Fetcher.Timeout ended.
var errSlow = errors.New("the repository took too long")

// repository puts the tree of a commit into tree. Mirrors are asked first; one that
// has not got the commit, or fails, is passed over.
func (f *Fetcher) repository(ctx context.Context, r request, tree string) error {
	limit := f.Timeout
	if limit <= 0 {
		limit = gitTimeout
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errSlow)
	defer cancel()
	begin := time.Now()
	var err error
	var mirrors []error // why they could not help
	for i, p := range f.places(r.source.Repository) {
		if i > 0 {
			r.say(fmt.Sprintf("A mirror cannot help: %v", err))
			mirrors = append(mirrors, err)
		}
		work := filepath.Join(r.dir, fmt.Sprintf("git-%d", i))
		if err = os.Mkdir(work, 0o700); err != nil {
			return err
		}
		r.say(fmt.Sprintf("Fetching %s at %s%s", r.source.Repository, r.source.Commit, map[bool]string{true: " from a mirror"}[p.local]))
		if err = f.checkout(ctx, newGit(work, p.local, r.source.LFS), p.url, r); err == nil {
			err = f.take(r, work, tree)
			if err == nil {
				r.say(fmt.Sprintf("Fetched the source in %s", time.Since(begin).Round(time.Millisecond)))
			}
			return err
		}
		_ = os.RemoveAll(work)
		if ctx.Err() != nil {
			break
		}
	}
	return withMirrors(unfetched(ctx, r.source, limit, err), mirrors)
}

// withMirrors adds what mirrors said to why a repository could not be had. Where they are all that can be
// reached, as behind a firewall, theirs is the reason.
func withMirrors(err error, mirrors []error) error {
	p, ok := errors.AsType[*problem](err)
	if !ok || len(mirrors) == 0 {
		return err
	}
	out := *p
	for _, m := range mirrors {
		said := strings.TrimRight(m.Error(), ". \n")
		out.message = fmt.Sprintf("%s. Its mirror could not help: %s.", strings.TrimRight(out.message, ". \n"), said)
	}
	return &out
}

// unfetched says why a repository could not be had.
func unfetched(ctx context.Context, s *topology.Source, limit time.Duration, err error) error {
	if _, known := errors.AsType[*problem](err); known {
		return err
	}
	if _, refused := errors.AsType[*archive.Error](err); refused {
		return err
	}
	if errors.Is(context.Cause(ctx), errSlow) {
		return problemf("See whether the repository can be reached from the runner's machine, or give the runner a mirror with --git-mirror.",
			"%s was not fetched within %s.", s.Repository, limit)
	}
	e, ok := errors.AsType[*gitError](err)
	if !ok {
		return err
	}
	hint := "Run `git ls-remote " + s.Repository + "` on the runner's machine, as the user that the runner runs as."
	words := strings.ToLower(e.said)
	for _, part := range []string{"could not read username", "authentication failed", "permission denied", "access denied", "403", "401"} {
		if strings.Contains(words, part) {
			hint = "The runner uses the git credentials of the user that it runs as, and asks nobody: give that user access. " + hint
			break
		}
	}
	return problemf(hint, "%s could not be fetched: %s", s.Repository, e.Error())
}

// checkout fetches a commit alone, without its history and with no file that is
// not checked out, and checks it out.
func (f *Fetcher) checkout(ctx context.Context, g *git, url string, r request) error {
	s, limits := r.source, f.Limits.WithDefaults()
	ctx, over := bound(ctx, g.dir, limits)
	defer over()
	format := "sha1"
	if len(s.Commit) == 64 {
		format = "sha256"
	}
	if s.LFS {
		if err := hasLFS(ctx, g); err != nil {
			return err
		}
	}
	steps := [][]string{
		{"init", "--quiet", "--object-format=" + format},
		{"remote", "add", "--", "origin", url},
	}
	for _, args := range steps {
		if _, err := g.run(ctx, args...); err != nil {
			return err
		}
	}
	if err := fetchCommit(ctx, g, s.Commit); err != nil {
		return err
	}
	// A commit's id is the digest of all that is in it, which git has checked object by
	// object. What it was asked for is what it must have.
	if id, err := g.run(ctx, "rev-parse", "--verify", s.Commit+"^{commit}"); err != nil || id != s.Commit {
		return lastingf("Use the id of a commit and not of a tag or a tree: git rev-parse HEAD", "%s has no commit %s.", s.Repository, s.Commit)
	}
	if err := g.countFiles(ctx, s.Commit, limits); err != nil {
		return err
	}
	if s.Path != "" {
		if _, err := g.run(ctx, "sparse-checkout", "set", "--no-cone", "/.gitmodules", "/.gitattributes", "/.lfsconfig", "/"+globless(s.Path)+"/"); err != nil {
			return err
		}
	}
	if _, err := g.run(ctx, "checkout", "--quiet", "--detach", s.Commit); err != nil {
		return err
	}
	if s.LFS {
		if err := pullLFS(ctx, g, r.allows); err != nil {
			return err
		}
	}
	if !s.Submodules {
		return nil
	}
	m := modules{source: s, allows: r.allows}
	return m.below(ctx, g.in(g.dir), 0)
}

// fetchCommit fetches one commit. A server that gives no commits by their ids gives
// them by its branches and tags.
func fetchCommit(ctx context.Context, g *git, commit string) error {
	_, err := g.run(ctx, "fetch", "--quiet", "--no-tags", "--depth=1", "--filter=blob:none", "--end-of-options", "origin", commit)
	if err == nil || ctx.Err() != nil {
		return err
	}
	if e, ok := errors.AsType[*gitError](err); ok && strings.Contains(e.said, "not our ref") {
		return problemf("Push the commit first, and name it by its full id.", "The repository has no commit %s.", commit)
	}
	if _, err := g.run(ctx, "fetch", "--quiet", "--filter=blob:none", "--end-of-options", "origin", "+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*"); err != nil {
		return err
	}
	if _, missing := g.run(ctx, "cat-file", "-e", commit+"^{commit}"); missing != nil {
		return err
	}
	return nil
}

// globless quotes a path for the patterns of a sparse checkout.
func globless(name string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "!", `\!`, "#", `\#`, " ", `\ `).Replace(name)
}

func hasLFS(ctx context.Context, g *git) error {
	_, err := g.run(ctx, "lfs", "version")
	if _, said := errors.AsType[*gitError](err); said {
		return problemf("Install git-lfs for the user that the runner runs as, or leave lfs out of the source.",
			"The runner's machine has no git-lfs, which this job's source asks for.")
	}
	return err
}

// take moves the checked-out tree, or the folder of it that was asked for, to where
// the job's source goes, and throws the rest away.
func (f *Fetcher) take(r request, work, tree string) error {
	from := work
	if r.source.Path != "" {
		root, err := os.OpenRoot(work)
		if err != nil {
			return err
		}
		defer root.Close()
		// Each part of the way must be a folder and no link to one.
		name := ""
		for part := range strings.SplitSeq(r.source.Path, "/") {
			name = filepath.Join(name, part)
			info, err := root.Lstat(name)
			if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
				return lastingf("Check the source's path against the repository at that commit.", "The repository has no folder %s at %s.", r.source.Path, r.source.Commit)
			}
			if err != nil {
				return err
			}
		}
		from = filepath.Join(work, name)
	}
	if err := os.Remove(tree); err != nil {
		return err
	}
	if err := os.Rename(from, tree); err != nil {
		return err
	}
	if err := os.RemoveAll(work); err != nil {
		return err
	}
	left, err := tidy(tree, f.Limits)
	if err == nil && left.links > 0 {
		r.say(fmt.Sprintf("Left out %d symbolic links that lead out of the source", left.links))
	}
	return err
}
