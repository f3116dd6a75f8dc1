package gitpatch_test

import (
	"bytes"
	"compress/zlib"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/runnerhub/runnerhub/topology/gitpatch"
)

// one parses a patch of one file.
func one(t *testing.T, text string) *gitpatch.Change {
	t.Helper()
	all, err := gitpatch.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 1 {
		t.Fatalf("%d changes", len(all))
	}
	return all[0]
}

func TestParse(t *testing.T) {
	t.Parallel()
	type change struct {
		From, To string
		Copy     bool
		Mode     gitpatch.Mode
		Line     int
		Edits    bool
	}
	tests := map[string]struct {
		text string
		want []change
	}{
		"git's": {
			"diff --git a/src/a.go b/src/a.go\nindex 1234567..89abcde 100644\n--- a/src/a.go\n+++ b/src/a.go\n@@ -1 +1 @@\n-a\n+b\n",
			[]change{{"src/a.go", "src/a.go", false, gitpatch.Same, 1, true}},
		},
		"plain, as models write it": {
			"Here it is:\n\n--- a/src/a.go\n+++ b/src/a.go\n@@ -1 +1 @@\n-a\n+b\n--- c\n+++ c\n@@ -1 +1 @@\n-a\n+b",
			[]change{{"src/a.go", "src/a.go", false, gitpatch.Same, 3, true}, {"c", "c", false, gitpatch.Same, 8, true}},
		},
		"plain, new and deleted": {
			"--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+x\n--- a/old\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n",
			[]change{{"", "new", false, gitpatch.Regular, 1, true}, {"old", "", false, gitpatch.Same, 5, true}},
		},
		"git's, without the line of a new file": {
			"diff --git a/new b/new\n--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+x\n",
			[]change{{"", "new", false, gitpatch.Regular, 1, true}},
		},
		"modes, names and copies": {
			"diff --git a/run b/run\nold mode 100644\nnew mode 100755\n" +
				"diff --git a/a b/b\nsimilarity index 100%\nrename from a\nrename to b\n" +
				"diff --git a/b b/c d\nsimilarity index 100%\ncopy from b\ncopy to c d\n" +
				"diff --git a/empty b/empty\nnew file mode 100755\nindex 0000000..e69de29\n" +
				"diff --git a/l b/l\nnew file mode 120000\nindex 0000000..e69de29\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+run\n\\ No newline at end of file\n",
			[]change{
				{"run", "run", false, gitpatch.Executable, 1, false}, {"a", "b", false, gitpatch.Same, 4, false}, {"b", "c d", true, gitpatch.Same, 8, false},
				{"", "empty", false, gitpatch.Executable, 12, false}, {"", "l", false, gitpatch.Link, 15, true},
			},
		},
		"a mail": {
			"From 0123 Mon Sep 17 00:00:00 2001\nSubject: [PATCH] x\n\n---\n a | 2 +-\n\ndiff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-a\n+b\n-- \n2.39.2\n\n",
			[]change{{"a", "a", false, gitpatch.Same, 7, true}},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all, err := gitpatch.Parse(tt.text)
			if err != nil {
				t.Fatal(err)
			}
			var got []change
			for _, c := range all {
				got = append(got, change{c.From, c.To, c.Copy, c.Mode, c.Line, c.Edits()})
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	file := func(name string) string {
		return "diff --git a/" + name + " b/" + name + "\nnew file mode 100644\n--- /dev/null\n+++ b/" + name + "\n@@ -0,0 +1 @@\n+x\n"
	}
	head := "diff --git a/a b/a\n--- a/a\n+++ b/a\n"
	tests := map[string]struct {
		text string
		line int
		want string // a part of the error and its hint
	}{
		"nothing":              {" \n", 0, "is empty"},
		"prose":                {"change a to b, please\n", 0, "has no change of a file in it"},
		"too large":            {strings.Repeat("x", gitpatch.MaxBytes+1), 0, "larger than 1 MiB"},
		"too many files":       {strings.Repeat("diff --git a/a b/a\nold mode 100644\nnew mode 100755\n", gitpatch.MaxFiles+1), 0, "changes 10001 files"},
		"a hunk alone":         {"@@ -1 +1 @@\n-a\n+b\n", 1, "hunk without file header"},
		"counts too many":      {head + "@@ -1,3 +1,3 @@\n a\n-b\n+c\n", 4, "if its lines are right, it is @@ -1,2 +1,2 @@"},
		"counts into the next": {head + "@@ -7,9 +7,9 @@ f\n a\n-b\n+c\n" + file("x"), 4, "if its lines are right, it is @@ -7,2 +7,2 @@"},
		"counts too few":       {head + "@@ -1,2 +1,2 @@\n a\n-b\n+c\n d\n+e\n", 4, "if its lines are right, it is @@ -1,3 +1,4 @@"},
		"more behind a blank":  {head + "@@ -1,2 +1,2 @@\n a\n-b\n+c\n\n+e\n", 4, "counts other lines"},
		"no change":            {head + "@@ -1 +1 @@\n a\n", 0, "contains no changes"},
		"out of the tree":      {file("../../etc/passwd"), 1, `"../../etc/passwd" leaves the working directory`},
		"out by a detour":      {file("x/../../y"), 1, "leaves the working directory"},
		"absolute":             {"--- /etc/passwd\n+++ /etc/passwd\n@@ -1 +1 @@\n-a\n+b\n", 1, "is absolute"},
		"a drive":              {file("C:/x"), 1, "is absolute"},
		"git's own":            {file(".git/hooks/pre-commit"), 1, "one of git's own files"},
		"git's own below":      {file("sub/.GIT/config"), 1, "one of git's own files"},
		"backslashes":          {"diff --git \"a/x\\\\y\" \"b/x\\\\y\"\nnew file mode 100644\n", 1, "a backslash"},
		"a long name":          {file(strings.Repeat("n", 256)), 1, "longer than 255 bytes"},
		"a submodule":          {"diff --git a/sub b/sub\nnew file mode 160000\n--- /dev/null\n+++ b/sub\n@@ -0,0 +1 @@\n+Subproject commit 0\n", 1, "a mode that is not supported: 160000"},
		"a device":             {"diff --git a/d b/d\nnew file mode 020644\n", 1, "a mode that is not supported: 20644"},
		"no data":              {"diff --git a/i.png b/i.png\nindex 1..2 100644\nBinary files a/i.png and b/i.png differ\n", 1, "make it with git diff --binary"},
		"a bomb":               {"diff --git a/i b/i\nnew file mode 100644\nindex 0000000..1111111\nGIT binary patch\nliteral 99999999999\nHcmV?d00001\n\n", 1, "has 99999999999 bytes and may have"},
		"nothing of a file":    {"diff --git a/i b/i\nindex 1111111..2222222 100644\n", 1, "changes nothing of"},
		"two names":            {"diff --git a/x b/y\n--- a/x\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n", 1, "names two files"},
		"new and deleted":      {"diff --git a/x b/x\nnew file mode 100644\ndeleted file mode 100644\n", 0, ""},
		"a link of a file":     {"diff --git a/x b/x\nold mode 100644\nnew mode 120000\n", 1, "another kind of file"},
		"bad base 85":          {"diff --git a/i b/i\nnew file mode 100644\nGIT binary patch\nliteral 3\nKcm\n\n", 5, "corrupt data line"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := gitpatch.Parse(tt.text)
			bad, ok := errors.AsType[*gitpatch.ParseError](err)
			if !ok {
				t.Fatalf("%v", err)
			}
			if all := bad.Error() + "; " + bad.Hint; !strings.Contains(all, tt.want) || tt.line > 0 && bad.Line != tt.line {
				t.Errorf("line %d: %s", bad.Line, all)
			}
		})
	}
}

func TestApply(t *testing.T) {
	t.Parallel()
	const head = "diff --git a/f b/f\n--- a/f\n+++ b/f\n"
	ten := "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"
	tests := map[string]struct {
		old, hunks, want string
		note             string
	}{
		"in its place":        {ten, "@@ -2,3 +2,3 @@\n 2\n-3\n+three\n 4\n", "1\n2\nthree\n4\n5\n6\n7\n8\n9\n10\n", ""},
		"elsewhere":           {ten, "@@ -7,3 +7,3 @@\n 2\n-3\n+three\n 4\n", "1\n2\nthree\n4\n5\n6\n7\n8\n9\n10\n", "hunk 1 of f was found at line 2 and not at 7"},
		"both moved alike":    {"0\n" + ten, "@@ -2,2 +2,2 @@\n 2\n-3\n+three\n@@ -8,2 +8,2 @@\n 8\n-9\n+nine\n", "0\n1\n2\nthree\n4\n5\n6\n7\n8\nnine\n10\n", "hunk 2 of f was found at line 9 and not at 8"},
		"out of order":        {ten, "@@ -8,2 +8,2 @@\n 8\n-9\n+nine\n@@ -2,2 +2,2 @@\n 2\n-3\n+three\n", "1\n2\nthree\n4\n5\n6\n7\n8\nnine\n10\n", ""},
		"behind a line":       {"a\nb\n", "@@ -1,0 +2 @@\n+x\n", "a\nx\nb\n", ""},
		"before all":          {"a\nb\n", "@@ -0,0 +1 @@\n+x\n", "x\na\nb\n", ""},
		"behind all":          {"a\nb\n", "@@ -2,0 +3 @@\n+x\n", "a\nb\nx\n", ""},
		"no line end":         {"a\nb", "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n", "a\nc", ""},
		"blank context":       {"a\n\nb\n", "@@ -1,3 +1,3 @@\n a\n\n-b\n+c\n", "a\n\nc\n", ""},
		"carriage returns":    {"a\r\nb\r\n", "@@ -1,2 +1,2 @@\n a\r\n-b\r\n+c\r\n", "a\r\nc\r\n", ""},
		"all of it, and more": {"a\n", "@@ -1 +1,2 @@\n-a\n+b\n+c\n", "b\nc\n", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, notes, err := one(t, head+tt.hunks).Apply([]byte(tt.old))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Error(diff)
			}
			if all := strings.Join(notes, "; "); !strings.Contains(all, tt.note) || tt.note == "" && all != "" {
				t.Errorf("notes: %q", all)
			}
		})
	}
}

