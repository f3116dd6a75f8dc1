package dispatch

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/runnerhub/runnerhub/hub"
)

// batchApart is how far apart a waiting call looks at all jobs of its batch: logs that grow wake it, too.
const batchApart = 200 * time.Millisecond

func isBatch(id string) bool { return strings.HasPrefix(id, batchIDPrefix) && printable(id) }

func noBatch(id string) error {
	missing := hub.Errorf(hub.NotFound, "no batch %q", clip(id, 80))
	if strings.HasPrefix(id, hub.JobIDPrefix) {
		return missing.WithHint("that is a job: wait_job and cancel_job take its id")
	}
	return missing.WithHint("submit_jobs answers the batch_id; list_jobs shows the jobs that you may see, each with its batch_id")
}

// WaitBatch answers how the jobs of a batch stand, holding the call until all have ended, or with FirstFailure until one
// has failed. Errors: NotFound, Draining.
func (s *Service) WaitBatch(ctx context.Context, p hub.Principal, r WaitBatchRequest) (BatchView, error) {
	c, err := s.person(ctx, p)
	if err != nil {
		return BatchView{}, err
	}
	out, err := s.batch(ctx, c, r.BatchID, r.FirstFailure)
	if err != nil || out.Done || r.Wait <= 0 {
		return out, err
	}
	ids := make([]string, len(out.Jobs))
	for i, q := range out.Jobs {
		ids[i] = q.Job.ID
	}
	watched, woken := s.watch.addAll(ids)
	defer func() {
		for _, w := range watched {
			s.watch.remove(w)
		}
	}()
	h := s.hold(ctx, r.Wait)
	defer h.stop()
	for { // looks once more first: something may have changed before the watchers were there
		if out, err = s.batch(ctx, c, r.BatchID, r.FirstFailure); err != nil || out.Done {
			return out, err
		}
		switch err := h.wait(woken); {
		case errors.Is(err, errWaited):
			return out, nil
		case err != nil:
			return BatchView{}, err
		}
		if !pause(ctx, batchApart) {
			return BatchView{}, ctx.Err()
		}
	}
}

// CancelBatch cancels the jobs of a batch that have not ended, and answers how all stand.
func (s *Service) CancelBatch(ctx context.Context, p hub.Principal, batchID, reason string) (BatchView, error) {
	c, err := s.person(ctx, p)
	if err != nil {
		return BatchView{}, err
	}
	v, err := s.batch(ctx, c, batchID, false)
	if err != nil {
		return BatchView{}, err
	}
	for _, q := range v.Jobs {
		if q.Job.State.Ended() {
			continue
		}
		// One that ended meanwhile needs no cancel.
		if _, err := s.Cancel(ctx, p, q.Job.ID, reason); err != nil && hub.CodeOf(err) != hub.AlreadySettled {
			return BatchView{}, err
		}
	}
	return s.batch(ctx, c, batchID, false)
}

// batch reads the jobs of a batch that the caller may see. One without any is not found.
func (s *Service) batch(ctx context.Context, c caller, id string, firstFailure bool) (BatchView, error) {
	if !isBatch(id) {
		return BatchView{}, noBatch(id)
	}
	jobs, err := s.store.ListJobs(ctx, hub.JobFilter{Owners: c.owners(), BatchID: id, Limit: MaxBatch})
	if err != nil {
		return BatchView{}, err
	}
	if len(jobs) == 0 {
		return BatchView{}, noBatch(id)
	}
	slices.Reverse(jobs)
	out := BatchView{ID: id, Jobs: jobs, Ended: true}
	for _, q := range jobs {
		out.Ended = out.Ended && q.Job.State.Ended()
		out.Done = out.Done || firstFailure && Failed(q.Job)
	}
	out.Done = out.Done || out.Ended
	return out, nil
}
