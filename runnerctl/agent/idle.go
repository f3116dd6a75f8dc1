package agent

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/runnerhub/runnerhub/topology"
)

// Idle is the spool of a runner that is not running, held so that it is not started
// meanwhile.
type Idle struct {
	// Runners are the ids that used the spool, one after the other.
	Runners []string
	// Unfinished are the attempts that the next start would take up.
	Unfinished []topology.Identity

	spool *spool
	lock  *os.File
}

// Hold takes the spool in dir; it is ErrLocked while its runner runs, and
// fs.ErrNotExist where there is none.
func Hold(dir string) (*Idle, error) {
	if _, err := os.Stat(filepath.Join(dir, "attempts")); err != nil {
		return nil, err
	}
	s := &spool{dir: dir, write: (*os.File).Write}
	lock, err := lockSpool(dir)
	if err != nil {
		return nil, err
	}
	i := &Idle{spool: s, lock: lock, Runners: s.runners()}
	found, _, err := s.entries()
	if err != nil {
		_ = lock.Close()
		return nil, err
	}
	for _, e := range found {
		if e.takeable() {
			l := e.lease
			i.Unfinished = append(i.Unfinished, topology.Identity{
				Hub: l.HubID, Runner: l.RunnerID, Job: l.Proof.JobID, Attempt: l.Proof.Attempt, Epoch: l.Proof.LeaseEpoch,
			})
		}
	}
	return i, nil
}

// Forget removes what has not been sent: nobody will send it any more.
func (i *Idle) Forget() error {
	found, broken, err := i.spool.entries()
	for _, e := range found {
		broken = append(broken, e.dir)
	}
	for _, dir := range broken {
		if removeErr := os.RemoveAll(dir); err == nil {
			err = removeErr
		}
	}
	return err
}

// Release lets the runner start again.
func (i *Idle) Release() { _ = i.lock.Close() }

// runners returns the ids that addRunner kept, the latest last.
func (s *spool) runners() []string {
	b, err := os.ReadFile(filepath.Join(s.dir, "runners"))
	if err != nil {
		return nil
	}
	return strings.Fields(string(b))
}

// addRunner keeps the id of the runner that uses the spool now: what it leaves on the
// engine is found by it when it is unpaired.
func (s *spool) addRunner(id string) error {
	ids := slices.DeleteFunc(s.runners(), func(old string) bool { return old == id })
	return s.replace(filepath.Join(s.dir, "runners"), []byte(strings.Join(append(ids, id), "\n")+"\n"), false)
}

// RunnersOf returns the ids that used the spool in dir, also while its runner runs;
// the latest is the last. nil where there is no spool.
func RunnersOf(dir string) []string { return (&spool{dir: dir}).runners() }