func TestConflicts(t *testing.T) {
	t.Parallel()
	const head = "diff --git a/f b/f\n--- a/f\n+++ b/f\n"
	ten := "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"
	const gone = "diff --git a/f b/f\ndeleted file mode 100644\n--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-1\n"
	for name, tt := range map[string]struct{ old, patch, want string }{
		"another line":   {ten, head + "@@ -2,3 +2,3 @@\n 2\n-drei\n+three\n 4\n", `f, hunk 1 (line 4 of the patch): at line 3 the patch has "drei\n" and the file has "3\n"`},
		"the second":     {ten, head + "@@ -1,2 +1,2 @@\n 1\n-2\n+two\n@@ -8,2 +8,2 @@\n 8\n-neun\n+nine\n", `f, hunk 2 (line 8 of the patch): at line 9`},
		"near elsewhere": {ten, head + "@@ -90,3 +90,3 @@\n 5\n 6\n-sieben\n+7\n", `at line 7 the patch has "sieben\n" and the file has "7\n"`},
		"behind the end": {"1\n", head + "@@ -1,2 +1,2 @@\n 1\n-2\n+two\n", `the patch has "2\n" where the file ends, behind line 1`},
		"several places": {"x\na\nx\na\nx\n", head + "@@ -2 +2 @@\n-x\n+y\n", `it is not at line 2, and fits at 3 other places; Put more lines around`},
		"there already":  {"1\ntwo\n3\n", head + "@@ -1,3 +1,3 @@\n 1\n-2\n+two\n 3\n", `the file has this change already; Leave it out`},
		"line ends":      {"1\r\n2\r\n", head + "@@ -1,2 +1,2 @@\n 1\n-2\n+two\n", `Only the line ends differ`},
		"no line end":    {"1\n2", head + "@@ -1,2 +1,2 @@\n 1\n-2\n+two\n", `Only the line ends differ`},
		"tabs":           {"1\n\t2\n", head + "@@ -1,2 +1,2 @@\n 1\n-    2\n+    two\n", `Only spaces and tabs differ`},
		"not all of it":  {"1\n2\n", gone, "the file still has content after full delete"},
		"overlap":        {ten, head + "@@ -1,2 +1,2 @@\n 1\n-2\n+two\n@@ -2,2 +2,2 @@\n 2\n-3\n+three\n", "f, hunk 2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := one(t, tt.patch).Apply([]byte(tt.old))
			bad, ok := errors.AsType[*gitpatch.Conflict](err)
			if !ok {
				t.Fatalf("%v", err)
			}
			if all := bad.Error() + "; " + bad.Hint; !strings.Contains(all, tt.want) || bad.Hint == "" {
				t.Error(all)
			}
		})
	}
}

