package sqlite

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/runnerhub/runnerhub/hub"
)

// fileLock says that a store's file is this process's. The system gives the
// lock back when the process ends, however it ends. The file stays: taking it away would let two
// hubs hold locks on two files of one name. A nil lock is none.
type fileLock struct{ f *os.File }

// errLocked is what lock answers when another holds the lock.
var errLocked = errors.New("sqlite: locked")

// lockFile takes the lock of the store at path, or says who has it.
func lockFile(path string) (*fileLock, error) {
	name := path + ".lock"
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, openError(path, err, "the hub must be able to make files beside it; see who owns the folder")
	}
	if err := lock(f); err != nil {
		holder := make([]byte, 200)
		n, _ := f.ReadAt(holder, 0)
		f.Close()
		if !errors.Is(err, errLocked) {
			return nil, openError(path, err, "put the store on a local disk whose file system can lock files")
		}
		who := strings.TrimSpace(string(holder[:n]))
		if who == "" {
			who = "another process"
		}
		return nil, hub.Errorf(hub.Conflict, "the store %s is in use by %s", path, who).
			WithHint("stop that hub, or give this one a folder of its own with --data; the lock is on %s", name).
			WithDetail("lock", name).WithDetail("holder", who)
	}
	// Who holds it is for people, so a full disk does not keep a hub from starting.
	if err := f.Truncate(0); err == nil {
		_, _ = f.WriteAt([]byte(holder()), 0)
	}
	return &fileLock{f}, nil
}

func holder() string {
	s := fmt.Sprintf("process %d", os.Getpid())
	if host, err := os.Hostname(); err == nil {
		s += " on " + host
	}
	return s + "\n"
}

// Unlock gives the lock back.
func (l *fileLock) Unlock() error {
	if l == nil {
		return nil
	}
	return l.f.Close() // which unlocks
}
