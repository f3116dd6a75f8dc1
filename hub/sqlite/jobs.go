package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"

	"github.com/runnerhub/runnerhub/hub"
)

// Enqueue implements hub.JobStore.
func (s *Store) Enqueue(ctx context.Context, p hub.EnqueueParams) (job hub.Job, existing bool, err error) {
	err = s.write(ctx, "enqueue", func(t *tx) error {
		if p.IdempotencyKey != "" {
			job, existing, err = t.earlier(p)
			if existing || err != nil {
				return err
			}
		}
		job = storedJob(p.Job)
		if err := t.enqueue(p); err != nil || p.Handoff == nil {
			return err
		}
		leased, err := t.handOff(*p.Handoff)
		if leased {
			job = storedJob(p.Handoff.Job)
		}
		return err
	})
	if err != nil {
		return hub.Job{}, false, err
	}
	return job, existing, nil
}

// handOff leases a job that was just stored; false when the lease was refused, which leaves it queued.
func (t *tx) handOff(c hub.Change) (bool, error) {
	if _, err := t.exec(`SAVEPOINT handoff`); err != nil {
		return false, err
	}
	refused := t.apply(c)
	_, domain := errors.AsType[*hub.Error](refused)
	switch {
	case refused == nil:
	case domain || errors.Is(refused, hub.ErrConflict):
		if _, err := t.exec(`ROLLBACK TO handoff`); err != nil {
			return false, err
		}
	default:
		return false, refused
	}
	_, err := t.exec(`RELEASE handoff`)
	return refused == nil, err
}

// earlier finds the job that the idempotency key had stored before.
func (t *tx) earlier(p hub.EnqueueParams) (job hub.Job, existing bool, err error) {
	var id string
	var fingerprint []byte
	switch err := t.row(selectKey, p.Payload.SubmittedBy, p.IdempotencyKey).Scan(&id, &fingerprint); {
	case errors.Is(err, sql.ErrNoRows):
		return hub.Job{}, false, nil
	case err != nil:
		return hub.Job{}, false, err
	case !bytes.Equal(fingerprint, p.Fingerprint):
		return hub.Job{}, false, hub.Errorf(hub.Conflict, "the idempotency key was used for another request").
			WithHint("use a new key for a new job, or repeat the first request unchanged").WithDetail("job_id", id)
	}
	job, err = scanJob(t.row(selectJob, id))
	return job, true, err
}

func (t *tx) enqueue(p hub.EnqueueParams) error {
	if p.MaxQueued > 0 {
		var n int
		if err := t.row(countQueued, string(p.Job.QueueKey()), p.MaxQueued).Scan(&n); err != nil {
			return err
		}
		if n >= p.MaxQueued {
			return hub.Errorf(hub.QueueFull, "the queue holds %d jobs and takes no more", p.MaxQueued).
				WithHint("wait until some have run, or cancel some").
				WithDetail("cap", "max_queued").WithDetail("limit", p.MaxQueued)
		}
	}
	if _, err := t.exec(insertJob, jobArgs(p.Job)...); err != nil {
		return err
	}
	l := p.Payload
	if _, err := t.exec(insertPayload, p.Job.ID, l.Name, list(l.Requires), list(l.Labels), int64(l.Timeout), int64(l.Grace),
		list(l.RetryOn), l.SubmittedBy, l.RetryOf, l.CancelRunning, l.Needs, int64(l.Hold), l.Exec, l.BatchID, orEmpty(l.Spec)); err != nil {
		return err
	}
	if p.IdempotencyKey != "" {
		if _, err := t.exec(insertKey, l.SubmittedBy, p.IdempotencyKey, orEmpty(p.Fingerprint), p.Job.ID, stamp(p.Job.CreatedAt)); err != nil {
			return err
		}
	}
	return t.event(p.Event)
}

// GetJob implements hub.JobStore.
func (s *Store) GetJob(ctx context.Context, id string) (hub.Job, error) {
	var j hub.Job
	err := s.readRow(ctx, "read a job", "job", selectJob, []any{id}, func(r rowScanner) (err error) {
		j, err = scanJob(r)
		return err
	})
	return j, err
}

// GetPayload implements hub.JobStore.
func (s *Store) GetPayload(ctx context.Context, jobID string) (hub.JobPayload, error) {
	var p hub.JobPayload
	err := s.read(ctx, "read a job's payload", "job", selectPayload, []any{jobID}, append(payloadDest(&p), &p.Spec)...)
	return p, err
}

func jobArgs(j hub.Job) []any {
	args := append(make([]any, 0, 32), string(j.QueueKey()),
		j.ID, j.WorkspaceID, string(j.Owner), j.RunnerID, string(j.State), j.Revision, j.Priority, j.Rank,
		j.Attempt, j.Epoch, j.Losses, j.MaxAttempts,
		j.LeaseRunnerID, orNull(j.LeaseDigest), j.LeaseRequestID, stamp(j.LeaseExpiresAt), stamp(j.DeadlineAt),
		j.Phase, j.Step, j.Progress, stamp(j.CancelRequestedAt), j.CancelReason,
	)
	args = append(args, failureArgs(j.Failure)...)
	return append(args, stamp(j.CreatedAt), stamp(j.QueuedAt), stamp(j.StartedAt), stamp(j.EndedAt), j.Group)
}

func jobDest(j *hub.Job, f *failureRow) []any {
	dest := append(make([]any, 0, 48),
		&j.ID, &j.WorkspaceID, &j.Owner, &j.RunnerID, &j.State, &j.Revision, &j.Priority, &j.Rank,
		&j.Attempt, &j.Epoch, &j.Losses, &j.MaxAttempts,
		&j.LeaseRunnerID, &j.LeaseDigest, &j.LeaseRequestID, at(&j.LeaseExpiresAt), at(&j.DeadlineAt),
		&j.Phase, &j.Step, &j.Progress, at(&j.CancelRequestedAt), &j.CancelReason,
	)
	dest = append(dest, f.dest()...)
	return append(dest, at(&j.CreatedAt), at(&j.QueuedAt), at(&j.StartedAt), at(&j.EndedAt), &j.Group, document[hub.Held]{&j.Held})
}

func payloadDest(p *hub.JobPayload) []any {
	return []any{
		&p.JobID, &p.Name, words(&p.Requires), words(&p.Labels), &p.Timeout, &p.Grace, words(&p.RetryOn), &p.SubmittedBy, &p.RetryOf,
		&p.CancelRunning, &p.Needs, &p.Hold, &p.Exec, &p.BatchID,
	}
}

// scanJob scans jobColumns, and what follows them into more.
func scanJob(r rowScanner, more ...any) (hub.Job, error) {
	var j hub.Job
	var f failureRow
	err := r.Scan(append(jobDest(&j, &f), more...)...)
	j.Failure = f.take()
	return j, err
}

// storedJob is a job as it comes back.
func storedJob(j hub.Job) hub.Job {
	j.LeaseExpiresAt, j.DeadlineAt = stored(j.LeaseExpiresAt), stored(j.DeadlineAt)
	j.CancelRequestedAt = stored(j.CancelRequestedAt)
	j.CreatedAt, j.QueuedAt = stored(j.CreatedAt), stored(j.QueuedAt)
	j.StartedAt, j.EndedAt = stored(j.StartedAt), stored(j.EndedAt)
	return j
}
