// Package policyfile keeps the policy of this machine's owner: one YAML file that
// the owner edits and the runner reads anew whenever it has changed.
package policyfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/lockedfile"

	"github.com/runnerhub/runnerhub/runnerctl/atomicfile"
	"github.com/runnerhub/runnerhub/topology/policy"
)

// Name is the file's, in the configuration folder.
const Name = "policy.yaml"

// File is where a policy is kept. It holds for every profile of the machine's.
type File struct {
	path string

	mu    sync.Mutex
	seen  stamp
	known *policy.Policy
}

// stamp tells one state of the file from another.
type stamp struct {
	there bool
	at    time.Time
	size  int64
}

// In is the policy file of a configuration folder.
func In(dir string) *File { return &File{path: filepath.Join(dir, Name)} }

// Path is where the file is, or would be.
func (f *File) Path() string { return f.path }

// Load reads the policy, from memory while the file is as it was; without a file
// it is the default one. An error means that nobody knows what the owner allows, so that
// nothing is. It names the file, and each mistake's line.
func (f *File) Load() (*policy.Policy, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now, err := f.look()
	if err != nil {
		return nil, err
	}
	if f.known != nil && now == f.seen {
		return f.known, nil
	}
	text, err := f.read()
	if err != nil {
		return nil, err
	}
	p, err := policy.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("the policy %s is not valid: %w", f.path, err)
	}
	f.seen, f.known = now, p
	return p, nil
}

func (f *File) look() (stamp, error) {
	info, err := os.Stat(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return stamp{}, nil
	case err != nil:
		return stamp{}, err
	}
	if err := private(f.path, info); err != nil {
		return stamp{}, err
	}
	return stamp{true, info.ModTime(), info.Size()}, nil
}

// Text is the file as it is; nothing when there is none.
func (f *File) Text() ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.read()
}

func (f *File) read() ([]byte, error) {
	text, err := os.ReadFile(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text, err
}

// ErrInvalid marks what change made of a policy as no policy.
var ErrInvalid = errors.New("not a valid policy")

// Update replaces the file's text by what change makes of it, which must be a valid
// policy (else the error is also ErrInvalid, and the file stays). No other Update comes between, also of another
// process, and a crash leaves the old file or the new one. Where the file is a link, what it points to is replaced.
func (f *File) Update(change func(text []byte) ([]byte, error)) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	target := f.path
	if linked, err := filepath.EvalSymlinks(f.path); err == nil {
		target = linked
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
		return err
	}
	unlock, err := lockedfile.MutexAt(target + ".lock").Lock()
	if err != nil {
		return fmt.Errorf("lock %s: %w", target, err)
	}
	defer unlock()
	before, err := f.read()
	if err != nil {
		return err
	}
	text, err := change(before)
	if err != nil {
		return err
	}
	if _, err := policy.Parse(text); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return atomicfile.Write(target, text, 0o600)
}
