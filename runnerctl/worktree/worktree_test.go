package worktree_test

import (
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/runnerhub/runnerhub/runnerctl/archive"
	"github.com/runnerhub/runnerhub/runnerctl/worktree"
)

// write writes files; a name that ends with * is a program, one with / a folder,
// and content that begins with -> a link.
func write(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		mode := os.FileMode(0o644)
		if plain, program := strings.CutSuffix(name, "*"); program {
			name, mode = plain, 0o755
		}
		full := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(full), 0o755)
		target, link := strings.CutPrefix(content, "->")
		switch {
		case err != nil:
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(full, 0o755)
		case link:
			err = os.Symlink(target, full)
		default:
			err = os.WriteFile(full, []byte(content), mode)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func scan(t *testing.T, dir string) *worktree.Tree {
	t.Helper()
	tree, err := worktree.Scan(t.Context(), dir, archive.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %s: %v", strings.Join(args, " "), err)
	}
	return string(out)
}

func TestScan(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		files map[string]string
		want  []string
		links []string
	}{
		"nothing ignored": {
			map[string]string{"b/c": "c", "a": "a", ".hidden": "h", "empty/": "", ".git/config": "x", "sub/.git": "gitdir: x"},
			[]string{".hidden", "a", "b", "b/c", "empty", "sub"}, nil,
		},
		"gitignore of every folder": {
			map[string]string{".gitignore": "*.log\n/out\n", "x.log": "", "out/a": "", "src/out/a": "", "src/.gitignore": "!keep.log\nlocal\n", "src/keep.log": "", "src/local": "", "local": ""},
			[]string{".gitignore", "local", "src", "src/.gitignore", "src/keep.log", "src/out", "src/out/a"}, nil,
		},
		"our own has the last word": {
			map[string]string{".gitignore": "dist/\n", ".runnerhubignore": "!dist/\ndocs/\n", "dist/app": "", "docs/a": "", "a": ""},
			[]string{".gitignore", ".runnerhubignore", "a", "dist", "dist/app"}, nil,
		},
		"dockerignore alone": {
			map[string]string{".dockerignore": "*\n!src\nsrc/**/*.tmp\n", "a": "", "src/a": "", "src/b/x.tmp": ""},
			[]string{"src", "src/a", "src/b"}, nil,
		},
		"dockerignore beside gitignore": {
			map[string]string{".dockerignore": "tests\n", ".gitignore": "x\n", "tests/a": "", "x": ""},
			[]string{".dockerignore", ".gitignore", "tests", "tests/a"}, nil,
		},
		"links": {
			map[string]string{"d/in": "->../a", "d/out": "->../../a", "abs": "->/etc/passwd", "a": "", "tricky": "->d/../../x", "gone": "->nothing"},
			[]string{"a", "d", "d/in", "gone"}, []string{"abs", "d/out", "tricky"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, dir, tt.files)
			tree := scan(t, dir)
			if diff := cmp.Diff(tt.want, tree.Names); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tt.links, tree.Links); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What git keeps although a rule ignores it goes, with the folders above.
func TestTrackedFilesGo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, map[string]string{".gitignore": "vendor/\n*.bin\n", "vendor/kept/a": "a", "vendor/b": "b", "tool.bin": "t", "other.bin": "o"})
	git(t, dir, "init", "--quiet")
	git(t, dir, "add", "--force", "vendor/kept/a", "tool.bin")
	want := []string{".gitignore", "tool.bin", "vendor", "vendor/kept", "vendor/kept/a"}
	if diff := cmp.Diff(want, scan(t, dir).Names); diff != "" {
		t.Error(diff)
	}
}

