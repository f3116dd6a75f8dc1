package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/runnerhub/runnerhub/hub"
)

// Apply implements hub.JobStore.
func (s *Store) Apply(ctx context.Context, c hub.Change) error {
	if c.Unchanged {
		return nil
	}
	return s.write(ctx, "write a decision", func(t *tx) error { return t.apply(c) })
}

func (t *tx) apply(c hub.Change) error {
	if c.NewAttempt != nil && c.Job.Group != "" {
		if err := t.groupFree(c); err != nil {
			return err
		}
	}
	if err := t.one(updateJob, append(rowArgs(c.Job), c.Job.ID, string(c.Guard.State), c.Guard.Epoch, c.Guard.Revision)...); err != nil {
		return err
	}
	if c.Started {
		if err := t.one(startAttempt, stamp(c.Job.StartedAt), c.Job.ID, c.Job.Attempt); err != nil {
			return err
		}
	}
	if e := c.EndAttempt; e != nil {
		args := append([]any{string(e.State), stamp(e.At), orNull(e.ReportDigest)}, failureArgs(e.Failure)...)
		if err := t.one(endAttempt, append(args, c.Job.ID, c.Job.Attempt)...); err != nil {
			return err
		}
		if len(e.Result) > 0 {
			if _, err := t.exec(insertResult, c.Job.ID, c.Job.Attempt, e.Result); err != nil {
				return err
			}
		}
	}
	if c.NewAttempt != nil {
		if err := t.lease(c); err != nil {
			return err
		}
	}
	if c.Action == "" {
		return nil
	}
	e := c.Event
	e.Action, e.Detail = c.Action, c.Detail
	return t.event(e)
}

func (t *tx) lease(c hub.Change) error {
	var revoked bool
	if err := t.row(selectRevoked, c.NewAttempt.RunnerID).Scan(&revoked); err != nil {
		return err
	}
	if revoked {
		return hub.ErrRevoked
	}
	if c.MaxRunning > 0 {
		var n int // with this one
		if err := t.row(countRunning, string(c.Job.Owner), c.MaxRunning+1).Scan(&n); err != nil {
			return err
		}
		if n > c.MaxRunning {
			return hub.OverRunning(c.MaxRunning)
		}
	}
	if c.MaxRunningPerWorkspace > 0 {
		var n int
		if err := t.row(countShare, string(c.Job.Owner), c.Job.WorkspaceID, c.MaxRunningPerWorkspace+1).Scan(&n); err != nil {
			return err
		}
		if n > c.MaxRunningPerWorkspace {
			return hub.OverWorkspace(c.MaxRunningPerWorkspace)
		}
	}
	a := c.NewAttempt
	_, err := t.exec(insertAttempt, a.JobID, a.Number, a.RunnerID, a.Epoch, string(a.State), orEmpty(a.LeaseDigest), orNull(a.LogDigest),
		stamp(a.LeasedAt), stamp(a.StartedAt))
	return err
}

// groupFree refuses a lease while another live job holds the group, unless the guard finds another state anyway.
func (t *tx) groupFree(c hub.Change) error {
	var holder string
	switch err := t.row(selectGroupHolder, c.Job.WorkspaceID, c.Job.Group).Scan(&holder); {
	case errors.Is(err, sql.ErrNoRows) || holder == c.Job.ID:
		return nil
	case err != nil:
		return err
	}
	var one int
	switch err := t.row(selectGuard, c.Job.ID, string(c.Guard.State), c.Guard.Epoch, c.Guard.Revision).Scan(&one); {
	case errors.Is(err, sql.ErrNoRows):
		return hub.ErrConflict
	case err != nil:
		return err
	}
	return hub.ErrGroupBusy
}

// one runs a guarded write: no row means that the guard found another state.
func (t *tx) one(query string, args ...any) error {
	n, err := t.exec(query, args...)
	if err == nil && n == 0 {
		return hub.ErrConflict
	}
	return err
}

// rowArgs are the columns of a job that a decision may change.
func rowArgs(j hub.Job) []any {
	args := append(make([]any, 0, 32),
		string(j.State), j.Revision, j.Rank, j.Attempt, j.Epoch, j.Losses,
		j.LeaseRunnerID, orNull(j.LeaseDigest), j.LeaseRequestID, stamp(j.LeaseExpiresAt), stamp(j.DeadlineAt),
		j.Phase, j.Step, j.Progress, stamp(j.CancelRequestedAt), j.CancelReason,
	)
	args = append(args, failureArgs(j.Failure)...)
	return append(args, stamp(j.QueuedAt), stamp(j.StartedAt), stamp(j.EndedAt), document[hub.Held]{&j.Held})
}

// ListAttempts implements hub.JobStore.
func (s *Store) ListAttempts(ctx context.Context, jobID string) ([]hub.Attempt, error) {
	return readAll(ctx, s, "list attempts", selectAttempts, []any{jobID}, scanAttempt)
}

// GetAttempt implements hub.JobStore.
func (s *Store) GetAttempt(ctx context.Context, jobID string, number int) (hub.Attempt, error) {
	return s.attempt(ctx, selectAttempt, jobID, number)
}

func (s *Store) attempt(ctx context.Context, query string, args ...any) (a hub.Attempt, err error) {
	err = s.readRow(ctx, "read an attempt", "attempt", query, args, func(r rowScanner) (err error) {
		a, err = scanAttempt(r)
		return err
	})
	return a, err
}

func scanAttempt(r rowScanner) (hub.Attempt, error) {
	var a hub.Attempt
	var f failureRow
	dest := append([]any{
		&a.JobID, &a.Number, &a.RunnerID, &a.Epoch, &a.State, &a.LeaseDigest, &a.LogDigest,
		at(&a.LeasedAt), at(&a.StartedAt), at(&a.EndedAt),
	}, f.dest()...)
	err := r.Scan(append(dest, &a.ReportDigest, &a.LogSize, &a.Result)...)
	a.Failure = f.take()
	return a, err
}