// A file in which everything is alike is given up after a bounded number of comparisons.
func TestSearchIsBounded(t *testing.T) {
	t.Parallel()
	const n = 100_000
	hunk := "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,100001 +1,100002 @@\n" + strings.Repeat("\n", n) + "+x\n z\n"
	_, _, err := one(t, hunk).Apply(bytes.Repeat([]byte("\n"), gitpatch.MaxFile))
	if err == nil || !strings.Contains(err.Error(), "too many lines of the file are like it") {
		t.Error(err)
	}
}

// Binary data unpacks to at most what it says, whatever it says.
func TestBinaryBomb(t *testing.T) {
	t.Parallel()
	var packed bytes.Buffer
	w := zlib.NewWriter(&packed)
	if _, err := w.Write(make([]byte, 200<<20)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for _, method := range []gitdiff.BinaryPatchMethod{gitdiff.BinaryPatchLiteral, gitdiff.BinaryPatchDelta} {
		f := &gitdiff.File{NewName: "f", IsNew: true, NewMode: 0o100644, IsBinary: true, BinaryFragment: &gitdiff.BinaryFragment{Method: method, Size: 100, RawData: packed.Bytes()}}
		if _, _, err := one(t, f.String()).Apply(nil); err == nil || !strings.Contains(err.Error(), "received more") {
			t.Errorf("%v: %v", method, err)
		}
	}
}

func TestBinaryOfAnotherFile(t *testing.T) {
	t.Parallel()
	text, err := gitpatch.Diff("f", &gitpatch.File{Mode: gitpatch.Regular, Content: []byte("\x00a")}, &gitpatch.File{Mode: gitpatch.Regular, Content: []byte("\x00b")})
	if err != nil {
		t.Fatal(err)
	}
	c := one(t, text)
	if got, _, err := c.Apply([]byte("\x00a")); err != nil || string(got) != "\x00b" {
		t.Errorf("%q, %v", got, err)
	}
	if _, _, err := c.Apply([]byte("\x00c")); err == nil || !strings.Contains(err.Error(), "is not the one that the patch was made of") {
		t.Error(err)
	}
}

// What Diff makes, git and Apply make the second file of the first with.
func TestDiffIsGits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := rapid.OneOf(
		rapid.StringMatching(`([abc]{0,2}\n){0,30}[ab]{0,1}`),
		rapid.StringMatching(`(größe|[ \t]|\r\n|\n|\\ No newline at end of file\n|--- a/x\n|\+\+\+ b/x\n|@@ -1 \+1 @@\n){0,12}`),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 300), func(b []byte) string { return string(b) }),
	)
	file := rapid.Custom(func(t *rapid.T) *gitpatch.File {
		f := &gitpatch.File{Mode: rapid.SampledFrom([]gitpatch.Mode{gitpatch.Regular, gitpatch.Executable, gitpatch.Link}).Draw(t, "mode")}
		f.Content = []byte(text.Draw(t, "content"))
		if f.Mode == gitpatch.Link {
			f.Content = []byte(rapid.SampledFrom([]string{"a", "b/c", "größe"}).Draw(t, "target"))
		}
		return f
	})
	rapid.Check(t, func(rt *rapid.T) {
		name := rapid.SampledFrom([]string{"f", "dir/sub/f", "with space", "größe", `quo"te`, "b/a", "x/b/x"}).Draw(rt, "name")
		before, after := rapid.Ptr(file, true).Draw(rt, "before"), rapid.Ptr(file, true).Draw(rt, "after")
		var old, fresh *gitpatch.File
		if before != nil {
			old = *before
		}
		if after != nil {
			fresh = *after
		}
		if old == nil && fresh == nil {
			return
		}
		patch, err := gitpatch.Diff(name, old, fresh)
		if err != nil {
			rt.Fatal(err)
		}
		if patch == "" {
			if diff := cmp.Diff(old, fresh); diff != "" {
				rt.Fatalf("no patch of\n%s", diff)
			}
			return
		}
		if diff := cmp.Diff(fresh, applied(rt, patch, old), cmp.Transformer("text", func(b []byte) string { return string(b) })); diff != "" {
			rt.Fatalf("by Apply (-want +got):\n%s\n%s", diff, patch)
		}
		if diff := cmp.Diff(fresh, byGit(rt, dir, name, patch, old), cmp.Transformer("text", func(b []byte) string { return string(b) })); diff != "" {
			rt.Fatalf("by git (-want +got):\n%s\n%s", diff, patch)
		}
	})
}

