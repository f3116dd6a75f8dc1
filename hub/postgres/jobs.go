package postgres

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/runnerhub/runnerhub/hub"
)

// errRace says that a key was taken by a transaction that this one cannot see yet.
var errRace = errors.New("postgres: the idempotency key is being taken")

// enqueueFields are what a new job consists of.
var enqueueFields = slices.Concat([]field[*hub.EnqueueParams]{
	of("id", "text", func(p *hub.EnqueueParams) string { return p.Job.ID }),
	of("workspace_id", "text", func(p *hub.EnqueueParams) string { return p.Job.WorkspaceID }),
	of("owner", "text", func(p *hub.EnqueueParams) string { return string(p.Job.Owner) }),
	of("runner_id", "text", func(p *hub.EnqueueParams) string { return p.Job.RunnerID }),
	of("queue_key", "text", func(p *hub.EnqueueParams) string { return string(p.Job.QueueKey()) }),
	of("state", "text", func(p *hub.EnqueueParams) string { return string(p.Job.State) }),
	of("revision", "bigint", func(p *hub.EnqueueParams) int64 { return p.Job.Revision }),
	of("priority", "int", func(p *hub.EnqueueParams) int32 { return int32(p.Job.Priority) }),
	of("rank", "int", func(p *hub.EnqueueParams) int32 { return int32(p.Job.Rank) }),
	of("created_at", "timestamptz", func(p *hub.EnqueueParams) stamp { return stamp(p.Job.CreatedAt) }),
	of("queued_at", "timestamptz", func(p *hub.EnqueueParams) stamp { return stamp(p.Job.QueuedAt) }),
	of("max_attempts", "int", func(p *hub.EnqueueParams) int32 { return int32(p.Job.MaxAttempts) }),
	of("concurrency_group", "text", func(p *hub.EnqueueParams) string { return text(p.Job.Group) }),

	of("name", "text", func(p *hub.EnqueueParams) string { return text(p.Payload.Name) }),
	of("spec", "bytea", func(p *hub.EnqueueParams) []byte { return nonNil(p.Payload.Spec) }),
	of("requires", "text", func(p *hub.EnqueueParams) string { return listLiteral(p.Payload.Requires) }),
	of("labels", "text", func(p *hub.EnqueueParams) string { return listLiteral(p.Payload.Labels) }),
	of("timeout_ns", "bigint", func(p *hub.EnqueueParams) int64 { return int64(p.Payload.Timeout) }),
	of("grace_ns", "bigint", func(p *hub.EnqueueParams) int64 { return int64(p.Payload.Grace) }),
	of("retry_on", "text", func(p *hub.EnqueueParams) string { return listLiteral(p.Payload.RetryOn) }),
	of("submitted_by", "text", func(p *hub.EnqueueParams) string { return p.Payload.SubmittedBy }),
	of("retry_of", "text", func(p *hub.EnqueueParams) string { return p.Payload.RetryOf }),
	of("batch_id", "text", func(p *hub.EnqueueParams) string { return p.Payload.BatchID }),
	of("needs", "text", func(p *hub.EnqueueParams) string { return text(p.Payload.Needs) }),
	of("cancel_running", "boolean", func(p *hub.EnqueueParams) bool { return p.Payload.CancelRunning }),
	of("hold_ns", "bigint", func(p *hub.EnqueueParams) int64 { return int64(p.Payload.Hold) }),
	of("allows_exec", "boolean", func(p *hub.EnqueueParams) bool { return p.Payload.Exec }),

	of("key", "text", func(p *hub.EnqueueParams) string { return text(p.IdempotencyKey) }),
	of("fingerprint", "bytea", func(p *hub.EnqueueParams) []byte { return nonNil(p.Fingerprint) }),
	of("max_queued", "int", func(p *hub.EnqueueParams) int32 { return int32(p.MaxQueued) }),
}, eventFields(func(p *hub.EnqueueParams) hub.Event { return p.Event }))

// Enqueue implements hub.JobStore.
func (s *Store) Enqueue(ctx context.Context, p hub.EnqueueParams) (job hub.Job, existing bool, err error) {
	op := &enqueueing{EnqueueParams: &p}
	for try := 1; ; try++ {
		err = s.intake.do(ctx, &intake{job: op})
		if !errors.Is(err, errRace) || try == tries {
			break
		}
	}
	switch {
	case errors.Is(err, errRace):
		return job, false, unavailable("enqueue", err).WithHint("the same idempotency key is in use by another request; try again")
	case err != nil:
		return job, false, err
	case op.earlier == "" && op.leased:
		return storedJob(p.Handoff.Job), false, nil
	case op.earlier == "":
		return storedJob(p.Job), false, nil
	}
	job, err = s.GetJob(ctx, op.earlier)
	return job, true, err
}

