package dispatch

import (
	"context"
	"errors"

	"github.com/runnerhub/runnerhub/hub"
)

// expireExec ends a request whose attempt is over or whose clock ran out.
func (s *Service) expireExec(ctx context.Context, x hub.Exec) (hub.Exec, error) {
	if !x.Open() {
		return x, nil
	}
	j, err := s.store.GetJob(ctx, x.JobID)
	if err != nil && hub.CodeOf(err) != hub.NotFound {
		return x, err
	}
	next, changed := x.Expire(err == nil && j.State.Live() && j.Attempt == x.Attempt, s.clock.now())
	if !changed {
		return x, nil
	}
	err = s.store.UpdateExec(ctx, next, s.execEvent(system, j, next, hub.ActExecEnded, came(next)))
	if errors.Is(err, hub.ErrConflict) { // somebody ended it, or its runner has just said something
		return s.store.GetExec(ctx, x.ID)
	}
	if err != nil {
		return x, err
	}
	s.changed(x.ID, true)
	return next, nil
}

// sweepExecs ends requests that nobody else has, and forgets those that ended a while ago: first their bytes, which nothing
// would name otherwise.
func (s *Service) sweepExecs(ctx context.Context) error {
	old, err := s.store.ExpiredExecs(ctx, s.clock.now(), page)
	if err != nil {
		return err
	}
	var gone []string
	var failed error
	for _, x := range old {
		if x.Open() {
			_, err = s.expireExec(ctx, x)
		} else if err = s.bucket.DeleteAll(ctx, execFolder(x.ID)); err == nil {
			gone = append(gone, x.ID)
		}
		failed = errors.Join(failed, err)
	}
	if len(gone) > 0 {
		failed = errors.Join(failed, s.store.DeleteExecs(ctx, gone))
	}
	return failed
}
