package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/runnerhub/runnerhub/hub"
)

// Apply implements hub.JobStore.
func (s *Store) Apply(ctx context.Context, c hub.Change) error {
	if c.Unchanged {
		return nil
	}
	return s.write(ctx, "write a decision", func(ctx context.Context) error {
		switch {
		case c.NewAttempt != nil:
			return s.applyLease(ctx, c)
		case c.Started:
			return s.apply(ctx, applyStart, applyArgs(c))
		case c.EndAttempt != nil:
			return s.apply(ctx, applyEnd, append(applyArgs(c), endArgs(*c.EndAttempt)...))
		case c.Action != "":
			return s.apply(ctx, applyPlain, applyArgs(c))
		}
		tag, err := s.pool.Exec(ctx, applyQuiet, append(guardArgs(c), rowArgs(c.Job)...)...)
		if err == nil && tag.RowsAffected() == 0 {
			return hub.ErrConflict
		}
		return err
	})
}

func (s *Store) apply(ctx context.Context, sql string, args []any) error {
	var done bool
	if err := s.pool.QueryRow(ctx, sql, args...).Scan(&done); err != nil {
		return err
	}
	if !done {
		return hub.ErrConflict
	}
	return nil
}

func (s *Store) applyLease(ctx context.Context, c hub.Change) error {
	var done bool
	var refused string
	var err error
	owner := string(c.Job.Owner)
	args := append(applyArgs(c), leaseArgs(*c.NewAttempt)...)
	args = append(args, c.MaxRunning, owner, c.MaxRunningPerWorkspace, c.Job.WorkspaceID, text(c.Job.Group))
	scan := func(r pgx.Row) error { return r.Scan(&done, &refused) }
	if c.MaxRunning > 0 || c.MaxRunningPerWorkspace > 0 {
		err = s.locked(ctx, lockOwner, owner, applyLease, args, scan)
	} else {
		err = scan(s.pool.QueryRow(ctx, applyLease, args...))
	}
	switch {
	case err != nil || done:
		return err
	case refused == refusedOwner:
		return hub.OverRunning(c.MaxRunning)
	case refused == refusedWorkspace:
		return hub.OverWorkspace(c.MaxRunningPerWorkspace)
	case refused == refusedGroup:
		return hub.ErrGroupBusy
	}
	return hub.ErrConflict
}

func applyArgs(c hub.Change) []any {
	e := c.Event
	e.Action, e.Detail = c.Action, c.Detail
	return append(append(eventArgs(e), guardArgs(c)...), rowArgs(c.Job)...)
}

func guardArgs(c hub.Change) []any {
	return []any{c.Job.ID, string(c.Guard.State), c.Guard.Epoch, c.Guard.Revision}
}

func rowArgs(j hub.Job) []any {
	args := append(make([]any, 0, 40),
		string(j.State), j.Revision, j.Rank, j.Attempt, j.Epoch, j.Losses,
		j.LeaseRunnerID, j.LeaseDigest, text(j.LeaseRequestID), stamp(j.LeaseExpiresAt), stamp(j.DeadlineAt),
		text(j.Phase), text(j.Step), text(j.Progress), stamp(j.CancelRequestedAt), text(j.CancelReason),
	)
	args = append(args, failureArgs(j.Failure)...)
	return append(args, stamp(j.QueuedAt), stamp(j.StartedAt), stamp(j.EndedAt))
}

func leaseArgs(a hub.Attempt) []any {
	return []any{
		a.Number, a.RunnerID, a.Epoch, string(a.State), a.LeaseDigest, a.LogDigest, stamp(a.LeasedAt), stamp(a.StartedAt),
	}
}

func endArgs(e hub.AttemptEnd) []any {
	args := []any{string(e.State), stamp(e.At), e.ReportDigest}
	return append(append(args, failureArgs(e.Failure)...), e.Result)
}
