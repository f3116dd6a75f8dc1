package docker_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runnerhub/runnerhub/runnerctl/archive"
	"github.com/runnerhub/runnerhub/runnerctl/source"
	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/docker"
	"github.com/runnerhub/runnerhub/topology/topologytest"
)

// tree is what is in a folder, by path: content, behind * for a program and -> for a link.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(dir, name)
		info, err := d.Info()
		if err != nil {
			return err
		}
		if info.Mode()&os.ModeSymlink != 0 {
			target, err := os.Readlink(name)
			out[rel] = "->" + target
			return err
		}
		data, err := os.ReadFile(name)
		if out[rel] = string(data); info.Mode()&0o100 != 0 {
			out[rel] = "*" + string(data)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func plant(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		at, perm := filepath.Join(dir, name), os.FileMode(0o644)
		plain, program := strings.CutPrefix(content, "*")
		if program {
			perm = 0o755
		}
		err := os.MkdirAll(filepath.Dir(at), 0o755)
		if target, link := strings.CutPrefix(content, "->"); link && err == nil {
			err = os.Symlink(target, at)
		} else if err == nil {
			err = os.WriteFile(at, []byte(plain), perm)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// patched is the tree that a job would start with whose source is a folder, packed, and a patch.
func patched(t *testing.T, dir, patch string) string {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	var names []string
	err = fs.WalkDir(root.FS(), ".", func(name string, _ fs.DirEntry, err error) error {
		if name != "." {
			names = append(names, name)
		}
		return err
	})
	var packed bytes.Buffer
	if err == nil {
		err = archive.Pack(t.Context(), &packed, root, names, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	f := &source.Fetcher{Open: func(context.Context, string) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(packed.Bytes())), nil
	}}
	s := &topology.Source{Archive: fmt.Sprintf("sha256:%x", sha256.Sum256(packed.Bytes())), Patch: patch}
	at, failure := f.Fetch(t.Context(), s, "ticket", t.TempDir(), nil, func(string) {})
	if failure != nil {
		t.Fatalf("%+v", failure)
	}
	return at
}

// The next job and git apply make the job's tree of what it started with, whether the
// job failed or not, as steps or as a command.
func TestAPatchOfWhatAJobChanged(t *testing.T) {
	t.Parallel()
	before := map[string]string{
		".gitignore": "build/\n*.o\n", "kept.o": "tracked\n", "src/a.txt": "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "src/gone/b": "b\n", "run.sh": "echo\n", "tool": "*#!/bin/sh\n",
		"link": "->src/a.txt", "data": "\x00\x01", "same": "same\n", "turns": "file\n", "folder/x": "x\n", "no end": "x", "größe": "ä\n",
	}
	script := `sed -i s/5/five/ src/a.txt; rm -r src/gone; chmod +x run.sh; chmod 644 tool; rm link; ln -s same link; printf '\000\002\377' > data; touch same
		rm turns; mkdir turns; echo in > turns/in; rm -r folder; echo f > folder; echo more >> kept.o; echo o > new.o; mkdir -p build/deep; echo b > build/deep/b
		mkdir -p new/dir; echo 'größe "x"' > "new/dir/a b"; printf 'no end' > 'no end'; : > empty; ln new/dir/a\ b hard; ln -s /etc/passwd out; mkdir .git; echo g > .git/config
		printf 'ö\n' > größe; dd if=/dev/zero of=big bs=1M count=5 2>/dev/null; mkfifo pipe`
	want := map[string]string{
		".gitignore": "build/\n*.o\n", "kept.o": "tracked\nmore\n", "src/a.txt": "1\n2\n3\n4\nfive\n6\n7\n8\n9\n", "run.sh": "*echo\n", "tool": "#!/bin/sh\n",
		"link": "->same", "data": "\x00\x02\xff", "same": "same\n", "turns/in": "in\n", "folder": "f\n", "no end": "no end", "größe": "ö\n",
		"new/dir/a b": "größe \"x\"\n", "hard": "größe \"x\"\n", "empty": "",
	}
	id := identity(t)
	e := newExecutor(t, id.Hub, docker.Options{})
	steps := &topology.Spec{Image: busybox, User: "1000:1000", Steps: []topology.Step{{Name: "change", Run: script + "\nexit 3"}}}
	for name, s := range map[string]*topology.Spec{"steps that fail": steps, "a command": {Image: busybox, Command: sh(script)}} {
		source := t.TempDir()
		plant(t, source, before)
		s.Collect = topology.CollectPatch
		obs := &topologytest.Observer{}
		r := e.Run(t.Context(), topology.Work{Identity: id, Spec: s, Source: source, Collect: &topology.Collect{Dir: filepath.Join(t.TempDir(), "kept")}}, obs)
		if len(r.Artifacts) != 1 || r.Artifacts[0].Name != "patch" || r.Artifacts[0].Path != "changes.patch" {
			t.Fatalf("%s: %+v, %+v", name, r.Artifacts, r.Failure)
		}
		if diff := cmp.Diff(&topology.Changes{Added: 5, Modified: 8, Deleted: 3, LeftOut: 3, Ignored: 2}, r.Changes); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		text, err := os.ReadFile(r.Artifacts[0].File)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, tree(t, patched(t, source, string(text)))); diff != "" {
			t.Errorf("%s, as the next job's source.patch: %s", name, diff)
		}
		cmd := exec.CommandContext(t.Context(), "git", "apply", r.Artifacts[0].File)
		cmd.Dir, cmd.Env = source, append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(source))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
		if diff := cmp.Diff(want, tree(t, source)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		log := obs.Text(topology.System, "")
		for _, words := range []string{"artifact patch: 5 new, 8 modified, 3 deleted", `"big" (more than 4194304 bytes)`, `"out" (a link that leads out`, `"pipe" (neither`, "2 new files that the source's .gitignore"} {
			if !strings.Contains(log, words) {
				t.Errorf("%s: the log lacks %q:\n%s", name, words, log)
			}
		}
	}
}

// Without a source everything is new; where nothing changed there is no patch.
func TestAPatchOfNothing(t *testing.T) {
	t.Parallel()
	id := identity(t)
	e := newExecutor(t, id.Hub, docker.Options{})
	for script, want := range map[string]int{"true": 0, "echo a > a": 1} {
		obs := &topologytest.Observer{}
		r := e.Run(t.Context(), topology.Work{Identity: id, Spec: &topology.Spec{Image: busybox, Command: sh(script), Collect: topology.CollectPatch}, Collect: &topology.Collect{Dir: filepath.Join(t.TempDir(), "kept")}}, obs)
		wantResult(t, r, "succeeded 0")
		if len(r.Artifacts) != want || r.Changes == nil || r.Changes.Added != want {
			t.Errorf("%s: %+v, %+v", script, r.Artifacts, r.Changes)
		}
	}
}
