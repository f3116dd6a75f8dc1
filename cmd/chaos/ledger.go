package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/runnerhub/runnerhub/mcp"
)

// What a ledger tells of.
const (
	didLease  = "lease"  // it was given a lease
	didRun    = "run"    // an attempt was executed to its end, with so many lines of log
	didBeat   = "beat"   // a heartbeat was answered: the lease is held
	didSettle = "settle" // a report was accepted
	didStale  = "stale"  // a write was refused since the lease is not current any more
	didRetry  = "retry"  // a call failed in a way that may pass
	didReplay = "replay" // the saboteur's: a write by a lease that is over, or another's
)

// entry is one line of a ledger.
type entry struct {
	Did     string `json:"did"`
	Job     string `json:"job,omitempty"`
	Attempt int    `json:"attempt,omitempty"`
	Epoch   int64  `json:"epoch,omitempty"`
	Tool    string `json:"tool,omitempty"`
	Code    string `json:"code,omitempty"`

	Lease     *mcp.Lease `json:"lease,omitempty"` // without its spec
	Lines     int        `json:"lines,omitempty"`
	Status    string     `json:"status,omitempty"`
	Duplicate bool       `json:"duplicate,omitempty"`
	SentUS    int64      `json:"sent_us,omitempty"` // when the call was made, in microseconds since 1970
	Accepted  bool       `json:"accepted,omitempty"`
}

// ledger is what a process has seen, as lines of JSON in a file. A line is one write, so that a process which is killed
// leaves whole ones.
type ledger struct{ f *os.File }

func openLedger(path string) (*ledger, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	return &ledger{f}, nil
}

// note appends an entry. A ledger that cannot be written would make the proof worthless, so it ends the process.
func (l *ledger) note(e entry) {
	b, err := json.Marshal(e)
	if err == nil {
		_, err = l.f.Write(append(b, '\n'))
	}
	if err != nil {
		panic("the ledger cannot be written: " + err.Error())
	}
}

// readLedger returns the entries from an offset on, and where it stopped: before a line that is not whole yet. A file
// that is not there has none.
func readLedger(path string, from int64) ([]entry, int64, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, from, nil
	}
	if err != nil {
		return nil, from, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.NewSectionReader(f, from, 1<<40))
	if err != nil {
		return nil, from, err
	}
	var out []entry
	for {
		line, rest, whole := bytes.Cut(b, []byte{'\n'})
		if !whole {
			return out, from, nil
		}
		var e entry
		if err := json.Unmarshal(line, &e); err != nil {
			return out, from, err
		}
		out, b, from = append(out, e), rest, from+int64(len(line))+1
	}
}
