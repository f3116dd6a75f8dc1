package source

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/runnerhub/runnerhub/topology"
)

// Limits of what submodules may come to.
const (
	maxSubmodules = 200
	maxDepth      = 10
)

// modules checks out the submodules of a repository, level by level: where each is to
// be had is known, and held against what the machine's owner allows, before it is fetched.
type modules struct {
	source *topology.Source
	allows func(repository string) bool
	count  int
}

// below checks out the submodules of the repository that g is in.
func (m *modules) below(ctx context.Context, g *git, depth int) error {
	if info, err := os.Lstat(filepath.Join(g.dir, ".gitmodules")); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	if depth > maxDepth {
		return lastingf("Leave submodules out, and fetch in the job what it needs.", "The submodules of %s are more than %d deep.", m.source.Repository, maxDepth)
	}
	var only []string
	if depth == 0 && m.source.Path != "" {
		only = []string{"--", m.source.Path}
	}
	if _, err := g.run(ctx, append([]string{"submodule", "--quiet", "init"}, only...)...); err != nil {
		return err
	}
	urls, err := g.settings(ctx, "--local", `^submodule\..*\.url$`) // relative ones are resolved there
	if err != nil {
		return err
	}
	if m.count += len(urls); m.count > maxSubmodules {
		return lastingf("Leave submodules out, and fetch in the job what it needs.", "%s has more than %d submodules.", m.source.Repository, maxSubmodules)
	}
	for _, url := range urls {
		if err := allowed(m.allows, "a submodule", url); err != nil {
			return err
		}
	}
	if _, err := g.run(ctx, append([]string{"submodule", "--quiet", "update", "--depth=1"}, only...)...); err != nil {
		return err
	}
	staged, err := g.run(ctx, "ls-files", "--stage", "-z")
	if err != nil {
		return err
	}
	for entry := range strings.SplitSeq(staged, "\x00") {
		const submodule = "160000 "
		_, name, _ := strings.Cut(entry, "\t")
		if !strings.HasPrefix(entry, submodule) || !filepath.IsLocal(name) {
			continue
		}
		inner := g.in(filepath.Join(g.dir, name))
		if _, err := os.Lstat(filepath.Join(inner.dir, ".git")); err != nil {
			continue // not one that was asked for
		}
		if m.source.LFS {
			if err := pullLFS(ctx, inner, m.allows); err != nil {
				return err
			}
		}
		if err := m.below(ctx, inner, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// settings are the values of a configuration whose names match; from says which one.
func (g *git) settings(ctx context.Context, from, names string) ([]string, error) {
	out, err := g.run(ctx, "config", from, "--null", "--get-regexp", names)
	if err != nil && ctx.Err() != nil {
		return nil, err
	}
	var values []string // git fails where there are none
	for entry := range strings.SplitSeq(out, "\x00") {
		if _, value, found := strings.Cut(entry, "\n"); found {
			values = append(values, value)
		}
	}
	return values, nil
}

// pullLFS fetches the content of a repository's large files.
func pullLFS(ctx context.Context, g *git, allows func(string) bool) error {
	if info, err := os.Lstat(filepath.Join(g.dir, ".lfsconfig")); err == nil {
		if !info.Mode().IsRegular() {
			return &fs.PathError{Op: "read", Path: ".lfsconfig", Err: fs.ErrInvalid}
		}
		urls, err := g.settings(ctx, "--file=.lfsconfig", `^(lfs\.(url|pushurl)|remote\..*\.(lfsurl|lfspushurl|url))$`)
		if err != nil {
			return err
		}
		for _, url := range urls {
			if err := allowed(allows, "the server of large files", url); err != nil {
				return err
			}
		}
	}
	_, err := g.run(ctx, "lfs", "pull")
	return err
}

// allowed says why a repository that another one names is not fetched.
func allowed(allows func(string) bool, what, url string) error {
	if topology.CheckRepository(url) != nil {
		return lastingf("Submodules and large files come from the network.", "The repository names %s at %s, which is not allowed.", what, userinfo.ReplaceAllString(url, "://"))
	}
	if allows != nil && !allows(url) {
		return problemf("Ask the machine's owner, who can allow it with `runnerctl policy set repositories+=…`.",
			"The repository names %s at %s, which the owner of this runner does not allow (rule repositories).", what, userinfo.ReplaceAllString(url, "://"))
	}
	return nil
}
