package source_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/runnerhub/runnerhub/runnerctl/archive"
	"github.com/runnerhub/runnerhub/runnerctl/source"
	"github.com/runnerhub/runnerhub/topology"
)

// A commit that is not the newest is fetched whole, without git's own files and
// without links that lead out, and the spec's files are written over it.
func TestRepository(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	first, second := repository(t, base, "app", map[string]string{
		"run.sh*": "#!/bin/sh\n", "src/a": "a\n", "src/up": "->../run.sh", "out": "->/etc/passwd", "src/deep/out": "->../../../x", "odd *[name]": "o\n", `b\c`: "b\n",
	})
	srv := serve(t, base, "")
	url := srv.URL + "/app/.git"
	dir, failure, said := fetch(t.Context(), t, &source.Fetcher{}, &topology.Source{
		Repository: url, Commit: first, Files: map[string]topology.SourceFile{"src/a": {Content: "new"}, "etc/x": {Content: "x", Mode: "0700"}, "src/up": {Content: "up"}},
	})
	if failure != nil {
		t.Fatalf("%+v", failure)
	}
	want := map[string]string{"run.sh*": "#!/bin/sh\n", "src/a": "new", "src/up": "up", "etc/x*": "x", "odd *[name]": "o\n", `b\c`: "b\n"}
	if diff := cmp.Diff(want, list(t, dir)); diff != "" {
		t.Error(diff)
	}
	if !said.has("Fetching "+url+" at "+first) || !said.has("2 symbolic links") {
		t.Errorf("said %q", said.all)
	}
	dir, failure, _ = fetch(t.Context(), t, &source.Fetcher{}, &topology.Source{Repository: url, Commit: second, Path: "src"})
	if failure != nil {
		t.Fatalf("%+v", failure)
	}
	if diff := cmp.Diff(map[string]string{"a": "a\n"}, list(t, dir)); diff != "" { // the link left the folder that became the tree
		t.Error(diff)
	}
}

func TestRepositoryProblems(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	_, commit := repository(t, base, "app", map[string]string{"a": "a\n", "dir/b": "b\n", "link": "->dir"})
	tree := git(t, filepath.Join(base, "app"), "rev-parse", "HEAD^{tree}")
	url := serve(t, base, "").URL
	absent := strings.Repeat("12345678", 5)
	closed := serve(t, base, "secret").URL
	tests := map[string]struct {
		f     source.Fetcher
		s     topology.Source
		words string
		hint  string
		class topology.Class // "" is source, of which another try may be better
	}{
		"no repository":     {s: topology.Source{Repository: url + "/none/.git", Commit: commit}, words: "could not be fetched", hint: "git ls-remote"},
		"no commit":         {s: topology.Source{Repository: url + "/app/.git", Commit: absent}, words: "has no commit " + absent, hint: "Push the commit"},
		"a tree":            {s: topology.Source{Repository: url + "/app/.git", Commit: tree}, words: "has no commit " + tree, class: topology.ClassSpecInvalid},
		"no folder":         {s: topology.Source{Repository: url + "/app/.git", Commit: commit, Path: "none"}, words: "no folder none", class: topology.ClassSpecInvalid},
		"a file":            {s: topology.Source{Repository: url + "/app/.git", Commit: commit, Path: "a"}, words: "no folder a", class: topology.ClassSpecInvalid},
		"a link":            {s: topology.Source{Repository: url + "/app/.git", Commit: commit, Path: "link"}, words: "no folder link", class: topology.ClassSpecInvalid},
		"no credentials":    {s: topology.Source{Repository: closed + "/app/.git", Commit: commit}, words: "could not be fetched", hint: "asks nobody"},
		"nobody there":      {s: topology.Source{Repository: "http://127.0.0.1:1/app", Commit: commit}, words: "could not be fetched"},
		"too slow":          {f: source.Fetcher{Timeout: time.Nanosecond}, s: topology.Source{Repository: url + "/app/.git", Commit: commit}, words: "not fetched within 1ns", hint: "--git-mirror"},
		"too many files":    {f: source.Fetcher{Limits: archive.Limits{Files: 2}}, s: topology.Source{Repository: url + "/app/.git", Commit: commit}, words: "more than 2 files", class: topology.ClassSpecInvalid},
		"too many bytes":    {f: source.Fetcher{Limits: archive.Limits{Bytes: 5}}, s: topology.Source{Repository: url + "/app/.git", Commit: commit}, words: "source is refused", class: topology.ClassSpecInvalid},
		"a file over a dir": {s: topology.Source{Repository: url + "/app/.git", Commit: commit, Files: map[string]topology.SourceFile{"dir": {Content: "x"}}}, words: "spec's file dir cannot be written", class: topology.ClassSpecInvalid},
		// What the spec refuses is not fetched either way.
		"a command":  {s: topology.Source{Repository: "ext::sh -c touch% " + base + "/owned", Commit: commit}, words: "not allowed"},
		"an option":  {s: topology.Source{Repository: "--upload-pack=touch " + base + "/owned", Commit: commit}, words: "could not be fetched"},
		"own folder": {s: topology.Source{Repository: filepath.Join(base, "app"), Commit: commit}, words: "not allowed"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, failure, _ := fetch(t.Context(), t, &tt.f, &tt.s)
			if failure == nil || failure.Class != orSource(tt.class) || !strings.Contains(failure.Message, tt.words) || !strings.Contains(failure.Hint, tt.hint) {
				t.Errorf("got %+v", failure)
			}
			if _, err := os.Stat(filepath.Join(base, "owned")); err == nil {
				t.Error("the source had a command executed")
			}
		})
	}
}

