package source_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runnerhub/runnerhub/runnerctl/archive"
	"github.com/runnerhub/runnerhub/runnerctl/source"
	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/gitpatch"
)

// fetchHeld fetches a source whose archive, if it has one, is data.
func fetchHeld(t *testing.T, data []byte, limits archive.Limits, s *topology.Source) (string, *topology.Failure, *lines) {
	t.Helper()
	f := &source.Fetcher{Limits: limits, Open: func(context.Context, string) (io.ReadCloser, error) { return bodyOf(data)() }}
	said := &lines{}
	dir, failure := f.Fetch(t.Context(), s, "ticket", t.TempDir(), nil, said.say)
	return dir, failure, said
}

// A diff of git's own between two commits makes the tree of the second of the first,
// by way of a repository and of an archive, and over the spec's own files.
func TestPatchOfGit(t *testing.T) {
	t.Parallel()
	before := map[string]string{
		"edited": "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "dir/gone/too": "x\n", "kept": "k\n", "renamed": strings.Repeat("a line\n", 30), "plain": "p\n", "program*": "#!/bin/sh\n",
		"binary": "\x00\x01\xff" + strings.Repeat("x", 300), "link": "->kept", "größe": "ä\n", "no end": "x", "linkable": "l\n",
	}
	base := t.TempDir()
	_, commit := repository(t, base, "app", before)
	before["later"] = "later\n" // of the second commit
	app := filepath.Join(base, "app")
	for _, name := range []string{"dir", "renamed", "link", "linkable", "program"} {
		if err := os.RemoveAll(filepath.Join(app, name)); err != nil {
			t.Fatal(err)
		}
	}
	write(t, app, map[string]string{
		"edited": "1\nzwei\n3\n4\n5\n6\n7\n8\n9\nten\n", "new/name": strings.Repeat("a line\n", 30) + "and one\n", "program": "#!/bin/sh\n", "plain*": "p\n",
		"binary": "\x00\x02\xff" + strings.Repeat("x", 300), "new/binary": "\x00\x80", "link": "->plain", "größe": "ö\n", "no end": "x\n", "linkable": "->kept", "empty": "", "a b/c d": "e\n",
		"later": "changed\n", "later copy": "later\n", "kept2": strings.Repeat("a line\n", 30),
	})
	if err := os.Chmod(filepath.Join(app, "plain"), 0o755); err != nil {
		t.Fatal(err)
	}
	git(t, app, "add", "--all")
	want := list(t, app)
	for name := range want {
		if strings.HasPrefix(name, ".git/") {
			delete(want, name)
		}
	}
	url := serve(t, base, "").URL
	data, digest := packed(t, before)
	for _, options := range [][]string{{"--binary"}, {"--binary", "--no-renames"}, {"--binary", "--find-copies-harder", "--find-copies=10%", "--full-index"}, {"--binary", "-U0"}} {
		patch := git(t, app, append([]string{"diff", "--cached"}, options...)...) + "\n"
		for name, s := range map[string]*topology.Source{
			"repository": {Repository: url + "/app/.git", Commit: commit, Patch: patch},
			"archive":    {Archive: digest, Patch: patch},
		} {
			dir, failure, said := fetchHeld(t, data, archive.Limits{}, s)
			if failure != nil {
				t.Fatalf("%s, %v: %+v\n%s", name, options, failure, patch)
			}
			if diff := cmp.Diff(want, list(t, dir)); diff != "" {
				t.Errorf("%s, %v:\n%s", name, options, diff)
			}
			if _, err := os.Stat(filepath.Join(dir, "dir")); err == nil {
				t.Errorf("%s, %v: an empty folder is left", name, options)
			}
			if !said.has("Applied the patch: ") {
				t.Errorf("%s: %q", name, said.all)
			}
		}
	}
}

