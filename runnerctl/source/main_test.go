package source_test

import (
	"context"
	"io/fs"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/runnerhub/runnerhub/runnerctl/source"
	"github.com/runnerhub/runnerhub/topology"
)

// TestMain gives git a home without anybody's configuration.
func TestMain(m *testing.M) {
	home, err := os.MkdirTemp("", "source-test-")
	if err != nil {
		panic(err)
	}
	for name, value := range map[string]string{
		"HOME": home, "XDG_CONFIG_HOME": filepath.Join(home, ".config"), "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": filepath.Join(home, "gitconfig"),
		"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example",
	} {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	const config = "[protocol \"file\"]\n\tallow = always\n[uploadpack]\n\tallowFilter = true\n[init]\n\tdefaultBranch = main\n"
	if err := os.WriteFile(filepath.Join(home, "gitconfig"), []byte(config), 0o600); err != nil {
		panic(err)
	}
	defer os.RemoveAll(home)
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(home)
		os.Exit(code)
	}))
}

// git runs git in a folder.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// repository makes one with two commits under base/name and returns their ids.
func repository(t *testing.T, base, name string, files map[string]string) (first, second string) {
	t.Helper()
	dir := filepath.Join(base, name)
	write(t, dir, files)
	git(t, dir, "init", "--quiet")
	git(t, dir, "add", "--all")
	git(t, dir, "commit", "--quiet", "--message", "first")
	first = git(t, dir, "rev-parse", "HEAD")
	write(t, dir, map[string]string{"later": "later\n"})
	git(t, dir, "add", "--all")
	git(t, dir, "commit", "--quiet", "--message", "second")
	return first, git(t, dir, "rev-parse", "HEAD")
}

// write writes files; a name that ends with * is a program, content that begins
// with -> a link.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		mode := os.FileMode(0o644)
		if plain, program := strings.CutSuffix(name, "*"); program {
			name, mode = plain, 0o755
		}
		name = filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(name), 0o755)
		if target, link := strings.CutPrefix(content, "->"); err == nil && link {
			err = os.Symlink(target, name)
		} else if err == nil {
			err = os.WriteFile(name, []byte(content), mode)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// list is what a tree holds, in the notation of write.
func list(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(dir, name)
		if d.Type() == fs.ModeSymlink {
			target, err := os.Readlink(name)
			out[rel] = "->" + target
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if info.Mode()&0o100 != 0 {
			rel += "*"
		}
		data, err := os.ReadFile(name)
		out[rel] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// lines collects what a fetch says.
type lines struct {
	mu  sync.Mutex
	all []string
}

func (l *lines) say(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, line)
}

func (l *lines) has(words string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.all, func(line string) bool { return strings.Contains(line, words) })
}

// fetch fetches a source and returns the folder and what went wrong.
func fetch(ctx context.Context, t *testing.T, f *source.Fetcher, s *topology.Source) (string, *topology.Failure, *lines) {
	t.Helper()
	said := &lines{}
	dir, failure := f.Fetch(ctx, s, "", t.TempDir(), nil, said.say)
	return dir, failure, said
}

// serve serves the repositories of a folder over HTTP; with a password, to those alone who have it.
func serve(t *testing.T, base, password string) *httptest.Server {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "git", "--exec-path").Output()
	if err != nil {
		t.Fatal(err)
	}
	backend := &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(out)), "git-http-backend"),
		Env: []string{
			"GIT_PROJECT_ROOT=" + base, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_NOSYSTEM=1",
			"GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*", "GIT_CONFIG_KEY_1=uploadpack.allowFilter", "GIT_CONFIG_VALUE_1=true",
		},
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, given, _ := r.BasicAuth(); password != "" && given != password {
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		if p := r.Header.Get("Git-Protocol"); p != "" { // cgi passes headers as HTTP_…, git wants its own name
			h := *backend
			h.Env = append(slices.Clone(h.Env), "GIT_PROTOCOL="+p)
			h.ServeHTTP(w, r)
			return
		}
		backend.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	return srv
}

// silent is a server that takes requests and answers none; it says when one came.
func silent(t *testing.T, asked chan<- struct{}) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case asked <- struct{}{}:
		default:
		}
		<-r.Context().Done()
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}
