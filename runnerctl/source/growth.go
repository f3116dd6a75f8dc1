package source

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/runnerhub/runnerhub/runnerctl/archive"
)

// growthEvery is how often the size of what git writes is looked at, at the least.
const growthEvery = 2 * time.Second

// errGrown is the cause that ends git when it has written more than a source may have.
var errGrown = &archive.Error{
	Message: "git writes more for it than twice what a source may have",
	Hint:    "Name a folder of the repository with path, or fetch in the job what it needs.",
}

// bound ends ctx when what is in dir outgrows the limits: git itself knows none.
// Twice the bytes are allowed, since git keeps what it checks out in its own form too.
// The returned function ends the watch.
func bound(ctx context.Context, dir string, limits archive.Limits) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	most := archive.Limits{Bytes: 2 * limits.Bytes, Files: 2*limits.Files + 1000}
	done := make(chan struct{})
	go func() {
		defer close(done)
		pause := growthEvery
		for {
			select {
			case <-time.After(pause):
			case <-ctx.Done():
				return
			}
			begin := time.Now()
			if outgrown(dir, most) {
				cancel(errGrown)
				return
			}
			pause = max(growthEvery, 10*time.Since(begin))
		}
	}()
	return ctx, func() { cancel(nil); <-done }
}

// outgrown says whether a folder that is being written holds more than the limits.
func outgrown(dir string, most archive.Limits) bool {
	budget := archive.Budget{Limits: most}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // it was there a moment ago
		}
		info, err := d.Info()
		if err != nil {
			return nil //nolint:nilerr // the same
		}
		size := int64(0)
		if info.Mode().IsRegular() {
			size = info.Size()
		}
		return budget.Spend(name, size)
	})
	return err != nil
}

// countFiles refuses a commit with more files than the limit before one is checked
// out: a few hundred bytes of git's can stand for any number.
func (g *git) countFiles(ctx context.Context, commit string, limits archive.Limits) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", "ls-tree", "-r", "-z", "--name-only", "--full-tree", commit)
	cmd.Dir, cmd.Env, cmd.WaitDelay = g.dir, g.env, gitWait
	stderr := &tail{limit: 16 << 10}
	cmd.Stderr = stderr
	ownGroup(cmd)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return err
	}
	budget := archive.Budget{Limits: limits}
	var refused error
	for names := bufio.NewReaderSize(out, 64<<10); refused == nil; {
		name, err := names.ReadSlice(0)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue // the rest of a long name comes next
		}
		if err != nil {
			break
		}
		refused = budget.Spend(string(bytes.TrimSuffix(name, []byte{0})), 0)
	}
	if refused != nil {
		cancel()
		_ = cmd.Wait()
		return refused
	}
	if err := cmd.Wait(); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return &gitError{"ls-tree", explain(stderr.String()), err}
	}
	return nil
}