// The owner's own configuration gives the credentials, and they are not told to anybody.
func TestCredentialsAreTheOwners(t *testing.T) {
	base := t.TempDir()
	_, commit := repository(t, base, "app", map[string]string{"a": "a\n"})
	url := serve(t, base, "secret").URL
	config := filepath.Join(t.TempDir(), "gitconfig")
	t.Setenv("GIT_CONFIG_GLOBAL", config)
	set := func(text string) {
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := &topology.Source{Repository: url + "/app/.git", Commit: commit}
	set("[credential]\n\thelper = \"!f() { echo username=me; echo password=secret; }; f\"\n")
	dir, failure, _ := fetch(t.Context(), t, &source.Fetcher{}, s)
	if failure != nil {
		t.Fatalf("%+v", failure)
	}
	if diff := cmp.Diff(map[string]string{"a": "a\n", "later": "later\n"}, list(t, dir)); diff != "" {
		t.Error(diff)
	}
	set("[url \"" + strings.Replace(url, "://", "://me:wrongsecret@", 1) + "/\"]\n\tinsteadOf = " + url + "/\n")
	_, failure, said := fetch(t.Context(), t, &source.Fetcher{}, s)
	if failure == nil || strings.Contains(failure.Message+failure.Hint, "wrongsecret") || said.has("wrongsecret") {
		t.Errorf("got %+v, said %q", failure, said.all)
	}
}

// A mirror is asked first. What it has not got comes from the repository itself.
func TestMirror(t *testing.T) {
	t.Parallel()
	base, mirrors := t.TempDir(), t.TempDir()
	first, second := repository(t, base, "app", map[string]string{"a": "a\n"})
	git(t, mirrors, "clone", "--quiet", "--bare", filepath.Join(base, "app"), "app.git")
	git(t, filepath.Join(mirrors, "app.git"), "update-ref", "refs/heads/main", first)
	git(t, filepath.Join(mirrors, "app.git"), "prune", "--expire=now")
	mirror, err := source.ParseMirror("https://git.invalid/team/=" + mirrors + "/")
	if err != nil {
		t.Fatal(err)
	}
	f := &source.Fetcher{Mirrors: []source.Mirror{mirror}}
	dir, failure, said := fetch(t.Context(), t, f, &topology.Source{Repository: "https://git.invalid/team/app.git", Commit: first})
	if failure != nil {
		t.Fatalf("%+v", failure)
	}
	if diff := cmp.Diff(map[string]string{"a": "a\n"}, list(t, dir)); diff != "" || !said.has("from a mirror") {
		t.Error(diff, said.all)
	}

	url := serve(t, base, "").URL + "/app/.git"
	f.Mirrors[0] = source.Mirror{Prefix: strings.TrimSuffix(url, "/.git"), Location: filepath.Join(mirrors, "empty")}
	dir, failure, said = fetch(t.Context(), t, f, &topology.Source{Repository: url, Commit: second})
	if failure != nil {
		t.Fatalf("%+v", failure)
	}
	if diff := cmp.Diff(map[string]string{"a": "a\n", "later": "later\n"}, list(t, dir)); diff != "" || !said.has("A mirror cannot help") {
		t.Error(diff, said.all)
	}
	// What a mirror said counts where it is all that can be reached.
	f.Mirrors[0] = mirror
	_, failure, _ = fetch(t.Context(), t, f, &topology.Source{Repository: "https://git.invalid/team/app.git", Commit: strings.Repeat("1", 40)})
	if failure == nil || !strings.Contains(failure.Message, "Could not resolve host: git.invalid") || !strings.Contains(failure.Message, "Its mirror could not help: The repository has no commit 1111") {
		t.Errorf("%+v", failure)
	}
	// The rest of a URL, which is a job's, cannot leave the mirror.
	f.Mirrors[0] = mirror
	_, failure, said = fetch(t.Context(), t, f, &topology.Source{Repository: "https://git.invalid/team/../../" + base + "/app", Commit: second})
	if failure == nil || said.has("from a mirror") {
		t.Errorf("got %+v, said %q", failure, said.all)
	}
	for _, bad := range []string{"", "x", "=x", "https://x/=", "https://x/=relative", "https://x/=--upload-pack=x"} {
		if _, err := source.ParseMirror(bad); err == nil {
			t.Errorf("%q is taken for a mirror", bad)
		}
	}
}

// Submodules come when they are asked for, but not from a folder of the machine.
func TestSubmodules(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	repository(t, base, "lib", map[string]string{"lib.txt": "lib\n"})
	repository(t, base, "app", map[string]string{"a": "a\n"})
	url, app := serve(t, base, "").URL, filepath.Join(base, "app")
	git(t, app, "submodule", "--quiet", "add", url+"/lib/.git", "third/lib")
	git(t, app, "commit", "--quiet", "--message", "add lib")
	s := &topology.Source{Repository: url + "/app/.git", Commit: git(t, app, "rev-parse", "HEAD")}
	without, failure, _ := fetch(t.Context(), t, &source.Fetcher{}, s)
	if failure != nil || list(t, without)["third/lib/lib.txt"] != "" {
		t.Fatalf("%+v: %q", failure, list(t, without))
	}
	s.Submodules = true
	for path, want := range map[string]string{"": "third/lib/lib.txt", "third": "lib/lib.txt"} {
		s.Path = path
		with, failure, _ := fetch(t.Context(), t, &source.Fetcher{}, s)
		if failure != nil {
			t.Fatalf("%+v", failure)
		}
		got := list(t, with)
		if got[want] != "lib\n" {
			t.Errorf("path %q: %q", path, got)
		}
		for name := range got {
			if strings.Contains(name, ".git/") || strings.HasSuffix(name, "/.git") {
				t.Errorf("git's own %s is in the tree", name)
			}
		}
	}
	s.Path = ""
	git(t, app, "config", "--file", ".gitmodules", "submodule.third/lib.url", filepath.Join(base, "lib"))
	git(t, app, "commit", "--quiet", "--all", "--message", "a folder")
	s.Commit = git(t, app, "rev-parse", "HEAD")
	if _, failure, _ := fetch(t.Context(), t, &source.Fetcher{}, s); failure == nil || !strings.Contains(failure.Message, "not allowed") {
		t.Errorf("got %+v", failure)
	}
}

func TestLFSIsAskedForWhereItIsNot(t *testing.T) {
	base := t.TempDir()
	_, commit := repository(t, base, "app", map[string]string{"a": "a\n", ".gitattributes": "*.bin filter=lfs\n", "x.bin": "pointer\n"})
	url := serve(t, base, "").URL + "/app/.git"
	dir, failure, _ := fetch(t.Context(), t, &source.Fetcher{}, &topology.Source{Repository: url, Commit: commit})
	if failure != nil || list(t, dir)["x.bin"] != "pointer\n" {
		t.Fatalf("%+v", failure)
	}
	// A machine with git alone, whatever this one has.
	bin := t.TempDir()
	write(t, bin, map[string]string{"git*": "#!/bin/sh\n[ \"$1\" != lfs ] || exit 1\nexec /usr/bin/env PATH='" + os.Getenv("PATH") + "' git \"$@\"\n"})
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	_, failure, _ = fetch(t.Context(), t, &source.Fetcher{}, &topology.Source{Repository: url, Commit: commit, LFS: true})
	if failure == nil || !strings.Contains(failure.Message, "has no git-lfs") {
		t.Errorf("got %+v", failure)
	}
	t.Setenv("PATH", t.TempDir())
	_, failure, _ = fetch(t.Context(), t, &source.Fetcher{}, &topology.Source{Repository: url, Commit: commit})
	if failure == nil || !strings.Contains(failure.Message, "has no git,") {
		t.Errorf("got %+v", failure)
	}
}

// A repository's content runs nothing on the machine: no hook, no filter, no monitor.
func TestRepositoryExecutesNothing(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	marker := filepath.Join(base, "owned")
	_, commit := repository(t, base, "app", map[string]string{
		".gitattributes": "* filter=evil\n", "a": "a\n", "hooks/post-checkout*": "#!/bin/sh\ntouch " + marker + "\n",
		".lfsconfig": "[lfs]\n\turl = file:///\n", ".gitconfig": "[filter \"evil\"]\n\tsmudge = touch " + marker + "\n",
	})
	_, failure, _ := fetch(t.Context(), t, &source.Fetcher{}, &topology.Source{Repository: serve(t, base, "").URL + "/app/.git", Commit: commit})
	if failure != nil {
		t.Fatalf("%+v", failure)
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("something of the repository's was executed")
	}
}

// A cancel ends git and what it has started.
func TestCancelEndsAFetch(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 1)
	srv := silent(t, asked)
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-asked
		cancel(topology.ErrCanceled)
	}()
	begin := time.Now()
	_, failure, _ := fetch(ctx, t, &source.Fetcher{}, &topology.Source{Repository: srv + "/app", Commit: strings.Repeat("a", 40)})
	if failure == nil || !errors.Is(context.Cause(ctx), topology.ErrCanceled) || time.Since(begin) > 20*time.Second {
		t.Errorf("after %s: %+v", time.Since(begin), failure)
	}
}
