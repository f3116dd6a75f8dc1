package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/runnerhub/runnerhub/hub"
)

// intake is a write that a cap may refuse: a job that is stored, or one that is leased. They share transactions, and
// only one is under way at a time: the locks that make caps exact let no two of an owner's go on side by side.
type intake struct {
	job   *enqueueing // one of the two
	lease *hub.Change
}

func (op *intake) jobID() string {
	if op.job != nil {
		return op.job.Job.ID
	}
	return op.lease.Job.ID
}

// takeIn stores and leases jobs in one transaction, and says what became of each.
func (s *Store) takeIn(ctx context.Context, ops []*intake) ([]error, error) {
	outcome := make([]error, len(ops))
	var jobs []*enqueueing
	var leases []*hub.Change
	var queues, owners []string
	place := map[string]int{} // of each job among ops; there is one operation a job
	for i, op := range ops {
		place[op.jobID()] = i
		lease := op.lease
		if j := op.job; j != nil {
			jobs = append(jobs, j)
			if j.leased, lease = false, j.Handoff; j.MaxQueued > 0 {
				queues = append(queues, string(j.Job.QueueKey()))
			}
		} else {
			outcome[i] = hub.ErrConflict // until it is known to be written
		}
		if lease == nil {
			continue
		}
		if leases = append(leases, lease); caps(lease) != (capsOf{}) {
			owners = append(owners, string(lease.Job.Owner))
		}
	}
	var b pgx.Batch
	lock(&b, lockQueue, queues)
	lock(&b, lockOwner, owners)
	if len(jobs) > 0 {
		queueJobs(&b, jobs, func(j *enqueueing, err error) { outcome[place[j.Job.ID]] = err })
	}
	if len(leases) > 0 { // sees the rows of the statement before
		queueChanges(&b, leases, func(c *hub.Change, err error) {
			if at := place[c.Job.ID]; ops[at].job == nil {
				outcome[at] = err
			} else {
				ops[at].job.leased = err == nil
			}
		})
	}
	return outcome, s.send(ctx, &b)
}

// send carries a batch out as one transaction. Only Close tells that it was committed.
func (s *Store) send(ctx context.Context, b *pgx.Batch) error {
	return s.pool.SendBatch(ctx, b).Close()
}