func applied(t *rapid.T, patch string, state *gitpatch.File) *gitpatch.File {
	changes, err := gitpatch.Parse(patch)
	if err != nil {
		t.Fatalf("%v\n%s", err, patch)
	}
	for _, c := range changes {
		var old []byte
		mode := c.Mode
		if state != nil {
			old = state.Content
			if mode == gitpatch.Same {
				mode = state.Mode
			}
		}
		content, _, err := c.Apply(old)
		if err != nil {
			t.Fatalf("%v\n%s", err, patch)
		}
		if state = nil; c.To != "" {
			state = &gitpatch.File{Mode: mode, Content: append([]byte{}, content...)}
		}
	}
	return state
}

// byGit has git apply a patch in a folder with one file.
func byGit(t *rapid.T, dir, name, patch string, old *gitpatch.File) *gitpatch.File {
	root, err := os.MkdirTemp(dir, "tree")
	if err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(root, name)
	switch {
	case old == nil:
	case old.Mode == gitpatch.Link:
		err = errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.Symlink(string(old.Content), at))
	default:
		perm := os.FileMode(0o644)
		if old.Mode == gitpatch.Executable {
			perm = 0o755
		}
		err = errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, old.Content, perm))
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("git", "apply", "-")
	cmd.Dir, cmd.Stdin = root, strings.NewReader(patch)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_CEILING_DIRECTORIES="+root)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git apply: %v\n%s\n%s", err, out, patch)
	}
	info, err := os.Lstat(at)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	f := &gitpatch.File{Mode: gitpatch.Regular}
	if info.Mode()&os.ModeSymlink != 0 {
		target, err := os.Readlink(at)
		if err != nil {
			t.Fatal(err)
		}
		return &gitpatch.File{Mode: gitpatch.Link, Content: []byte(target)}
	}
	if info.Mode()&0o100 != 0 {
		f.Mode = gitpatch.Executable
	}
	if f.Content, err = os.ReadFile(at); err != nil {
		t.Fatal(err)
	}
	return f
}

