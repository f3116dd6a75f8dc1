package agent

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/runnerhub/runnerhub/mcp"
)

// entry is one attempt in the spool.
type entry struct {
	spool  *spool
	dir    string
	lease  leaseRecord
	report *report // nil: the attempt has not ended
}

// leaseRecord is what has to be known of a lease after a restart.
type leaseRecord struct {
	RunnerID string         `json:"runner_id"`
	HubID    string         `json:"hub_id"`
	Proof    mcp.LeaseProof `json:"proof"`
	LogURL   string         `json:"log_url"`

	// What follows is needed to take the attempt up; see adopt.go.
	Lease    *mcp.Lease `json:"lease,omitempty"`   // but for its spec
	Spec     []byte     `json:"spec,omitempty"`    // as it came, be it JSON or not
	Received time.Time  `json:"received,omitzero"` // by the machine's calendar
	Boot     string     `json:"boot,omitempty"`    // the machine's start that its containers belong to
}

// report is an attempt's end, as it will be told to the hub. Exactly one field is set.
type report struct {
	Result  *mcp.Result `json:"result,omitempty"`
	Fail    *failReport `json:"fail,omitempty"`
	Release *string     `json:"release,omitempty"` // the reason
}

type failReport struct {
	Class   string `json:"class"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

func released(reason string) *report { return &report{Release: &reason} }

// status is the report in one word, for people.
func (r *report) status() string {
	switch {
	case r == nil: // nobody wants to know
		return "lost"
	case r.Result != nil:
		return r.Result.Status
	case r.Fail != nil:
		return "failed"
	default:
		return "released"
	}
}

// failure is the report's failure in one line, "" where it has none or there is none.
func (r *report) failure() string {
	switch {
	case r == nil:
		return ""
	case r.Fail != nil:
		return r.Fail.Class + ": " + clip(r.Fail.Message, maxReason)
	case r.Result != nil && r.Result.Failure != nil:
		return r.Result.Failure.Class + ": " + clip(r.Result.Failure.Message, maxReason)
	}
	return ""
}

// saveLease is not synced to the disk: a killed process leaves it whole, and
// after a loss of power the hub finds out by itself.
func (e *entry) saveLease() error { return e.save("lease.json", e.lease, false) }

// end keeps the report, before it is sent for the first time. Until then whoever takes
// the attempt up needs what it began with and what it left.
func (e *entry) end(r *report) error {
	e.report = r
	if err := e.save("report.json", r, true); err != nil {
		return err
	}
	return errors.Join(os.RemoveAll(e.sourceDir()), os.RemoveAll(e.artifactsDir()))
}

// sourceDir is where the attempt's source is.
func (e *entry) sourceDir() string { return filepath.Join(e.dir, "source") }

// artifactsDir is where what the attempt left is, until the hub has it.
func (e *entry) artifactsDir() string { return filepath.Join(e.dir, "artifacts") }

func (e *entry) save(name string, v any, durable bool) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return e.spool.replace(filepath.Join(e.dir, name), b, durable)
}

// remove forgets the attempt. The lease goes first: what is left of an entry
// without one is not sent again.
func (e *entry) remove() error {
	_ = os.Remove(filepath.Join(e.dir, "lease.json"))
	return os.RemoveAll(e.dir)
}

// age is how long ago the lease was written, by the machine's calendar; 0 if that
// cannot be told.
func (e *entry) age() time.Duration {
	fi, err := os.Stat(filepath.Join(e.dir, "lease.json"))
	if err != nil {
		return 0
	}
	return time.Since(fi.ModTime())
}
