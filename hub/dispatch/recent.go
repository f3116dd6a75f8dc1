package dispatch

import (
	"context"
	"sync"

	"github.com/runnerhub/runnerhub/hub"
)

// recent is what this hub knows of jobs that are at work, so that a decision need not begin with reading: the row as
// this hub wrote it last, and what never changes, with the spec only while the job waits. Another hub may have written
// since. The guard of a write finds that out, and nothing is refused on the strength of a remembered row.
type recent struct {
	mu    sync.Mutex
	m     map[string]known
	specs int // bytes
}

// known is one job; row is nil while it has not been written here.
type known struct {
	row     *hub.Job
	payload hub.JobPayload
}

// What bounds the memory: over maxRecent any entry goes, to be read again, and over maxSpecs bytes specs are not kept.
const (
	maxRecent = 10_000
	maxSpecs  = 16 << 20
)

func newRecent() *recent { return &recent{m: map[string]known{}} }

// payload returns what never changes of a job, without its spec.
func (c *recent) payload(ctx context.Context, st hub.Store, jobID string) (hub.JobPayload, error) {
	c.mu.Lock()
	k, ok := c.m[jobID]
	c.mu.Unlock()
	if ok {
		k.payload.Spec = nil
		return k.payload, nil
	}
	p, err := st.GetPayload(ctx, jobID)
	if err != nil {
		return p, err
	}
	c.keep(jobID, nil, p)
	p.Spec = nil
	return p, nil
}

// job returns a job's row as it was written last.
func (c *recent) job(jobID string) (hub.Job, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k, ok := c.m[jobID]
	if !ok || k.row == nil {
		return hub.Job{}, false
	}
	return *k.row, true
}

// wrote keeps a row that was just written, unless a later one is known already; of jobs that have ended nothing is kept.
func (c *recent) wrote(j hub.Job, p hub.JobPayload) {
	if j.State.Ended() {
		c.forget(j.ID)
		return
	}
	c.keep(j.ID, &j, p)
}

// spec returns a waiting job's spec, nil when it is not known.
func (c *recent) spec(jobID string) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.m[jobID].payload.Spec
}

func (c *recent) keep(jobID string, row *hub.Job, p hub.JobPayload) {
	c.mu.Lock()
	defer c.mu.Unlock()
	old, ok := c.m[jobID]
	if ok && old.row != nil && (row == nil || row.Revision < old.row.Revision) {
		row = old.row
	}
	c.drop(jobID)
	for id := range c.m {
		if len(c.m) < maxRecent {
			break
		}
		c.drop(id)
	}
	if row == nil || row.State != hub.JobQueued || c.specs+len(p.Spec) > maxSpecs {
		p.Spec = nil
	}
	c.specs += len(p.Spec)
	c.m[jobID] = known{row, p}
}

func (c *recent) forget(jobID string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(jobID)
}

func (c *recent) drop(jobID string) {
	c.specs -= len(c.m[jobID].payload.Spec)
	delete(c.m, jobID)
}
