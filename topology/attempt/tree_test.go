package attempt

import (
	"archive/tar"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/topologytest"
)

// writeTree makes a folder with a program, a text, a link and an empty folder.
func writeTree(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, err := range []error{
		os.MkdirAll(filepath.Join(dir, "src/deep"), 0o755),
		os.WriteFile(filepath.Join(dir, "run.sh"), []byte("#!/bin/sh\n"), 0o755), //nolint:gosec // it is a program
		os.WriteFile(filepath.Join(dir, "src/text"), []byte("words"), 0o600),
		os.Symlink("text", filepath.Join(dir, "src/link")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const accounts = "root:x:0:0:root:/root:/bin/sh\napp:x:1234:2345:App:/home/app:/bin/sh\nbroken:x:y:z\n"

func TestWorkspaceStartsWithTheSource(t *testing.T) {
	tests := map[string]struct {
		user, want string // uid:gid of the files
	}{
		"root":                {"", "0:0"},
		"root by name":        {"root", "0:0"},
		"a name":              {"app", "1234:2345"},
		"an id in the list":   {"1234", "1234:2345"},
		"an id of nobody":     {"4321", "4321:0"},
		"ids":                 {"1000:1001", "1000:1001"},
		"a name and a group":  {"app:staff", "1234:50"},
		"an id and a group":   {"7:staff", "7:50"},
		"a name and an id":    {"app:9", "1234:9"},
		"a name of nobody":    {"nobody", "0:0"},
		"a malformed account": {"broken", "0:0"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			dir := writeTree(t)
			inBubble(t, func(b *bench) {
				var got []string
				b.fake.AddProgram("look", func(p *topologytest.FakeProcess) int {
					for _, name := range []string{"", "/run.sh", "/src", "/src/deep", "/src/text", "/src/link"} {
						f, present := p.File("/srv/dir" + name)
						if !present {
							return 1
						}
						h := f.Header
						got = append(got, strings.TrimSpace(fmt.Sprintf("%s %o %d:%d %s%s", name, h.Mode, h.Uid, h.Gid, f.Data, h.Linkname)))
					}
					return 0
				})
				b.fake.AddImageFile(topologytest.FakeImage, topologytest.FakeFile{Header: tar.Header{Typeflag: tar.TypeReg, Name: "/etc/passwd"}, Data: []byte(accounts)})
				b.fake.AddImageFile(topologytest.FakeImage, topologytest.FakeFile{Header: tar.Header{Typeflag: tar.TypeReg, Name: "/etc/group"}, Data: []byte("root:x:0:\nstaff:x:50:app\n")})
				spec := &topology.Spec{Image: topologytest.FakeImage, Command: command("look"), WorkingDir: "/srv/dir", User: tt.user}
				b.want(b.exec.Run(b.Context(), topology.Work{Identity: id, Spec: spec, Source: dir}, b.obs), "succeeded")
				want := []string{
					"777 " + tt.want, "/run.sh 755 " + tt.want + " #!/bin/sh", "/src 755 " + tt.want, "/src/deep 755 " + tt.want,
					"/src/text 600 " + tt.want + " words", "/src/link 777 " + tt.want + " text",
				}
				if diff := cmp.Diff(want, got); diff != "" {
					b.Error(diff)
				}
			})
		})
	}
}

func TestSourceThatCannotBeCopied(t *testing.T) {
	tests := map[string]struct {
		dir   string
		fault error
		want  string
	}{
		"no such folder": {filepath.Join(t.TempDir(), "gone"), nil, "failed source"},
		"no room":        {writeTree(t), &topology.EngineError{Kind: topology.KindDiskFull, Op: "copy files", Err: os.ErrInvalid}, "failed disk_full"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *bench) {
				if tt.fault != nil {
					b.fake.FailNext("CopyTo", tt.fault)
				}
				spec := &topology.Spec{Image: topologytest.FakeImage, Command: command("ok")}
				b.want(b.exec.Run(b.Context(), topology.Work{Identity: id, Spec: spec, Source: tt.dir}, b.obs), tt.want)
			})
		})
	}
}