// enqueueing is a job that is being stored.
type enqueueing struct {
	*hub.EnqueueParams
	earlier string // the job that the key had stored before
	leased  bool   // its lease was written with it
}

// queueJobs adds the statement that stores jobs; told hears what became of each.
func queueJobs(b *pgx.Batch, ops []*enqueueing, told func(*enqueueing, error)) {
	params := make([]*hub.EnqueueParams, len(ops))
	for i, op := range ops {
		params[i] = op.EnqueueParams
	}
	b.Queue(enqueueJobs, argsOf(enqueueFields, params)...).Query(func(rows pgx.Rows) error {
		var n int
		var done, room bool
		var earlier *string
		var fingerprint []byte
		_, err := pgx.ForEachRow(rows, []any{&n, &done, &room, &earlier, &fingerprint}, func() error {
			op := ops[n-1]
			if done {
				told(op, nil)
			} else {
				told(op, op.refused(room, earlier, fingerprint))
			}
			return nil
		})
		return err
	})
}

// refused says why a job was not stored.
func (op *enqueueing) refused(room bool, earlier *string, fingerprint []byte) error {
	switch {
	case earlier != nil && bytes.Equal(fingerprint, op.Fingerprint):
		op.earlier = *earlier
		return nil
	case earlier != nil:
		return hub.Errorf(hub.Conflict, "the idempotency key was used for another request").
			WithHint("use a new key for a new job, or repeat the first request unchanged").
			WithDetail("job_id", *earlier)
	case !room:
		return hub.Errorf(hub.QueueFull, "the queue holds %d jobs and takes no more", op.MaxQueued).
			WithHint("wait until some have run, or cancel some").
			WithDetail("cap", "max_queued").WithDetail("limit", op.MaxQueued)
	default:
		return errRace
	}
}

func nonNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// storedJob is a job as it would be read back.
func storedJob(j hub.Job) hub.Job {
	j.CreatedAt, j.QueuedAt = stored(j.CreatedAt), stored(j.QueuedAt)
	j.LeaseExpiresAt, j.DeadlineAt = stored(j.LeaseExpiresAt), stored(j.DeadlineAt)
	return j
}

// lock takes locks that last until the batch is committed. What follows in it looks at what was committed before the locks
// were had, since each statement has a snapshot of its own.
func lock(b *pgx.Batch, class int, keys []string) {
	if len(keys) > 0 {
		b.Queue(lockKeys, class, keys)
	}
}

// GetJob implements hub.JobStore.
func (s *Store) GetJob(ctx context.Context, id string) (hub.Job, error) {
	return s.lookups.jobs.one(ctx, id, "job")
}

// GetPayload implements hub.JobStore.
func (s *Store) GetPayload(ctx context.Context, jobID string) (hub.JobPayload, error) {
	return s.lookups.payloads.one(ctx, jobID, "job")
}

func scanJob(row pgx.CollectableRow) (hub.Job, error) {
	var r jobRow
	err := row.Scan(r.dest()...)
	return r.take(), err
}

// scanPayload takes a payload with its spec.
func scanPayload(row pgx.CollectableRow) (hub.JobPayload, error) {
	var r payloadRow
	err := row.Scan(append(r.dest(), &r.payload.Spec)...)
	return r.take(), err
}

// jobRow takes jobColumns.
type jobRow struct {
	job     hub.Job
	failure failureRow
	held    []byte
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
	return append(d, (*stamp)(&j.CreatedAt), (*stamp)(&j.QueuedAt), (*stamp)(&j.StartedAt), (*stamp)(&j.EndedAt), &j.Group, &r.held)
}

func (r *jobRow) take() hub.Job {
	r.job.Failure = r.failure.take()
	r.job.Held = undocumented[hub.Held](r.held)
	return r.job
}

// payloadRow takes payloadColumns.
type payloadRow struct {
	payload                   hub.JobPayload
	requires, labels, retryOn []string
	timeout, grace, hold      int64
}

func (r *payloadRow) dest() []any {
	p := &r.payload
	return []any{
		&p.JobID, &p.Name, &r.requires, &r.labels, &r.timeout, &r.grace, &r.retryOn, &p.SubmittedBy, &p.RetryOf, &p.CancelRunning, &p.Needs,
		&r.hold, &p.Exec, &p.BatchID,
	}
}

func (r *payloadRow) take() hub.JobPayload {
	p := r.payload
	p.Requires, p.Labels = orNil[string](r.requires), orNil[string](r.labels)
	p.RetryOn = orNil[hub.Class](r.retryOn)
	p.Timeout, p.Grace, p.Hold = time.Duration(r.timeout), time.Duration(r.grace), time.Duration(r.hold)
	return p
}
