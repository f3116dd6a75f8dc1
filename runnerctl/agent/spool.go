package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// spool is the directory of what has not reached the hub yet:
//
//	lock                    held by the process that uses it
//	hub                     the hub's id
//	runners                 the ids of the runners that used it, the latest last
//	attempts/JOB.N.EPOCH/   one entry an attempt, removed once the hub has settled it
//	    lease.json          the lease with its proof, for the owner's eyes only
//	    prepared.json       that all is there that the job starts with
//	    checkpoint.json     what the executor needs to take the attempt up
//	    offsets.0, .1       how far the containers' output is in the log
//	    report.json         how the attempt ended; absent while it runs
//	    source/             the tree that the job starts with, until there is a report
//	    log.FROM            log bytes from that one on, removed once they are sent
//	    log.FROM-TO         a line in place of log bytes that were dropped
//	    artifacts/          what the job left, until there is a report, which comes after the hub has it
type spool struct {
	dir   string
	write func(f *os.File, b []byte) (int, error)
}

func openSpool(dir string, write func(*os.File, []byte) (int, error)) (*spool, error) {
	if err := os.MkdirAll(filepath.Join(dir, "attempts"), 0o700); err != nil {
		return nil, err
	}
	return &spool{dir: dir, write: write}, nil
}

// hubID is the id that setHubID kept, "" for none.
func (s *spool) hubID() string {
	b, err := os.ReadFile(filepath.Join(s.dir, "hub"))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

func (s *spool) setHubID(id string) error {
	return s.replace(filepath.Join(s.dir, "hub"), []byte(id+"\n"), false)
}

// safeName is what a job id looks like. Anything else would be a path that the hub chose.
var safeName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// create makes the entry of a new lease.
func (s *spool) create(l leaseRecord) (*entry, error) {
	if !safeName.MatchString(l.Proof.JobID) {
		return nil, fmt.Errorf("the hub sent a job id that is none: %q", l.Proof.JobID)
	}
	name := fmt.Sprintf("%s.%d.%d", l.Proof.JobID, l.Proof.Attempt, l.Proof.LeaseEpoch)
	e := &entry{spool: s, dir: filepath.Join(s.dir, "attempts", name), lease: l}
	if err := os.MkdirAll(e.dir, 0o700); err != nil {
		return nil, err
	}
	if err := e.saveLease(); err != nil {
		_ = e.remove()
		return nil, err
	}
	return e, nil
}

// entries returns what an earlier process left, the unreadable by their names.
func (s *spool) entries() (found []*entry, broken []string, err error) {
	list, err := os.ReadDir(filepath.Join(s.dir, "attempts"))
	if err != nil {
		return nil, nil, err
	}
	for _, d := range list {
		dir := filepath.Join(s.dir, "attempts", d.Name())
		e, err := s.load(dir)
		if err != nil {
			broken = append(broken, dir)
			continue
		}
		found = append(found, e)
	}
	return found, broken, nil
}

func (s *spool) load(dir string) (*entry, error) {
	e := &entry{spool: s, dir: dir}
	b, err := os.ReadFile(filepath.Join(dir, "lease.json"))
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(b, &e.lease); err != nil {
		return nil, err
	}
	b, err = os.ReadFile(filepath.Join(dir, "report.json"))
	if errors.Is(err, os.ErrNotExist) {
		return e, nil
	}
	if err != nil {
		return nil, err
	}
	e.report = new(report)
	return e, json.Unmarshal(b, e.report)
}

// replace writes a file so that it has the old or the new content, whole, however
// the process ends; a durable one also if the machine loses power.
func (s *spool) replace(path string, content []byte, durable bool) error {
	tmp := path + ".tmp"
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = s.write(f, content)
	if err == nil && durable {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		_ = os.Remove(tmp)
		return err
	}
	if !durable {
		return nil
	}
	return syncDir(filepath.Dir(path))
}
