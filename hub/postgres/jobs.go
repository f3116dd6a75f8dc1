package postgres

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/runnerhub/runnerhub/hub"
)

// errRace says that a key was taken by a transaction that this one cannot see yet.
var errRace = errors.New("postgres: the idempotency key is being taken")

// Enqueue implements hub.JobStore.
func (s *Store) Enqueue(ctx context.Context, p hub.EnqueueParams) (job hub.Job, existing bool, err error) {
	err = s.write(ctx, "enqueue", func(ctx context.Context) error {
		earlier, err := s.enqueueOnce(ctx, p)
		for try := 1; errors.Is(err, errRace) && try < tries; try++ {
			earlier, err = s.enqueueOnce(ctx, p)
		}
		switch {
		case errors.Is(err, errRace):
			return unavailable("enqueue", err).WithHint("the same idempotency key is in use by another request; try again")
		case err != nil:
			return err
		case earlier == "":
			job = storedJob(p.Job)
			return nil
		}
		existing = true
		job, err = s.getJob(ctx, earlier)
		return err
	})
	return job, existing, err
}

// enqueueOnce stores a job, or returns the id of the one that its key had stored before.
func (s *Store) enqueueOnce(ctx context.Context, p hub.EnqueueParams) (earlier string, err error) {
	var done, room bool
	var earlierID *string
	var fingerprint []byte
	k := string(p.Job.QueueKey())
	args := append(eventArgs(p.Event), enqueueArgs(p)...)
	scan := func(r pgx.Row) error { return r.Scan(&done, &room, &earlierID, &fingerprint) }
	if p.MaxQueued > 0 {
		err = s.locked(ctx, lockQueue, k, enqueue, args, scan)
	} else {
		err = scan(s.pool.QueryRow(ctx, enqueue, args...))
	}
	switch {
	case err != nil || done:
		return "", err
	case earlierID != nil && bytes.Equal(fingerprint, p.Fingerprint):
		return *earlierID, nil
	case earlierID != nil:
		return "", hub.Errorf(hub.Conflict, "the idempotency key was used for another request").
			WithHint("use a new key for a new job, or repeat the first request unchanged").
			WithDetail("job_id", *earlierID)
	case !room:
		return "", hub.Errorf(hub.QueueFull, "the queue holds %d jobs and takes no more", p.MaxQueued).
			WithHint("wait until some have run, or cancel some").
			WithDetail("cap", "max_queued").WithDetail("limit", p.MaxQueued)
	default:
		return "", errRace
	}
}

func enqueueArgs(p hub.EnqueueParams) []any {
	j, l := p.Job, p.Payload
	return []any{
		j.ID, j.WorkspaceID, string(j.Owner), j.RunnerID, string(j.QueueKey()), string(j.State), // 12
		j.Revision, j.Priority, j.Rank, stamp(j.CreatedAt), stamp(j.QueuedAt), j.MaxAttempts, // 18
		text(l.Name), texts(l.Requires), texts(l.Labels), int64(l.Timeout), l.SubmittedBy, l.RetryOf, // 24
		text(p.IdempotencyKey), nonNil(p.Fingerprint), p.MaxQueued, // 30
		nonNil(l.Spec), int64(l.Grace), texts(l.RetryOn), // 33
		text(j.Group), l.CancelRunning, // 36
	}
}

func nonNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// storedJob is a new job as it would be read back.
func storedJob(j hub.Job) hub.Job {
	j.CreatedAt, j.QueuedAt = stored(j.CreatedAt), stored(j.QueuedAt)
	return j
}

// locked runs one statement behind a lock that lasts until it is committed. Both travel together. The
// statement looks at what was committed before the lock was had, since each has a snapshot of its own.
func (s *Store) locked(ctx context.Context, class int, key, sql string, args []any, scan func(pgx.Row) error) error {
	var b pgx.Batch
	b.Queue(lockKey, class, key)
	b.Queue(sql, args...).QueryRow(scan)
	// Only Close tells that the transaction was committed.
	return s.pool.SendBatch(ctx, &b).Close()
}

// GetJob implements hub.JobStore.
func (s *Store) GetJob(ctx context.Context, id string) (job hub.Job, err error) {
	err = s.read(ctx, "get a job", func(ctx context.Context) error {
		job, err = s.getJob(ctx, id)
		return err
	})
	return job, err
}

func (s *Store) getJob(ctx context.Context, id string) (hub.Job, error) {
	var r jobRow
	err := s.pool.QueryRow(ctx, selectJob, id).Scan(r.dest()...)
	return r.take(), missing(err, "job")
}

// GetPayload implements hub.JobStore.
func (s *Store) GetPayload(ctx context.Context, jobID string) (payload hub.JobPayload, err error) {
	err = s.read(ctx, "get a job's payload", func(ctx context.Context) error {
		var r payloadRow
		err := s.pool.QueryRow(ctx, selectPayload, jobID).Scan(append(r.dest(), &r.payload.Spec)...)
		payload = r.take()
		return missing(err, "job")
	})
	return payload, err
}

// jobRow takes jobColumns.
type jobRow struct {
	job     hub.Job
	failure failureRow
}

func (r *jobRow) dest() []any {
	j := &r.job
	d := []any{
		&j.ID, &j.WorkspaceID, (*string)(&j.Owner), &j.RunnerID, (*string)(&j.State), &j.Revision, &j.Priority, &j.Rank,
		&j.Attempt, &j.Epoch, &j.Losses, &j.MaxAttempts,
		&j.LeaseRunnerID, &j.LeaseDigest, &j.LeaseRequestID, (*stamp)(&j.LeaseExpiresAt), (*stamp)(&j.DeadlineAt),
		&j.Phase, &j.Step, &j.Progress, (*stamp)(&j.CancelRequestedAt), &j.CancelReason,
	}
	d = append(d, r.failure.dest()...)
	return append(d, (*stamp)(&j.CreatedAt), (*stamp)(&j.QueuedAt), (*stamp)(&j.StartedAt), (*stamp)(&j.EndedAt), &j.Group)
}

func (r *jobRow) take() hub.Job {
	r.job.Failure = r.failure.take()
	return r.job
}

// payloadRow takes payloadColumns.
type payloadRow struct {
	payload                   hub.JobPayload
	requires, labels, retryOn []string
	timeout, grace            int64
}

func (r *payloadRow) dest() []any {
	p := &r.payload
	return []any{
		&p.JobID, &p.Name, &r.requires, &r.labels, &r.timeout, &r.grace, &r.retryOn, &p.SubmittedBy, &p.RetryOf, &p.CancelRunning,
	}
}

func (r *payloadRow) take() hub.JobPayload {
	p := r.payload
	p.Requires, p.Labels = orNil[string](r.requires), orNil[string](r.labels)
	p.RetryOn = orNil[hub.Class](r.retryOn)
	p.Timeout, p.Grace = time.Duration(r.timeout), time.Duration(r.grace)
	return p
}
