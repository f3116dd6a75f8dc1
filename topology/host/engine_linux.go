package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/runnerhub/runnerhub/topology"
)

// Supported says that this system can run jobs without an image.
const Supported = true

// Engine runs the processes of jobs on this machine. It is made by Open.
type Engine struct {
	dir  string
	user func() (string, error)

	mu         sync.Mutex
	containers map[string]*container // those that this process has made
	groups     *hierarchy            // of control groups, looked for when the first job needs them
}

var _ topology.Engine = (*Engine)(nil)

// Open returns an engine that keeps its containers in dir. user is Options.User.
func Open(dir string, user func() (string, error)) (topology.Engine, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if user == nil {
		user = func() (string, error) { return "", nil }
	}
	return &Engine{dir: dir, user: user, containers: map[string]*container{}}, nil
}

// Info describes the machine. It has the capability host where there is a user that jobs can run as.
func (e *Engine) Info(ctx context.Context) (topology.EngineInfo, error) {
	info := topology.EngineInfo{KeepsUsage: true, Info: topology.Info{
		Engine: "host", Endpoint: "processes of this machine, in " + e.dir, OS: runtime.GOOS, Arch: runtime.GOARCH,
		Capabilities: []string{runtime.GOOS, runtime.GOARCH},
	}}
	if _, err := e.account(); err == nil {
		info.Capabilities = append(info.Capabilities, "host")
	}
	return info, ended(ctx, "describe the machine")
}

// Ping succeeds: the machine is there.
func (e *Engine) Ping(context.Context) error { return nil }

// Close removes the control groups that those of jobs were made in.
func (e *Engine) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.groups != nil {
		for _, dir := range e.groups.bases {
			_ = unix.Rmdir(dir) // another runner's jobs may be in it
		}
		e.groups = nil
	}
	return nil
}

func (e *Engine) hierarchy() hierarchy {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.groups == nil {
		h := openHierarchy()
		e.groups = &h
	}
	return *e.groups
}

// DiskFree is the room on the disk that the attempts' folders are on.
func (e *Engine) DiskFree(ctx context.Context) (int64, error) {
	const op = "look for free space"
	if err := ended(ctx, op); err != nil {
		return -1, err
	}
	var s unix.Statfs_t
	if err := unix.Statfs(e.dir, &s); err != nil {
		return -1, fault(op, err)
	}
	return int64(s.Bavail) * s.Bsize, nil
}

// fault gives an error of this system's its meaning.
func fault(op string, err error) error {
	if _, known := errors.AsType[*topology.EngineError](err); known || err == nil {
		return err
	}
	kind := topology.KindOther
	switch {
	case errors.Is(err, os.ErrNotExist):
		kind = topology.KindNotFound
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT):
		kind = topology.KindDiskFull
	}
	return &topology.EngineError{Kind: kind, Op: op, Err: err}
}

func faultf(kind topology.ErrorKind, op, format string, args ...any) error {
	return &topology.EngineError{Kind: kind, Op: op, Err: fmt.Errorf(format, args...)}
}

// ended is the error of a call whose context has ended.
func ended(ctx context.Context, op string) error {
	if ctx.Err() == nil {
		return nil
	}
	return &topology.EngineError{Kind: topology.KindOther, Op: op, Err: context.Cause(ctx)}
}
