package dispatch

import (
	"context"
	"fmt"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/topology"
)

// maxGroupLook is how many of the jobs that wait for a group are offered when it comes free. The first that
// somebody can take gets it; should none of these be among them, the backup poll finds the others.
const maxGroupLook = page

// obstacles are what a walk through a queue has found in the way of its jobs, so that it runs into each once.
type obstacles struct {
	held  map[hub.Group]string // the job that holds a group; "" for a group that was found free
	asked map[string]bool      // holders whose cancel was asked for
	full  map[string]bool      // workspaces at the cap on their share
}

func newObstacles() *obstacles {
	return &obstacles{map[hub.Group]string{}, map[string]bool{}, map[string]bool{}}
}

// look asks which of the groups in a page of jobs are held. A page without groups costs nothing.
func (o *obstacles) look(ctx context.Context, st hub.Store, jobs []hub.QueuedJob) error {
	var ask []hub.Group
	for _, q := range jobs {
		g := q.Job.GroupKey()
		if _, known := o.held[g]; g.Name != "" && !known {
			o.held[g] = ""
			ask = append(ask, g)
		}
	}
	if len(ask) == 0 {
		return nil
	}
	holders, err := st.GroupHolders(ctx, ask)
	for g, id := range holders {
		o.held[g] = id
	}
	return err
}

// bars says whether the job need not be tried.
func (o *obstacles) bars(j hub.Job) bool {
	return o.full[j.WorkspaceID] || j.Group != "" && o.held[j.GroupKey()] != ""
}

// hold notes that the job's group is somebody's now: j's own, or that of whoever was faster.
func (o *obstacles) hold(j hub.Job) {
	if j.Group != "" {
		o.held[j.GroupKey()] = j.ID
	}
}

// supersede asks for the cancel of the live job that holds a new job's group, if the new one's spec wants that.
// A failure is made up for when a runner finds the group held.
func (s *Service) supersede(ctx context.Context, p hub.Principal, j hub.Job, payload hub.JobPayload) {
	if j.Group == "" || !payload.CancelRunning {
		return
	}
	off := newObstacles()
	q := hub.QueuedJob{Job: j, Payload: payload}
	err := off.look(ctx, s.store, []hub.QueuedJob{q})
	if err == nil {
		err = s.clear(ctx, p, off, q)
	}
	if err != nil && ctx.Err() == nil {
		s.log.Warn("the job that holds a concurrency group was not canceled", "group", j.Group, "for", j.ID, "error", err)
	}
}

// clear asks for the cancel of the job that holds the group of q, if q wants that and came later; once a walk.
func (s *Service) clear(ctx context.Context, p hub.Principal, off *obstacles, q hub.QueuedJob) error {
	holder := off.held[q.Job.GroupKey()]
	if !q.Payload.CancelRunning || holder == "" || holder >= q.Job.ID || off.asked[holder] {
		return nil
	}
	off.asked[holder] = true
	by := q.Job
	_, err := s.decide(ctx, holder, p, func(j hub.Job, pl hub.JobPayload) (hub.Decision, error) {
		if !j.State.Live() || j.GroupKey() != by.GroupKey() { // it has let go of the group
			return hub.Decision{Job: j, Unchanged: true}, nil
		}
		reason := fmt.Sprintf("superseded by %s in its concurrency group", by.ID)
		return hub.Cancel(j, pl, reason, s.clock.now(), s.policy)
	})
	return err
}

// lookAtGroup finds somebody for the first job that can have a group which came free, in whichever queue it waits.
func (s *Service) lookAtGroup(ctx context.Context, g hub.Group) error {
	jobs, err := s.store.ListGroup(ctx, g, maxGroupLook)
	if err != nil {
		return err
	}
	for _, q := range jobs {
		if s.waiters.isReserved(q.Job.ID) || s.waiters.offer(arrivalOf(q)) {
			return nil
		}
	}
	for _, q := range jobs { // nobody of this hub: the others look at these queues
		s.notify.add(hub.Hint{Queue: q.Job.QueueKey()}, true)
	}
	return nil
}

// runnersSpec is a job's spec as its runner gets it. The group is the hub's business, and a runner from before
// there were groups refuses the field.
func runnersSpec(j hub.Job, spec []byte) []byte {
	if j.Group == "" {
		return spec
	}
	parsed, err := topology.Parse(spec)
	if err != nil {
		return spec // it was valid when it was stored; the runner says what is wrong with it now
	}
	parsed.Concurrency = topology.Concurrency{}
	plain, err := parsed.Canonical()
	if err != nil {
		return spec
	}
	return plain
}
