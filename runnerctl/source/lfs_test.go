package source_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/runnerhub/runnerhub/runnerctl/source"
	"github.com/runnerhub/runnerhub/topology"
)

// The content of large files is fetched when it is asked for, of submodules too, and
// checked: what the server gives must have the pointer's digest. It needs git-lfs.
func TestLFS(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	big, inner := strings.Repeat("large\n", 1000), "in the submodule\n"
	files := map[string]string{".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n"}
	sub := map[string]string{".gitattributes": files[".gitattributes"], "deep.bin": pointer(inner)}
	files["data/x.bin"] = pointer(big)
	_, subCommit := repository(t, base, "sub", sub)
	_, commit := repository(t, base, "app", files)
	srv := serveLFS(t, base, big, inner)

	app := filepath.Join(base, "app")
	git(t, app, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", filepath.Join(base, "sub", ".git"), "sub")
	git(t, app, "config", "--file", ".gitmodules", "submodule.sub.url", srv.URL+"/sub/.git")
	git(t, app, "commit", "--quiet", "--all", "--message", "a submodule")
	if got := git(t, filepath.Join(app, "sub"), "rev-parse", "HEAD"); got != subCommit {
		t.Fatalf("the submodule is at %s", got)
	}
	whole := git(t, app, "rev-parse", "HEAD")

	for name, tt := range map[string]struct {
		source topology.Source
		want   map[string]string
	}{
		"not asked for": {topology.Source{Commit: commit}, map[string]string{"data/x.bin": pointer(big)}},
		"asked for":     {topology.Source{Commit: commit, LFS: true}, map[string]string{"data/x.bin": big}},
		"a folder":      {topology.Source{Commit: commit, LFS: true, Path: "data"}, map[string]string{"x.bin": big}},
		"a submodule": {
			topology.Source{Commit: whole, LFS: true, Submodules: true}, map[string]string{"data/x.bin": big, "sub/deep.bin": inner},
		},
	} {
		tt.source.Repository = srv.URL + "/app/.git"
		dir, failure, said := fetch(t.Context(), t, &source.Fetcher{}, &tt.source)
		if failure != nil {
			t.Errorf("%s: %+v\n%s", name, failure, said.all)
			continue
		}
		got := list(t, dir)
		for file, content := range tt.want {
			if got[file] != content {
				t.Errorf("%s: %s is %.80q", name, file, got[file])
			}
		}
	}
}

// A server that has not got the content, or another, fails the job.
func TestLFSContentThatIsMissing(t *testing.T) {
	t.Parallel()
	for name, has := range map[string]string{"nothing": "", "other bytes": "forged"} {
		base := t.TempDir()
		_, commit := repository(t, base, "app", map[string]string{".gitattributes": "*.bin filter=lfs\n", "x.bin": pointer("right\n")})
		srv := serveLFS(t, base)
		if has != "" {
			srv = serveLFSAs(t, base, map[string]string{digest("right\n"): has})
		}
		_, failure, _ := fetch(t.Context(), t, &source.Fetcher{}, &topology.Source{Repository: srv.URL + "/app/.git", Commit: commit, LFS: true})
		if failure == nil || failure.Class != topology.ClassSource {
			t.Errorf("%s: %+v", name, failure)
		}
	}
}

func digest(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

// pointer is what a repository holds in place of a large file; see
// https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md.
func pointer(content string) string {
	return fmt.Sprintf("version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize %d\n", digest(content), len(content))
}

func serveLFS(t *testing.T, base string, contents ...string) *httptest.Server {
	t.Helper()
	objects := map[string]string{}
	for _, c := range contents {
		objects[digest(c)] = c
	}
	return serveLFSAs(t, base, objects)
}

// serveLFSAs serves the repositories below base, and large files by their digests.
func serveLFSAs(t *testing.T, base string, objects map[string]string) *httptest.Server {
	t.Helper()
	repositories := serve(t, base, "")
	mux := http.NewServeMux()
	mux.Handle("/", repositories.Config.Handler)
	mux.HandleFunc("GET /objects/{oid}", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, objects[r.PathValue("oid")])
	})
	batch := func(w http.ResponseWriter, r *http.Request) {
		type object map[string]any
		var asked struct {
			Objects []struct {
				OID  string `json:"oid"`
				Size int64  `json:"size"`
			} `json:"objects"`
		}
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		answer := []object{}
		for _, o := range asked.Objects {
			one := object{"oid": o.OID, "size": o.Size}
			if _, there := objects[o.OID]; there {
				one["actions"] = object{"download": object{"href": "http://" + r.Host + "/objects/" + o.OID}}
			} else {
				one["error"] = object{"code": http.StatusNotFound, "message": "no such object"}
			}
			answer = append(answer, one)
		}
		w.Header().Set("Content-Type", "application/vnd.git-lfs+json")
		_ = json.NewEncoder(w).Encode(object{"transfer": "basic", "objects": answer})
	}
	for _, name := range []string{"app", "sub"} {
		mux.HandleFunc("POST /"+name+"/.git/info/lfs/objects/batch", batch)
	}
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	return srv
}
