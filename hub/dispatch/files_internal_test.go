package dispatch

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/runnerhub/runnerhub/hub"
)

// shells are the command lines of every sh that this machine has.
func shells(t testing.TB) [][]string {
	own, err := filepath.EvalSymlinks("/bin/sh")
	must(t, err)
	found := [][]string{{"/bin/sh"}}
	for _, line := range [][]string{{"dash"}, {"bash"}, {"busybox", "sh"}, {"zsh"}} {
		at, err := exec.LookPath(line[0])
		if path, linkErr := filepath.EvalSymlinks(at); err == nil && linkErr == nil && path != own {
			found = append(found, append([]string{at}, line[1:]...))
		}
	}
	t.Logf("shells: %v", found)
	return found
}

// script runs a script as a container would, in dir.
func script(t testing.TB, shell []string, dir string, at filePlace, text string, options []string, input []byte) ExecPage {
	t.Helper()
	line := append(slices.Clone(shell), at.command(text, options)[1:]...)
	c := exec.CommandContext(t.Context(), line[0], line[1:]...)
	var stdout, stderr bytes.Buffer
	c.Dir, c.Stdin, c.Stdout, c.Stderr = dir, bytes.NewReader(input), &stdout, &stderr
	err := c.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	code := c.ProcessState.ExitCode()
	return ExecPage{Exec: hub.Exec{End: &hub.ExecEnd{Status: hub.ExecExited, ExitCode: &code}}, Stdout: stdout.Bytes(), Stderr: stderr.Bytes()}
}

func placeIn(t testing.TB, p string) filePlace {
	t.Helper()
	elements, err := below("/workspace", p)
	if err != nil {
		t.Fatal(err)
	}
	return filePlace{FileRequest: FileRequest{Path: p}, shell: "/bin/sh", root: ".", elements: elements}
}

// read reads like ReadFile.
func read(t testing.TB, shell []string, dir, p string, offset, most int) (FilePage, error) {
	t.Helper()
	at := placeIn(t, p)
	out := script(t, shell, dir, at, readScript, []string{strconv.Itoa(offset), strconv.Itoa(most), strconv.Itoa(maxFileEntries)}, nil)
	if err := at.refusal(out); err != nil {
		return FilePage{}, err
	}
	return filePage(out.Stdout, out.Stderr, ReadFileRequest{FileRequest: at.FileRequest, Offset: int64(offset), Max: int64(most)})
}

// write writes like WriteFile, but that it announces size bytes.
func write(t testing.TB, shell []string, dir, p, mode, content string, size int) (created bool, err error) {
	t.Helper()
	at := placeIn(t, p)
	out := script(t, shell, dir, at, writeScript, []string{strconv.Itoa(size), mode, "word"}, []byte(content))
	return string(out.Stdout) == "new\n", at.refusal(out)
}