func TestPatchOverFiles(t *testing.T) {
	t.Parallel()
	dir, failure, said := fetch(t.Context(), t, &source.Fetcher{}, &topology.Source{
		Files: map[string]topology.SourceFile{"f": {Content: "x\na\nb\n", Mode: "0600"}},
		Patch: "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n" + "--- a/f\n+++ b/f\n@@ -3 +3 @@\n-c\n+d\n" + // one after the other
			"diff --git a/f b/g\nsimilarity index 100%\nrename from f\nrename to g\n",
	})
	if failure != nil {
		t.Fatalf("%+v", failure)
	}
	if diff := cmp.Diff(map[string]string{"g": "x\na\nd\n"}, list(t, dir)); diff != "" {
		t.Error(diff)
	}
	if info, err := os.Stat(filepath.Join(dir, "g")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if !said.has("hunk 1 of f was found at line 2 and not at 1") || !said.has("Applied the patch: 3 files") {
		t.Errorf("%q", said.all)
	}
}

// What does not fit fails the job with the file, the hunk and what is there, and changes nothing outside of the tree.
func TestPatchProblems(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	write(t, outside, map[string]string{"f": "a\n"})
	files := map[string]string{"f": "a\n", "dir/g": "b\n", "link": "->dir", "big": strings.Repeat("x\n", gitpatch.MaxFile/2+1)}
	data, digest := packed(t, files)
	edit := func(name, from, to string) string {
		return "diff --git a/" + name + " b/" + name + "\n--- a/" + name + "\n+++ b/" + name + "\n@@ -1 +1 @@\n-" + from + "\n+" + to + "\n"
	}
	link := func(name, target string) string {
		return "diff --git a/" + name + " b/" + name + "\nnew file mode 120000\n--- /dev/null\n+++ b/" + name + "\n@@ -0,0 +1 @@\n+" + target + "\n\\ No newline at end of file\n"
	}
	copies := func(n int) string {
		var all strings.Builder
		for i := range n {
			name := "c" + strings.Repeat("c", i)
			all.WriteString("diff --git a/big b/" + name + "\nsimilarity index 100%\ncopy from big\ncopy to " + name + "\n")
		}
		return all.String()
	}
	for name, tt := range map[string]struct {
		patch, words string
		limits       archive.Limits
	}{
		"another line":             {patch: edit("f", "b", "c"), words: `does not fit the source: f, hunk 1 (line 4 of the patch): at line 1 the patch has "b\n" and the file has "a\n"`},
		"no file":                  {patch: edit("src/f", "a", "c"), words: "src/f (line 1 of the patch): the source has no file src/f"},
		"a file for a folder":      {patch: edit("f/x", "a", "c"), words: "the source has no file f/x"},
		"a folder":                 {patch: edit("dir", "a", "c"), words: "dir is no file in the source"},
		"there already":            {patch: "diff --git a/f b/f\nnew file mode 100644\n--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+a\n", words: "f is in the source already"},
		"below a file":             {patch: "diff --git a/f/x b/f/x\nnew file mode 100644\n", words: "The patch cannot change f/x"},
		"behind a link":            {patch: edit("link/g", "b", "c"), words: "link is a symbolic link, and nothing behind it is patched"},
		"behind a link of its own": {patch: link("in", "dir") + edit("in/g", "b", "c"), words: "in is a symbolic link, and nothing behind it is patched"},
		"a link out":               {patch: link("out", "../../x"), words: "makes out a symbolic link that leads out"},
		"a link out by name":       {patch: link("out", outside), words: "makes out a symbolic link that leads out"},
		"a link out by a move":     {patch: link("a/b/c/l", "../../../f") + "diff --git a/a/b/c/l b/l\nsimilarity index 100%\nrename from a/b/c/l\nrename to l\n", words: "makes l a symbolic link that leads out"},
		"a link as a program":      {patch: "diff --git a/link b/link\nold mode 100644\nnew mode 100755\n", words: "link is a symbolic link in the source"},
		"too large a file":         {patch: edit("big", "x", "y"), words: "one that is patched may have 16777216"},
		"copies without end":       {patch: copies(20), words: "larger than 100MiB", limits: archive.Limits{Bytes: 100 << 20}},
		"files without end":        {patch: copies(9), words: "more than 6 files", limits: archive.Limits{Files: 6}},
		"unreadable":               {patch: "nonsense", words: "cannot be read: the patch has no change"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, failure, _ := fetchHeld(t, data, tt.limits, &topology.Source{Archive: digest, Patch: tt.patch})
			if failure == nil || !strings.Contains(failure.Message, tt.words) || failure.Class != topology.ClassSpecInvalid || failure.Hint == "" && name != "too large a file" {
				t.Errorf("%+v", failure)
			}
		})
	}
	t.Cleanup(func() {
		if got := list(t, outside)["f"]; got != "a\n" {
			t.Errorf("outside: %q", got)
		}
	})
}