// FuzzParse: no text crashes the parser, and what it accepts can be applied or refused.
func FuzzParse(f *testing.F) {
	f.Add("diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-a\n+b\n", []byte("a\n"))
	f.Add("--- a/a\n+++ b/a\n@@ -1,2 +1 @@\n a\n-b\n\\ No newline at end of file\n", []byte("a\nb"))
	f.Add("diff --git a/i b/i\nindex 0..1\nGIT binary patch\nliteral 3\nKcmZ\n\ndelta 1\nIcm\n\n", []byte{})
	f.Add("diff --git \"a/\\303\\244\" b/x\nrename from a\nrename to \"x\\\"\"\n", []byte("x"))
	f.Fuzz(func(t *testing.T, text string, old []byte) {
		changes, err := gitpatch.Parse(text)
		if err != nil {
			bad, ok := errors.AsType[*gitpatch.ParseError](err)
			if !ok || bad.Message == "" || len(bad.Error()) > 2000 {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		for _, c := range changes {
			if name := c.Name(); name == "" || gitpatch.PathProblem(c.From) != "" && c.From != "" || gitpatch.PathProblem(c.To) != "" && c.To != "" {
				t.Fatalf("%q → %q", c.From, c.To)
			}
			content, _, err := c.Apply(old)
			if _, conflict := errors.AsType[*gitpatch.Conflict](err); err != nil && !conflict {
				t.Fatalf("%T: %v", err, err)
			}
			if len(content) > gitpatch.MaxFile+len(text) {
				t.Fatalf("%d bytes", len(content))
			}
		}
	})
}
