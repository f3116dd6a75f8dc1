package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// gitWait is how long git's children may hold its output open after its end.
const gitWait = 5 * time.Second

// git runs the git of the machine's owner, in one repository that is ours.
type git struct {
	dir string
	env []string
}

// network are the transports that a job's own words may use.
const network = "https:http:ssh"

// in is git in a repository that another one names: it comes from the network, whatever
// the machine's owner allows for the mirror of that.
func (g *git) in(dir string) *git {
	return &git{dir: dir, env: append(slices.Clone(g.env), "GIT_ALLOW_PROTOCOL="+network)}
}

// newGit prepares a repository in dir. git keeps the owner's environment and
// configuration, and with them the credentials; what would ask a person, run a hook
// or use a transport that executes commands is switched off.
func newGit(dir string, local, lfs bool) *git {
	transports := network
	if local {
		transports += ":file:git"
	}
	g := &git{dir: dir}
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		switch name {
		case "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_NAMESPACE",
			"GIT_COMMON_DIR", "GIT_CEILING_DIRECTORIES", "SSH_ASKPASS", "GIT_TERMINAL_PROMPT", "GIT_ALLOW_PROTOCOL",
			"GIT_CONFIG_COUNT", "GIT_LFS_SKIP_SMUDGE", "GIT_TRACE", "GIT_CURL_VERBOSE", "LC_ALL", "LANGUAGE":
			continue // of the shell that the runner was started from, or set below
		}
		g.env = append(g.env, kv)
	}
	if os.Getenv("GIT_SSH_COMMAND") == "" && os.Getenv("GIT_SSH") == "" {
		g.env = append(g.env, "GIT_SSH_COMMAND=ssh -oBatchMode=yes -oConnectTimeout=30")
	}
	g.env = append(g.env, "GIT_TERMINAL_PROMPT=0", "GCM_INTERACTIVE=never", "GIT_ALLOW_PROTOCOL="+transports, "GIT_LFS_SKIP_SMUDGE=1",
		"LC_ALL=C", "GIT_LITERAL_PATHSPECS=1")
	settings := []string{
		"core.hooksPath", filepath.Join(dir, "no-hooks"), "core.fsmonitor", "false", "core.autocrlf", "false",
		"gc.auto", "0", "maintenance.auto", "false", "advice.detachedHead", "false", "submodule.recurse", "false", "fetch.recurseSubmodules", "false",
		"init.templateDir", "", "http.lowSpeedLimit", "1000", "http.lowSpeedTime", "60",
	}
	if lfs { // git lfs does nothing where its filters are not configured; --skip leaves the content to its own pull
		settings = append(settings, "filter.lfs.smudge", "git-lfs smudge --skip -- %f", "filter.lfs.process", "git-lfs filter-process --skip",
			"filter.lfs.clean", "git-lfs clean -- %f", "filter.lfs.required", "true")
	} else {
		settings = append(settings, "filter.lfs.smudge", "", "filter.lfs.process", "", "filter.lfs.clean", "", "filter.lfs.required", "false")
	}
	g.configure(settings)
	return g
}

// configure sets configuration for every git of this repository, its children too,
// after what the owner's environment sets.
func (g *git) configure(pairs []string) {
	before, _ := strconv.Atoi(os.Getenv("GIT_CONFIG_COUNT")) // none is 0
	for i := 0; i < len(pairs); i += 2 {
		g.env = append(g.env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", before+i/2, pairs[i]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", before+i/2, pairs[i+1]))
	}
	g.env = append(g.env, fmt.Sprintf("GIT_CONFIG_COUNT=%d", before+len(pairs)/2))
}

// gitError is what git said when it failed.
type gitError struct {
	verb string
	said string
	err  error
}

func (e *gitError) Error() string {
	if e.said == "" {
		return fmt.Sprintf("git %s: %v", e.verb, e.err)
	}
	return fmt.Sprintf("git %s: %s", e.verb, e.said)
}

func (e *gitError) Unwrap() error { return e.err }

// run runs git and returns what it prints. All of git's processes end with ctx.
func (g *git) run(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = g.dir, g.env, gitWait
	var stdout bytes.Buffer
	stderr := &tail{limit: 16 << 10}
	cmd.Stdout, cmd.Stderr = &stdout, stderr
	ownGroup(cmd)
	err := cmd.Run()
	switch {
	case err == nil:
		return strings.TrimSpace(stdout.String()), nil
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case errors.Is(err, exec.ErrNotFound):
		return "", problemf("Install git for the user that the runner runs as, and start the runner again.", "The runner's machine has no git, which this job's source needs.")
	}
	return "", &gitError{args[0], explain(stderr.String()), err}
}

var (
	// userinfo is a user and password in a URL. An owner's configuration may put one there.
	userinfo = regexp.MustCompile(`://[^/\s@']+@`)
	// noise are git's lines about the progress of a transfer.
	noise = regexp.MustCompile(`^(remote: )?(Enumerating|Counting|Compressing|Receiving|Resolving|Updating|Filtering)\b`)
)

// explain picks what matters from git's words, without the credentials that a URL may hold.
func explain(said string) string {
	var lines []string
	for line := range strings.Lines(said) {
		if line = strings.TrimSpace(line); line != "" && !noise.MatchString(line) {
			lines = append(lines, userinfo.ReplaceAllString(line, "://"))
		}
	}
	if n := len(lines); n > 6 {
		lines = lines[n-6:]
	}
	return strings.Join(lines, "; ")
}

// tail keeps the last bytes that are written to it.
type tail struct {
	buf   []byte
	limit int
}

func (t *tail) Write(p []byte) (int, error) {
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - t.limit; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string { return string(t.buf) }
