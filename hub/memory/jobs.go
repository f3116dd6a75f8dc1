package memory

import (
	"bytes"
	"context"

	"github.com/tidwall/btree"

	"github.com/runnerhub/runnerhub/hub"
)

// row is a job and all that hangs on it.
type row struct {
	job      hub.Job
	payload  hub.JobPayload
	attempts []*attempt // by number
}

// attempt is one execution, the index of its log and what it left.
type attempt struct {
	hub.Attempt
	chunks []hub.LogChunk          // in order, without overlap
	files  map[string]hub.Artifact // by path

	sourceTaken bool
}

// queued is the row as lists carry it: without its spec.
func (r *row) queued() hub.QueuedJob {
	p := r.payload
	p.Spec = nil
	return hub.QueuedJob{Job: copyJob(r.job), Payload: copyPayload(p)}
}

// attempt finds one by its number.
func (r *row) attempt(number int) *attempt {
	for i := len(r.attempts) - 1; i >= 0; i-- {
		if r.attempts[i].Number == number {
			return r.attempts[i]
		}
	}
	return nil
}

type idempotencyKey struct{ scope, key string }

type keyed struct {
	fingerprint []byte
	jobID       string
}

// Enqueue implements hub.JobStore.
func (s *Store) Enqueue(ctx context.Context, p hub.EnqueueParams) (job hub.Job, existing bool, err error) {
	err = s.write(ctx, func() error {
		if k, ok := s.keys[idempotencyKey{p.Payload.SubmittedBy, p.IdempotencyKey}]; ok && p.IdempotencyKey != "" {
			if !bytes.Equal(k.fingerprint, p.Fingerprint) {
				return hub.Errorf(hub.Conflict, "the idempotency key was used for another request").
					WithHint("use a new key for a new job, or repeat the first request unchanged").WithDetail("job_id", k.jobID)
			}
			job, existing = copyJob(s.jobs[k.jobID].job), true
			return nil
		}
		if q := s.queues[p.Job.QueueKey()]; p.MaxQueued > 0 && q != nil && q.Len() >= p.MaxQueued {
			return hub.Errorf(hub.QueueFull, "the queue holds %d jobs and takes no more", p.MaxQueued).
				WithHint("wait until some have run, or cancel some").
				WithDetail("cap", "max_queued").WithDetail("limit", p.MaxQueued)
		}
		if s.jobs[p.Job.ID] != nil {
			return taken()
		}
		r := &row{job: storedJob(p.Job), payload: copyPayload(p.Payload)}
		if err := checkJob(r.job); err != nil {
			return err
		}
		s.jobs[p.Job.ID] = r
		s.index(r)
		owned(s.owned, p.Job.Owner).Set(p.Job.ID, r)
		if p.IdempotencyKey != "" {
			s.keys[idempotencyKey{p.Payload.SubmittedBy, p.IdempotencyKey}] = keyed{bytes.Clone(p.Fingerprint), p.Job.ID}
		}
		s.record(p.Event)
		if p.Handoff != nil {
			_ = s.apply(*p.Handoff) // refused, it has changed nothing and the job stays queued
		}
		job = copyJob(r.job)
		return nil
	})
	return job, existing, err
}

// GetJob implements hub.JobStore.
func (s *Store) GetJob(ctx context.Context, id string) (j hub.Job, err error) {
	err = s.read(ctx, func() error {
		r := s.jobs[id]
		if r == nil {
			return missing("job")
		}
		j = copyJob(r.job)
		return nil
	})
	return j, err
}

// GetPayload implements hub.JobStore.
func (s *Store) GetPayload(ctx context.Context, jobID string) (p hub.JobPayload, err error) {
	err = s.read(ctx, func() error {
		r := s.jobs[jobID]
		if r == nil {
			return missing("job")
		}
		p = copyPayload(r.payload)
		return nil
	})
	return p, err
}

// ListEvents implements hub.JobStore. What concerns no job is nobody's to list.
func (s *Store) ListEvents(ctx context.Context, jobID string) (out []hub.Event, err error) {
	err = s.read(ctx, func() error {
		if jobID == "" {
			return nil
		}
		for _, e := range s.events[jobID] {
			out = append(out, copyEvent(e))
		}
		return nil
	})
	return out, err
}

// owned is the ordered map of a key, made when there is none.
func owned[K comparable, V any](m map[K]*btree.Map[string, V], k K) *btree.Map[string, V] {
	t := m[k]
	if t == nil {
		t = &btree.Map[string, V]{}
		m[k] = t
	}
	return t
}