// workspace is a folder with files of all kinds in it, beside one that must not be reached.
func workspace(t testing.TB) (dir string) {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	dir = filepath.Join(top, "w")
	for _, d := range []string{"w/src/deep", "w/empty", "w-other", "outside/folder"} {
		must(t, os.MkdirAll(filepath.Join(top, d), 0o755))
	}
	for name, content := range map[string]string{
		"w/file": "0123456789", "w/src/main.go": "package main\n", "w/src/-n": "dash", "w/src/ two  words\n": "odd", "w/.hidden": "h",
		"w/src/*": "star", "w/$HOME": "dollar", "outside/secret": "SECRET", "outside/folder/secret": "SECRET", "w-other/secret": "SECRET",
	} {
		must(t, os.WriteFile(filepath.Join(top, name), []byte(content), 0o644))
	}
	must(t, os.WriteFile(filepath.Join(dir, "run"), []byte("#!/bin/sh\n"), 0o755))
	for name, to := range map[string]string{
		"w/in": "src/main.go", "w/absolute": filepath.Join(dir, "file"), "w/out": "../outside/secret", "w/outabsolute": filepath.Join(top, "outside/secret"),
		"w/folderin": "src", "w/folderout": "../outside", "w/sibling": "../w-other/secret", "w/gone": "nothing", "w/round": "round", "w/chain": "folderout/folder",
	} {
		must(t, os.Symlink(to, filepath.Join(top, name)))
	}
	must(t, exec.CommandContext(t.Context(), "mkfifo", filepath.Join(dir, "pipe")).Run())
	return dir
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestFilesAreRead(t *testing.T) {
	t.Parallel()
	dir := workspace(t)
	for _, shell := range shells(t) {
		for _, tc := range []struct {
			path         string
			offset, most int
			want         string
			size         int64
			code         hub.Code
		}{
			{path: "file", most: 100, want: "0123456789", size: 10},
			{path: "/workspace/file", most: 4, want: "0123", size: 10},
			{path: "./src/../file", offset: 4, most: 3, want: "456", size: 10},
			{path: "file", offset: 8, most: 100, want: "89", size: 10},
			{path: "file", offset: 10, most: 100, size: 10},
			{path: "file", offset: 11, most: 100, code: hub.InvalidArgument},
			{path: "src/-n", most: 9, want: "dash", size: 4},
			{path: "src/ two  words\n", most: 9, want: "odd", size: 3},
			{path: "src/*", most: 9, want: "star", size: 4},
			{path: "$HOME", most: 9, want: "dollar", size: 6},
			{path: "in", most: 7, want: "package", size: 13},
			{path: "absolute", most: 1, want: "0", size: 10},
			{path: "folderin/main.go", most: 7, want: "package", size: 13},
			{path: "out", most: 9, code: hub.InvalidArgument},
			{path: "outabsolute", most: 9, code: hub.InvalidArgument},
			{path: "sibling", most: 9, code: hub.InvalidArgument},
			{path: "folderout/secret", most: 9, code: hub.InvalidArgument},
			{path: "folderout", most: 9, code: hub.InvalidArgument},
			{path: "chain/secret", most: 9, code: hub.InvalidArgument},
			{path: "gone", most: 9, code: hub.NotFound},
			{path: "round", most: 9, code: hub.NotFound},
			{path: "src/none", most: 9, code: hub.NotFound},
			{path: "none/none", most: 9, code: hub.NotFound},
			{path: "file/below", most: 9, code: hub.InvalidArgument},
			{path: "pipe", most: 9, code: hub.InvalidArgument},
		} {
			got, err := read(t, shell, dir, tc.path, tc.offset, tc.most)
			if hub.CodeOf(err) != tc.code || string(got.Data) != tc.want || got.Size != tc.size || got.Folder {
				t.Errorf("%v: %q from %d: %q of %d, %v; want %q of %d, %q", shell, tc.path, tc.offset, got.Data, got.Size, err, tc.want, tc.size, tc.code)
			}
		}
	}
}

func TestFoldersAreListed(t *testing.T) {
	t.Parallel()
	dir := workspace(t)
	crowd := filepath.Join(dir, "crowd")
	must(t, os.Mkdir(crowd, 0o755))
	for i := range maxFileEntries + 3 {
		must(t, os.WriteFile(filepath.Join(crowd, strconv.Itoa(i)), nil, 0o644))
	}
	for _, shell := range shells(t) {
		top, err := read(t, shell, dir, ".", 0, 1)
		must(t, err)
		want := map[FileEntry]bool{
			{"file", ".hidden", 1}: true, {"file", "file", 10}: true, {"folder", "src", -1}: true, {"link", "out", -1}: true,
			{"other", "pipe", -1}: true, {"link", "gone", -1}: true, {"file", "$HOME", 6}: true,
		}
		for _, e := range top.Entries {
			delete(want, e)
		}
		if !top.Folder || top.Total != len(top.Entries) || len(want) > 0 {
			t.Errorf("%v: lacks %v in %+v", shell, want, top)
		}
		src, err := read(t, shell, dir, "folderin", 0, 1)
		must(t, err)
		var names []string
		for _, e := range src.Entries {
			names = append(names, e.Name)
		}
		slices.Sort(names)
		if !slices.Equal(names, []string{" two  words\n", "*", "-n", "deep", "main.go"}) {
			t.Errorf("%v: %q", shell, names)
		}
		if empty, err := read(t, shell, dir, "empty/", 0, 1); err != nil || !empty.Folder || empty.Total != 0 {
			t.Errorf("%v: %+v, %v", shell, empty, err)
		}
		if many, err := read(t, shell, dir, "crowd", 0, 1); err != nil || many.Total != maxFileEntries+3 || len(many.Entries) != maxFileEntries {
			t.Errorf("%v: %d of %d entries, %v", shell, len(many.Entries), many.Total, err)
		}
	}
}

func TestFilesAreWritten(t *testing.T) {
	t.Parallel()
	for _, shell := range shells(t) {
		dir := workspace(t)
		for _, tc := range []struct {
			path, mode string
			lands      string // where it is then, below dir
			perm       os.FileMode
			created    bool
			code       hub.Code
		}{
			{path: "file", lands: "file", perm: 0o644},
			{path: "run", lands: "run", perm: 0o755},
			{path: "run", mode: "0640", lands: "run", perm: 0o640},
			{path: "a/b c/-d", mode: "755", lands: "a/b c/-d", perm: 0o755, created: true},
			{path: "/workspace/new", lands: "new", perm: 0o644, created: true},
			{path: "in", lands: "src/main.go", perm: 0o644},
			{path: "folderin/more", lands: "src/more", perm: 0o644, created: true},
			{path: "out", code: hub.InvalidArgument},
			{path: "sibling", code: hub.InvalidArgument},
			{path: "folderout/new", code: hub.InvalidArgument},
			{path: "chain/new/newer", code: hub.InvalidArgument},
			{path: "round", code: hub.NotFound},
			{path: "src", code: hub.InvalidArgument},
			{path: "pipe", code: hub.InvalidArgument},
			{path: "file/below", code: hub.InvalidArgument},
		} {
			created, err := write(t, shell, dir, tc.path, tc.mode, tc.path, len(tc.path))
			if hub.CodeOf(err) != tc.code || created != tc.created {
				t.Errorf("%v: %q: created %v, %v; want %v, %q", shell, tc.path, created, err, tc.created, tc.code)
				continue
			}
			if tc.lands == "" {
				continue
			}
			at := filepath.Join(dir, tc.lands)
			info, err := os.Lstat(at)
			must(t, err)
			if got, err := os.ReadFile(at); err != nil || string(got) != tc.path || info.Mode() != tc.perm {
				t.Errorf("%v: %q: %q with %v, %v", shell, tc.path, got, info.Mode(), err)
			}
		}
		unharmed(t, dir)
	}
}

// What did not arrive whole takes no file's place.
func TestAPartOfAFileIsNotWritten(t *testing.T) {
	t.Parallel()
	for _, shell := range shells(t) {
		dir := workspace(t)
		if _, err := write(t, shell, dir, "file", "", "half", 8); hub.CodeOf(err) != hub.Conflict {
			t.Errorf("%v: %v", shell, err)
		}
		if got, err := os.ReadFile(filepath.Join(dir, "file")); err != nil || string(got) != "0123456789" {
			t.Errorf("%v: the file has become %q, %v", shell, got, err)
		}
		unharmed(t, dir)
	}
}

// unharmed wants nothing left of what a write needs meanwhile, and what is outside as it was.
func unharmed(t testing.TB, dir string) {
	t.Helper()
	err := filepath.WalkDir(filepath.Dir(dir), func(file string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if strings.HasPrefix(d.Name(), ".runnerhub-") {
			t.Errorf("%s is left", file)
		}
		if !strings.HasPrefix(file, dir+"/") && d.Type().IsRegular() {
			if got, err := os.ReadFile(file); err != nil || string(got) != "SECRET" {
				t.Errorf("%s has become %q, %v", file, got, err)
			}
		}
		return nil
	})
	must(t, err)
}

// Whatever links a job makes, and whatever path is asked for, nothing outside is read or written.
func TestNothingOutsideIsReached(t *testing.T) {
	t.Parallel()
	all := shells(t)
	rapid.Check(t, func(r *rapid.T) {
		top := t.TempDir()
		dir := filepath.Join(top, "w")
		must(t, os.MkdirAll(filepath.Join(dir, "a/b"), 0o755))
		must(t, os.WriteFile(filepath.Join(top, "secret"), []byte("SECRET"), 0o644))
		word := rapid.SampledFrom([]string{"a", "b", "l", "..", ".", "secret", "w"})
		for range 3 {
			to := strings.Join(rapid.SliceOfN(word, 1, 4).Draw(r, "to"), "/")
			if rapid.Bool().Draw(r, "absolute") {
				to = filepath.Join(top, to)
			}
			_ = os.Symlink(to, filepath.Join(dir, rapid.SampledFrom([]string{"l", "a/l", "a/b/l"}).Draw(r, "link"))) // one may be there
		}
		p := strings.Join(rapid.SliceOfN(word, 1, 5).Draw(r, "path"), "/")
		if _, err := below("/workspace", p); err != nil {
			return
		}
		shell := rapid.SampledFrom(all).Draw(r, "shell")
		if got, err := read(t, shell, dir, p, 0, 100); err == nil && bytes.Contains(got.Data, []byte("SECRET")) {
			r.Fatalf("%q read what is outside", p)
		}
		if rapid.Bool().Draw(r, "write") {
			_, _ = write(t, shell, dir, p, "", "written", 7)
		}
		found, err := os.ReadDir(top)
		must(t, err)
		if got, err := os.ReadFile(filepath.Join(top, "secret")); len(found) != 2 || err != nil || string(got) != "SECRET" {
			r.Fatalf("%q wrote outside: %v, %q, %v", p, found, got, err)
		}
	})
}

func TestPathsStayBelowTheirFolder(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		folder, path string
		want         []string // nil: refused
	}{
		{"/workspace", "a/b", []string{"a", "b"}},
		{"/workspace", "/workspace/a//b/", []string{"a", "b"}},
		{"/workspace", "/workspace", []string{}},
		{"/workspace/", ".", []string{}},
		{"/workspace", "a/../b", []string{"b"}},
		{"/workspace", "...", []string{"..."}},
		{"/workspace", "..a", []string{"..a"}},
		{"/workspace", "..", nil},
		{"/workspace", "a/../../b", nil},
		{"/workspace", "/workspaces/a", nil},
		{"/workspace", "/workspace/../etc/passwd", nil},
		{"/workspace", "/etc/passwd", nil},
		{"/workspace", "/", nil},
		{"/workspace", "", nil},
		{"/workspace", "a\x00b", nil},
		{"/workspace", strings.Repeat("a", maxPath+1), nil},
		{"/", "etc/passwd", []string{"etc", "passwd"}},
		{"/", "/etc", []string{"etc"}},
		{"", "/etc/passwd", []string{"etc", "passwd"}},
		{"", "/../etc", []string{"etc"}},
		{"", "etc", nil},
	} {
		got, err := below(tc.folder, tc.path)
		if (err == nil) != (tc.want != nil) || !slices.Equal(got, tc.want) {
			t.Errorf("%q below %q: %q, %v; want %q", tc.path, tc.folder, got, err, tc.want)
		}
	}
}

