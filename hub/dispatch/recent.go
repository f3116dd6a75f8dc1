package dispatch

import (
	"context"
	"sync"

	"github.com/runnerhub/runnerhub/hub"
)

// recent is what this hub knows of jobs that are at work, so that a decision need not begin with reading: the row as
// this hub wrote it last, and what never changes, without the spec. Another hub may have written since.
// The guard of a write finds that out, and nothing is refused on the strength of a remembered row.
type recent struct {
	mu sync.Mutex
	m  map[string]known
}

// known is one job; row is nil while it has not been written here.
type known struct {
	row     *hub.Job
	payload hub.JobPayload
}

// maxRecent bounds the memory; over it any entry goes, to be read again.
const maxRecent = 10_000

func newRecent() *recent { return &recent{m: map[string]known{}} }

// payload returns what never changes of a job, without its spec.
func (c *recent) payload(ctx context.Context, st hub.Store, jobID string) (hub.JobPayload, error) {
	c.mu.Lock()
	k, ok := c.m[jobID]
	c.mu.Unlock()
	if ok {
		return k.payload, nil
	}
	p, err := st.GetPayload(ctx, jobID)
	if err != nil {
		return p, err
	}
	c.keep(jobID, nil, p)
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

func (c *recent) keep(jobID string, row *hub.Job, p hub.JobPayload) {
	p.Spec = nil
	c.mu.Lock()
	defer c.mu.Unlock()
	old, ok := c.m[jobID]
	if ok && old.row != nil && (row == nil || row.Revision < old.row.Revision) {
		row = old.row
	}
	for id := range c.m {
		if ok || len(c.m) < maxRecent {
			break
		}
		delete(c.m, id)
	}
	c.m[jobID] = known{row, p}
}

func (c *recent) forget(jobID string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.m, jobID)
}
