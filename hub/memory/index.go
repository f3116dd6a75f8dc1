package memory

import (
	"github.com/tidwall/btree"

	"github.com/runnerhub/runnerhub/hub"
)

// before is the order of a queue.
func before(a, b *row) bool {
	if a.job.Rank != b.job.Rank {
		return a.job.Rank < b.job.Rank
	}
	return a.job.ID < b.job.ID
}

// index enters a row where its state belongs.
func (s *Store) index(r *row) {
	s.indexGroup(r)
	switch j := &r.job; {
	case j.State == hub.JobQueued:
		q := s.queues[j.QueueKey()]
		if q == nil {
			q = btree.NewBTreeGOptions(before, btree.Options{NoLocks: true})
			s.queues[j.QueueKey()] = q
		}
		q.Set(r)
	case j.State.Live():
		s.live.Set(j.ID, r)
		owned(s.holds, j.LeaseRunnerID).Set(j.ID, r)
		if s.counts[j.Owner] == nil {
			s.counts[j.Owner] = map[string]int{}
		}
		s.counts[j.Owner][j.LeaseRunnerID]++
		s.parts[partOf(*j)]++
	}
}

// unindex is its inverse, on the row as it was indexed.
func (s *Store) unindex(r *row) {
	s.unindexGroup(r)
	switch j := &r.job; {
	case j.State == hub.JobQueued:
		q := s.queues[j.QueueKey()]
		q.Delete(r)
		if q.Len() == 0 {
			delete(s.queues, j.QueueKey())
		}
	case j.State.Live():
		s.live.Delete(j.ID)
		h := s.holds[j.LeaseRunnerID]
		h.Delete(j.ID)
		if h.Len() == 0 {
			delete(s.holds, j.LeaseRunnerID)
		}
		n := s.counts[j.Owner]
		if n[j.LeaseRunnerID]--; n[j.LeaseRunnerID] == 0 {
			delete(n, j.LeaseRunnerID)
		}
		if len(n) == 0 {
			delete(s.counts, j.Owner)
		}
		if s.parts[partOf(*j)]--; s.parts[partOf(*j)] == 0 {
			delete(s.parts, partOf(*j))
		}
	}
}
