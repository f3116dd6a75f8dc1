package source_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/runnerhub/runnerhub/runnerctl/archive"
	"github.com/runnerhub/runnerhub/runnerctl/source"
	"github.com/runnerhub/runnerhub/topology"
)

// What a mirror is allowed, a repository in it is not: its submodules come from the network.
func TestSubmodulesOfAMirror(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	repository(t, base, "private", map[string]string{"key": "secret\n"})
	repository(t, base, "app", map[string]string{"a": "a\n"})
	app := filepath.Join(base, "app")
	git(t, app, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", filepath.Join(base, "private"), "sub")
	for _, url := range []string{filepath.Join(base, "private"), "file://" + base + "/private", "../private"} {
		git(t, app, "config", "--file", ".gitmodules", "submodule.sub.url", url)
		git(t, app, "commit", "--quiet", "--all", "--message", url)
		f := &source.Fetcher{Mirrors: []source.Mirror{{Prefix: "https://git.invalid/", Location: base + "/"}}}
		dir, failure, _ := fetch(t.Context(), t, f, &topology.Source{
			Repository: "https://git.invalid/app", Commit: git(t, app, "rev-parse", "HEAD"), Submodules: true,
		})
		if failure == nil {
			t.Errorf("%s: %q", url, list(t, dir))
		}
	}
}

// Each repository on the way is held against what the machine's owner allows, before
// it is fetched.
func TestOwnersWordOnSubmodules(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	url := serve(t, base, "").URL
	repository(t, base, "leaf", map[string]string{"leaf": "leaf\n"})
	repository(t, base, "branch", map[string]string{"branch": "branch\n"})
	repository(t, base, "app", map[string]string{".lfsconfig": "[lfs]\n\turl = " + url + "/lfs\n"})
	branch, app := filepath.Join(base, "branch"), filepath.Join(base, "app")
	git(t, branch, "submodule", "--quiet", "add", url+"/leaf/.git", "leaf")
	git(t, branch, "commit", "--quiet", "--message", "a leaf")
	git(t, app, "submodule", "--quiet", "add", url+"/branch/.git", "branch")
	git(t, app, "config", "--file", ".gitmodules", "submodule.branch.url", "../../branch/.git") // a relative one
	git(t, app, "commit", "--quiet", "--all", "--message", "a branch")
	for name, tt := range map[string]struct {
		lfs    bool
		refuse string // a part of what the owner does not allow
		want   string // of the failure
	}{
		"all of it":             {},
		"not the branch":        {refuse: "/branch/", want: "a submodule at " + url + "/branch/.git, which the owner"},
		"not the leaf":          {refuse: "/leaf/", want: "a submodule at " + url + "/leaf/.git, which the owner"},
		"not its large files":   {lfs: true, refuse: "/lfs", want: "the server of large files at " + url + "/lfs, which the owner"},
		"nothing that it names": {refuse: "http", want: "rule repositories"},
	} {
		said := &lines{}
		dir, failure := (&source.Fetcher{}).Fetch(t.Context(), &topology.Source{
			Repository: url + "/app/.git", Commit: git(t, app, "rev-parse", "HEAD"), Submodules: true, LFS: tt.lfs,
		}, "", t.TempDir(), func(repository string) bool { return tt.refuse == "" || !strings.Contains(repository, tt.refuse) }, said.say)
		switch {
		case tt.want == "" && failure != nil, tt.want != "" && (failure == nil || !strings.Contains(failure.Message, tt.want)):
			t.Errorf("%s: %+v", name, failure)
		case tt.want == "" && list(t, dir)["branch/leaf/leaf"] != "leaf\n":
			t.Errorf("%s: %q", name, list(t, dir))
		}
	}
}

// A few hundred bytes of git's own stand for ten thousand million files. They are
// counted, up to the limit, before one is written.
func TestTreeBomb(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	repository(t, base, "app", map[string]string{"a": "a\n"})
	app := filepath.Join(base, "app")
	kind, id := "100644 blob", git(t, app, "rev-parse", "HEAD:a")
	for range 10 {
		var tree strings.Builder
		for i := range 10 {
			tree.WriteString(kind + " " + id + "\t" + string(rune('a'+i)) + "\n")
		}
		cmd := exec.CommandContext(t.Context(), "git", "mktree")
		cmd.Dir, cmd.Stdin = app, strings.NewReader(tree.String())
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		kind, id = "040000 tree", strings.TrimSpace(string(out))
	}
	commit := git(t, app, "commit-tree", "-m", "bomb", id)
	git(t, app, "branch", "bomb", commit)
	_, failure, _ := fetch(t.Context(), t, &source.Fetcher{Limits: archive.Limits{Files: 10_000}}, &topology.Source{
		Repository: serve(t, base, "").URL + "/app/.git", Commit: commit,
	})
	if failure == nil || !strings.Contains(failure.Message, "more than 10000 files") {
		t.Errorf("%+v", failure)
	}
}
