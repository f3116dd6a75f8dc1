package agent

import (
	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/topology"
)

// Caches keeps folders of jobs from one to the next. *cache.Store is one.
type Caches interface {
	// For returns the cache of a job: what jobs of the same hub and owner left, and nothing else. nil is none.
	For(hub, owner, job string) topology.Cache
	// Tidy removes what killed processes have left, and what is more than may be kept.
	Tidy() error
}

// tidyCaches is done before the first job, and by the one process of the profile's that may run any.
func (a *Agent) tidyCaches() {
	if a.cfg.Caches == nil {
		return
	}
	if err := a.cfg.Caches.Tidy(); err != nil {
		a.logger.Warn("the cache cannot be tidied", "err", err)
	}
}

// cache is the attempt's, nil for none: nobody else knows who may share with whom than the hub.
func (t *attempt) cache() topology.Cache {
	if t.a.cfg.Caches == nil || t.lease.CacheOwner == "" {
		return nil
	}
	return t.a.cfg.Caches.For(t.id.Hub, t.lease.CacheOwner, t.id.Job)
}

func cachesOf(all []topology.CacheResult) (out []mcp.CacheResult) {
	for _, c := range all {
		out = append(out, mcp.CacheResult{
			Key: c.Key, Hit: string(c.Hit), RestoredKey: c.RestoredKey, RestoredBytes: c.RestoredBytes, SavedBytes: c.SavedBytes,
		})
	}
	return out
}