func FuzzFilePaths(f *testing.F) {
	for _, p := range []string{"a/b", "/workspace/x", "../x", "a/../..", "//", "\x00", "/workspace/../workspace/a"} {
		f.Add("/workspace", p)
		f.Add("", p)
	}
	f.Fuzz(func(t *testing.T, folder, p string) {
		if folder != "" && !strings.HasPrefix(folder, "/") {
			folder = "/" + folder
		}
		elements, err := below(folder, p)
		if err != nil {
			if hub.CodeOf(err) != hub.InvalidArgument {
				t.Fatal(err)
			}
			return
		}
		for _, e := range elements {
			if e == "" || e == "." || e == ".." || strings.ContainsAny(e, "/\x00") {
				t.Fatalf("%q below %q has the element %q", p, folder, e)
			}
		}
	})
}

// A container may answer anything.
func FuzzFileAnswers(f *testing.F) {
	f.Add([]byte("0123"), []byte("file 10\n"), int64(0))
	f.Add([]byte("file\x00name\x00\x0010\n"), []byte("folder 1\n"), int64(0))
	f.Add([]byte("file\x00na"), []byte("folder 99999999999999999999\n"), int64(7))
	f.Add([]byte("\x00\x00\x00"), []byte("folder -1"), int64(-1))
	f.Fuzz(func(t *testing.T, stdout, stderr []byte, offset int64) {
		got, err := filePage(stdout, stderr, ReadFileRequest{Offset: max(offset, 0), Max: MaxFilePage})
		if err != nil {
			return
		}
		if len(got.Data) > MaxFilePage || len(got.Entries) > maxFileEntries || got.Total < len(got.Entries) || got.Size < int64(len(got.Data)) {
			t.Fatalf("%+v", got)
		}
		for _, e := range got.Entries {
			if !slices.Contains([]string{"file", "folder", "link", "other"}, e.Type) || e.Size < -1 {
				t.Fatalf("%+v", e)
			}
		}
	})
}
