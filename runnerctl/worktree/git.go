package worktree

import (
	"bytes"
	"context"
	"os/exec"
	"path"
	"strings"
	"time"
)

// gitTimeout bounds a question to git, which only saves a special case.
const gitTimeout = 30 * time.Second

// tracked asks git for the files of a working tree that it keeps although a rule
// ignores them, and returns them with the folders that they are in. Without a git or
// a repository there are none.
func tracked(ctx context.Context, dir string) map[string]bool {
	ctx, cancel := context.WithTimeout(ctx, gitTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", "-c", "core.fsmonitor=false", "ls-files", "-z", "--cached", "--ignored", "--exclude-standard")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return nil
	}
	keep := map[string]bool{}
	for name := range bytes.SplitSeq(bytes.TrimRight(out, "\x00"), []byte{0}) {
		for p := string(name); p != "" && p != "." && !strings.HasPrefix(p, "../"); p = path.Dir(p) {
			keep[p] = true
		}
	}
	return keep
}