// The rules mean what they mean to git.
func TestRulesAreGits(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	tree := map[string]string{}
	for _, name := range []string{"a", "b.txt", "ab", "x/a", "x/b.txt", "x/y/a", "x/y/b.txt", "x/y/z/ab", "y/a", "y/x/a", "{a,b}", "[a]", "a b", "#a", "!a"} {
		tree[name] = "text"
	}
	write(t, base, tree)
	git(t, base, "init", "--quiet")
	part := rapid.SampledFrom([]string{"a", "b.txt", "x", "y", "z", "ab", "*", "**", "?", "a*", "*.txt", "[ab]", "[!a]", "{a,b}", `\[a]`, `a\ b`, "x*"})
	rapid.Check(t, func(rt *rapid.T) {
		var text strings.Builder
		for range rapid.IntRange(1, 4).Draw(rt, "rules") {
			text.WriteString(rapid.SampledFrom([]string{"", "", "!", "#", `\`}).Draw(rt, "prefix"))
			text.WriteString(rapid.SampledFrom([]string{"", "", "/", "**/"}).Draw(rt, "anchor"))
			text.WriteString(strings.Join(rapid.SliceOfN(part, 1, 3).Draw(rt, "parts"), "/"))
			text.WriteString(rapid.SampledFrom([]string{"", "", "/", " ", "/**"}).Draw(rt, "end") + "\n")
		}
		write(t, base, map[string]string{".gitignore": text.String()})
		var want []string
		for name := range strings.SplitSeq(strings.TrimRight(git(t, base, "ls-files", "-z", "--others", "--exclude-standard"), "\x00"), "\x00") {
			want = append(want, name)
		}
		slices.Sort(want)
		found, err := worktree.Scan(t.Context(), base, archive.Limits{})
		if err != nil {
			rt.Fatal(err)
		}
		var got []string
		for _, name := range found.Names {
			if info, err := os.Stat(filepath.Join(base, name)); err == nil && !info.IsDir() {
				got = append(got, name)
			}
		}
		slices.Sort(got)
		if diff := cmp.Diff(strings.Join(want, "\n"), strings.Join(got, "\n")); diff != "" {
			rt.Fatalf("with %q (-git +ours):\n%s", text.String(), diff)
		}
	})
}

// Packing the same tree twice, whenever and by whomever it was written, gives the same bytes, and
// unpacking them the same tree.
func TestPackIsDeterministic(t *testing.T) {
	t.Parallel()
	files := map[string]string{"run.sh*": "#!/bin/sh\n", "src/a": strings.Repeat("text ", 100_000), "link": "->src/a", "empty/": "", "é/ü": "name"}
	var digests []string
	for i := range 2 {
		dir := t.TempDir()
		write(t, dir, files)
		at := time.Date(2001+i, 1, 1, 0, 0, 0, 0, time.UTC)
		if err := os.Chtimes(filepath.Join(dir, "src/a"), at, at); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Join(dir, "src/a"), 0o600+fs.FileMode(i)*0o044); err != nil {
			t.Fatal(err)
		}
		var read int64
		packed, err := scan(t, dir).Pack(t.Context(), func(n int64) { read += n })
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(packed.Close)
		digests = append(digests, packed.Digest)
		if want := int64(500_000 + 10 + 4); read != want {
			t.Errorf("progress of %d bytes, want %d", read, want)
		}
		out := t.TempDir()
		if err := archive.Unpack(t.Context(), io.NewSectionReader(packed, 0, packed.Size), out, archive.Limits{}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(scan(t, dir).Names, scan(t, out).Names); diff != "" {
			t.Error(diff)
		}
		if info, err := os.Stat(filepath.Join(out, "run.sh")); err != nil || info.Mode().Perm() != 0o755 {
			t.Errorf("run.sh: %v, %v", info, err)
		}
	}
	if digests[0] != digests[1] {
		t.Errorf("the digests differ: %s", digests)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, map[string]string{"big/a": strings.Repeat("x", 4000), "big/b": strings.Repeat("x", 4000), "small": "x"})
	for words, limits := range map[string]archive.Limits{"larger than 4KiB": {Bytes: 4096}, "more than 2 files": {Files: 2}} {
		_, err := worktree.Scan(t.Context(), dir, limits)
		e, ok := err.(*archive.Error) //nolint:errorlint // it is returned as it is
		if !ok || !strings.Contains(e.Message, words) || !strings.Contains(e.Hint, "big (") || !strings.Contains(e.Hint, ".runnerhubignore") {
			t.Errorf("got %v", err)
		}
	}
}
