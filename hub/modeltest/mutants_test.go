package modeltest

import (
	"testing"
	"time"

	"github.com/runnerhub/runnerhub/hub"
)

// enough is how many histories it may take to tell a broken machine from the right one.
const enough = 1000

// TestMutantsAreRefuted breaks one rule of the machine at a time. A history that notices must be found, or the
// histories prove less than they seem to.
func TestMutantsAreRefuted(t *testing.T) {
	t.Parallel()
	for name, mutate := range mutants {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := rightMachine()
			mutate(&m)
			for seed := range enough {
				c := &clock{start}
				if play(histories().Example(seed+1), newPure(m, c.now), c) != nil {
					return
				}
			}
			for _, h := range known { // what chance takes long to find
				c := &clock{start}
				if play(h, newPure(m, c.now), c) != nil {
					return
				}
			}
			t.Errorf("%d histories and %d known ones found nothing wrong with it", enough, len(known))
		})
	}
}

// forged makes any proof that of the current lease.
func forged(j hub.Job, p hub.Proof) (hub.Job, hub.Proof) {
	if j.State.Live() {
		j.LeaseDigest = hub.Digest(p.Nonce)
	}
	p.Attempt, p.Epoch = j.Attempt, j.Epoch
	return j, p
}

var mutants = map[string]func(*machine){
	"a report needs no current lease": func(m *machine) {
		m.settle = func(j hub.Job, pl hub.JobPayload, p hub.Proof, r hub.Report, now time.Time) (hub.Decision, error) {
			j, p = forged(j, p)
			return hub.Settle(j, pl, p, r, now)
		}
	},
	"a heartbeat needs no current lease": func(m *machine) {
		right := m.heartbeat
		m.heartbeat = func(j hub.Job, pl hub.JobPayload, p hub.Proof, now time.Time, pol hub.Policy) (hub.Decision, error) {
			j, p = forged(j, p)
			return right(j, pl, p, now, pol)
		}
	},
	"a release needs no current lease": func(m *machine) {
		m.release = func(j hub.Job, p hub.Proof, now time.Time) (hub.Decision, error) {
			j, p = forged(j, p)
			return hub.Release(j, p, "", now)
		}
	},
	"a second report changes an ended job": func(m *machine) {
		m.settle = func(j hub.Job, pl hub.JobPayload, p hub.Proof, r hub.Report, now time.Time) (hub.Decision, error) {
			if guard := (hub.Guard{State: j.State, Epoch: j.Epoch, Revision: j.Revision}); j.State.Ended() && j.Attempt > 0 {
				j.State, j.LeaseDigest = hub.JobRunning, hub.Digest(p.Nonce)
				d, err := hub.Settle(j, pl, p, r, now)
				d.Guard = guard
				return d, err
			}
			return hub.Settle(j, pl, p, r, now)
		}
	},
	"a heartbeat outlives the deadline": func(m *machine) {
		right := m.heartbeat
		m.heartbeat = func(j hub.Job, pl hub.JobPayload, p hub.Proof, now time.Time, pol hub.Policy) (hub.Decision, error) {
			deadline := j.DeadlineAt
			j.DeadlineAt = now.Add(time.Hour)
			d, err := right(j, pl, p, now, pol)
			d.Job.DeadlineAt = deadline
			return d, err
		}
	},
	"a heartbeat moves the deadline": func(m *machine) {
		right := m.heartbeat
		m.heartbeat = func(j hub.Job, pl hub.JobPayload, p hub.Proof, now time.Time, pol hub.Policy) (hub.Decision, error) {
			d, err := right(j, pl, p, now, pol)
			d.Job.DeadlineAt = now.Add(pl.Timeout + pol.DeadlineMargin)
			return d, err
		}
	},
	"a heartbeat renews nothing": func(m *machine) {
		right := m.heartbeat
		m.heartbeat = func(j hub.Job, pl hub.JobPayload, p hub.Proof, now time.Time, pol hub.Policy) (hub.Decision, error) {
			d, err := right(j, pl, p, now, pol)
			d.Job.LeaseExpiresAt = j.LeaseExpiresAt
			return d, err
		}
	},
	"heartbeats put off a cancel": func(m *machine) {
		right := m.heartbeat
		m.heartbeat = func(j hub.Job, pl hub.JobPayload, p hub.Proof, now time.Time, pol hub.Policy) (hub.Decision, error) {
			d, err := right(j, pl, p, now, pol)
			if err == nil {
				d.Job.LeaseExpiresAt = earliest(now.Add(pol.LeaseTTL), j.DeadlineAt)
			}
			return d, err
		}
	},
	"the first heartbeat acknowledges nothing": func(m *machine) {
		right := m.heartbeat
		m.heartbeat = func(j hub.Job, pl hub.JobPayload, p hub.Proof, now time.Time, pol hub.Policy) (hub.Decision, error) {
			d, err := right(j, pl, p, now, pol)
			if err == nil {
				d.Job.State = j.State
			}
			return d, err
		}
	},
	"losses do not count": func(m *machine) {
		m.expire = func(j hub.Job, pl hub.JobPayload, gone bool, now time.Time) hub.Decision {
			d := hub.Expire(j, pl, gone, now)
			d.Job.Losses = j.Losses
			return d
		}
	},
	"one attempt too many": func(m *machine) {
		m.settle = func(j hub.Job, pl hub.JobPayload, p hub.Proof, r hub.Report, now time.Time) (hub.Decision, error) {
			j.MaxAttempts++
			d, err := hub.Settle(j, pl, p, r, now)
			d.Job.MaxAttempts--
			return d, err
		}
	},
	"a release costs an attempt": func(m *machine) {
		m.release = func(j hub.Job, p hub.Proof, now time.Time) (hub.Decision, error) {
			d, err := hub.Release(j, p, "", now)
			d.Job.Losses++
			return d, err
		}
	},
	"a lease that was never acknowledged costs an attempt": func(m *machine) {
		m.expire = func(j hub.Job, pl hub.JobPayload, gone bool, now time.Time) hub.Decision {
			if j.State == hub.JobLeased {
				j.State = hub.JobRunning
				d := hub.Expire(j, pl, gone, now)
				d.Guard.State = hub.JobLeased
				return d
			}
			return hub.Expire(j, pl, gone, now)
		}
	},
	"a cancel is forgotten when the runner is lost": func(m *machine) {
		m.expire = func(j hub.Job, pl hub.JobPayload, gone bool, now time.Time) hub.Decision {
			j.CancelRequestedAt = time.Time{}
			return hub.Expire(j, pl, gone, now)
		}
	},
	"a cancel is forgotten when the machine fails": func(m *machine) {
		m.settle = func(j hub.Job, pl hub.JobPayload, p hub.Proof, r hub.Report, now time.Time) (hub.Decision, error) {
			j.CancelRequestedAt = time.Time{}
			return hub.Settle(j, pl, p, r, now)
		}
	},
	"a cancel is forgotten when the lease is given back": func(m *machine) {
		m.release = func(j hub.Job, p hub.Proof, now time.Time) (hub.Decision, error) {
			j.CancelRequestedAt = time.Time{}
			return hub.Release(j, p, "", now)
		}
	},
	"a canceled runner has all the time of its lease": func(m *machine) {
		m.cancel = func(j hub.Job, pl hub.JobPayload, now time.Time, pol hub.Policy) (hub.Decision, error) {
			d, err := hub.Cancel(j, pl, "", now, pol)
			if j.State.Live() {
				d.Job.LeaseExpiresAt = j.LeaseExpiresAt
			}
			return d, err
		}
	},
	"a canceled job is canceled again": func(m *machine) {
		m.cancel = func(j hub.Job, pl hub.JobPayload, now time.Time, pol hub.Policy) (hub.Decision, error) {
			if j.State.Live() {
				j.CancelRequestedAt = time.Time{}
			}
			return hub.Cancel(j, pl, "", now, pol)
		}
	},
	"a lease runs out early": func(m *machine) {
		m.expire = func(j hub.Job, pl hub.JobPayload, gone bool, now time.Time) hub.Decision {
			return hub.Expire(j, pl, gone, now.Add(15*time.Second))
		}
	},
	"a lease never runs out": func(m *machine) {
		m.expire = func(j hub.Job, pl hub.JobPayload, gone bool, now time.Time) hub.Decision {
			if gone {
				return hub.Expire(j, pl, gone, now)
			}
			return hub.Decision{Job: j, Unchanged: true}
		}
	},
	"a deadline is a loss": func(m *machine) {
		m.expire = func(j hub.Job, pl hub.JobPayload, gone bool, now time.Time) hub.Decision {
			if !now.Before(j.LeaseExpiresAt) {
				j.DeadlineAt = now.Add(time.Hour)
			}
			return hub.Expire(j, pl, gone, now)
		}
	},
	"an unpaired runner keeps its jobs": func(m *machine) {
		m.expire = func(j hub.Job, pl hub.JobPayload, _ bool, now time.Time) hub.Decision {
			return hub.Expire(j, pl, false, now)
		}
	},
	"a repeated report is another one": func(m *machine) {
		m.repeat = func(hub.Attempt, hub.Proof, []byte) error { return hub.Errorf(hub.AlreadySettled, "ended") }
	},
	"another report is a repeated one": func(m *machine) {
		m.repeat = func(hub.Attempt, hub.Proof, []byte) error { return nil }
	},
	"a repeated request is a new one": func(m *machine) {
		m.same = func(hub.Job, string, string) bool { return false }
	},
	"any request of the runner is the same": func(m *machine) {
		m.same = func(j hub.Job, runnerID, _ string) bool { return j.State.Live() && j.LeaseRunnerID == runnerID }
	},
	"a job runs where a capability is missing": func(m *machine) {
		right := m.lease
		m.lease = func(j hub.Job, pl hub.JobPayload, g hub.LeaseGrant, now time.Time, pol hub.Policy) (hub.Decision, error) {
			pl.Requires = nil
			return right(j, pl, g, now, pol)
		}
	},
	"a named runner that lacks a capability is skipped": func(m *machine) {
		right := m.lease
		m.lease = func(j hub.Job, pl hub.JobPayload, g hub.LeaseGrant, now time.Time, pol hub.Policy) (hub.Decision, error) {
			if d, err := right(j, pl, g, now, pol); err != nil || !d.Job.State.Ended() {
				return d, err
			}
			return hub.Decision{}, hub.ErrSkip
		}
	},
	"a pool's job is rejected by whoever lacks a capability": func(m *machine) {
		right := m.lease
		m.lease = func(j hub.Job, pl hub.JobPayload, g hub.LeaseGrant, now time.Time, pol hub.Policy) (hub.Decision, error) {
			d, err := right(j, pl, g, now, pol)
			if hub.CodeOf(err) == hub.CapabilityMissing {
				return hub.Reject(j, hub.Failure{Class: hub.ClassCapabilityMissing}, now)
			}
			return d, err
		}
	},
	"an epoch comes twice": func(m *machine) {
		right := m.lease
		m.lease = func(j hub.Job, pl hub.JobPayload, g hub.LeaseGrant, now time.Time, pol hub.Policy) (hub.Decision, error) {
			d, err := right(j, pl, g, now, pol)
			if d.NewAttempt != nil && j.Epoch > 0 {
				d.Job.Epoch, d.NewAttempt.Epoch = j.Epoch, j.Epoch
			}
			return d, err
		}
	},
	"a job waits for a runner for ever": func(m *machine) {
		m.noRunner = func(hub.Job, hub.JobPayload, []hub.Runner, time.Time, time.Time, hub.Policy) time.Time {
			return time.Time{}
		}
	},
	"a runner that lacks a capability is waited for": func(m *machine) {
		right := m.noRunner
		m.noRunner = func(j hub.Job, pl hub.JobPayload, rs []hub.Runner, started, now time.Time, pol hub.Policy) time.Time {
			pl.Requires = nil
			return right(j, pl, rs, started, now, pol)
		}
	},
	"a hub's absence counts as the runners'": func(m *machine) {
		right := m.noRunner
		m.noRunner = func(j hub.Job, pl hub.JobPayload, rs []hub.Runner, _, now time.Time, pol hub.Policy) time.Time {
			return right(j, pl, rs, time.Time{}, now, pol)
		}
	},
	"a high priority is passed over": func(m *machine) {
		right := m.lease
		m.lease = func(j hub.Job, pl hub.JobPayload, g hub.LeaseGrant, now time.Time, pol hub.Policy) (hub.Decision, error) {
			if j.Priority > 0 {
				return hub.Decision{}, hub.ErrSkip
			}
			return right(j, pl, g, now, pol)
		}
	},
}
