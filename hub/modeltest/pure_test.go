package modeltest

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/runnerhub/runnerhub/hub"
)

// machine is the pure functions of package hub, each of which a mutant can replace.
type machine struct {
	lease     func(hub.Job, hub.JobPayload, hub.LeaseGrant, time.Time, hub.Policy) (hub.Decision, error)
	heartbeat func(hub.Job, hub.JobPayload, hub.Proof, time.Time, hub.Policy) (hub.Decision, error)
	settle    func(hub.Job, hub.JobPayload, hub.Proof, hub.Report, time.Time) (hub.Decision, error)
	release   func(hub.Job, hub.Proof, time.Time) (hub.Decision, error)
	cancel    func(hub.Job, hub.JobPayload, time.Time, hub.Policy) (hub.Decision, error)
	expire    func(hub.Job, hub.JobPayload, bool, time.Time) hub.Decision
	noRunner  func(hub.Job, hub.JobPayload, []hub.Runner, time.Time, time.Time, hub.Policy) time.Time
	repeat    func(hub.Attempt, hub.Proof, []byte) error
	same      func(j hub.Job, runnerID, request string) bool // whether a lease call is the one that got j
}

func rightMachine() machine {
	return machine{
		lease: hub.Lease,
		heartbeat: func(j hub.Job, pl hub.JobPayload, p hub.Proof, now time.Time, pol hub.Policy) (hub.Decision, error) {
			return hub.Heartbeat(j, pl, p, "running", "", "", now, pol)
		},
		settle:  hub.Settle,
		release: func(j hub.Job, p hub.Proof, now time.Time) (hub.Decision, error) { return hub.Release(j, p, "", now) },
		cancel: func(j hub.Job, pl hub.JobPayload, now time.Time, pol hub.Policy) (hub.Decision, error) {
			return hub.Cancel(j, pl, "", now, pol)
		},
		expire: hub.Expire,
		noRunner: func(j hub.Job, pl hub.JobPayload, rs []hub.Runner, started, now time.Time, pol hub.Policy) time.Time {
			return hub.NoRunnerSince(j, hub.Demand{Requires: pl.Requires, Labels: pl.Labels}, rs, started, now, pol)
		},
		repeat: hub.Repeat,
		same: func(j hub.Job, runnerID, request string) bool {
			return j.State.Live() && j.LeaseRunnerID == runnerID && j.LeaseRequestID == request
		},
	}
}

// pure applies decisions in memory, and is as little else as it can be: no store, no cache, one caller at a time.
type pure struct {
	machine
	now      func() time.Time
	policy   hub.Policy
	runners  [runners]hub.Runner
	seen     [hubs][runners]hub.Presence
	started  [hubs]time.Time
	jobs     map[string]*record
	order    []*record         // of their submits, so that a history is the same each time
	keys     map[string]string // idempotency key → job
	problems []error           // what applying a decision found
}

type record struct {
	hub.Job
	payload  hub.JobPayload
	attempts []hub.Attempt
}

const owner = hub.Owner("user:usr_1")

func newPure(m machine, now func() time.Time) *pure {
	p := &pure{machine: m, now: now, policy: policy(), jobs: map[string]*record{}, keys: map[string]string{}}
	for i := range p.runners {
		p.runners[i] = hub.Runner{ID: fmt.Sprintf("rnr-%d", i), Owner: owner, Label: fmt.Sprintf("box-%d", i)}
	}
	for i := range p.started {
		p.started[i] = now()
	}
	return p
}

// presenceOf is what runner r tells of itself.
func presenceOf(r int) hub.Presence {
	p := hub.Presence{OS: "linux", Arch: "amd64", Protocol: 1, Capabilities: []string{"docker"}, Slots: 4, FreeSlots: 4}
	if gpus(r) {
		p.Capabilities = append(p.Capabilities, "gpu")
	}
	return p
}

func requirements(s submission) []string {
	if s.gpu {
		return []string{"docker", "gpu"}
	}
	return []string{"docker"}
}

func (p *pure) submit(_ int, s submission) answer {
	if id, ok := p.keys[s.key]; ok && s.key != "" {
		return answer{job: id, existing: true}
	}
	now := p.now()
	r := &record{
		Job: hub.Job{
			ID: fmt.Sprintf("job_%06d", len(p.jobs)+1), WorkspaceID: "wsp_1", Owner: owner, State: hub.JobQueued, Revision: 1,
			Priority: s.priority, Rank: hub.RankOf(s.priority, now, p.policy), MaxAttempts: s.attempts, CreatedAt: now, QueuedAt: now,
		},
		payload: hub.JobPayload{Requires: requirements(s), Timeout: s.timeout, Grace: grace, SubmittedBy: "usr_1"},
	}
	if s.runner != none {
		r.RunnerID = p.runners[s.runner].ID
	}
	r.payload.JobID = r.ID
	p.jobs[r.ID], p.keys[s.key], p.order = r, r.ID, append(p.order, r)
	return answer{job: r.ID}
}

// apply does what a store does with a decision, and looks whether it makes sense.
func (p *pure) apply(r *record, d hub.Decision) {
	if d.Unchanged {
		return
	}
	switch {
	case d.Guard != hub.Guard{State: r.State, Epoch: r.Epoch, Revision: r.Revision}:
		p.problem("a decision on %s is guarded by %+v", r.ID, d.Guard)
	case r.State.Ended():
		p.problem("%s had ended as %s and became %s", r.ID, r.State, d.Job.State)
	case d.Job.Revision != r.Revision+1 || d.Job.Epoch < r.Epoch || d.Job.Losses < r.Losses || d.Job.Rank != r.Rank:
		p.problem("%s went from %+v to %+v", r.ID, r.Job, d.Job)
	}
	if n := len(r.attempts); d.Started && n > 0 {
		r.attempts[n-1].State = hub.AttemptRunning
	}
	if e, n := d.EndAttempt, len(r.attempts); e != nil {
		if n == 0 || !r.attempts[n-1].State.Live() {
			p.problem("an attempt of %s ended twice", r.ID)
		} else {
			a := &r.attempts[n-1]
			a.State, a.EndedAt, a.ReportDigest = e.State, e.At, e.ReportDigest
		}
	}
	if d.NewAttempt != nil {
		r.attempts = append(r.attempts, *d.NewAttempt)
	}
	r.Job = d.Job
}

func (p *pure) problem(format string, args ...any) {
	p.problems = append(p.problems, fmt.Errorf(format, args...))
}

func failed(err error) answer { return answer{err: hub.CodeOf(err)} }

// queue lists what runner r may be given, in the order in which it is.
func (p *pure) queue(r int) []*record {
	var out []*record
	for _, j := range p.order {
		if j.State == hub.JobQueued && p.runners[r].Serves(j.QueueKey()) {
			out = append(out, j)
		}
	}
	slices.SortFunc(out, func(a, b *record) int {
		pool := func(j *record) int {
			if j.RunnerID == "" {
				return 1
			}
			return 0
		}
		return cmp.Or(cmp.Compare(pool(a), pool(b)), cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.ID, b.ID))
	})
	return out
}

func (p *pure) live() int {
	n := 0
	for _, j := range p.order {
		if j.State.Live() {
			n++
		}
	}
	return n
}

func (p *pure) gone(r int) bool { return !p.runners[r].RevokedAt.IsZero() }

func (p *pure) lease(h, r int, request string) answer {
	if p.gone(r) {
		return answer{err: hub.Unauthenticated}
	}
	p.seen[h][r] = presenceOf(r)
	p.seen[h][r].SeenAt = p.now()
	runner := p.runners[r]
	runner.Presence = p.seen[h][r]
	nonce := func(j hub.Job) string { return fmt.Sprintf("%s %s %s %d", runner.ID, request, j.ID, j.Epoch) }
	for _, j := range p.order {
		if p.same(j.Job, runner.ID, request) {
			return answer{grant: &grant{j.ID, r, hub.Proof{Attempt: j.Attempt, Epoch: j.Epoch, Nonce: nonce(j.Job)}}}
		}
	}
	for _, j := range p.queue(r) {
		next := j.Job
		next.Epoch++
		d, err := p.machine.lease(j.Job, j.payload, hub.LeaseGrant{Runner: runner, RequestID: request, Digest: hub.Digest(nonce(next))}, p.now(), p.policy)
		switch {
		case errors.Is(err, hub.ErrSkip):
			continue
		case err != nil:
			return failed(err)
		case !d.Job.State.Ended() && p.live() >= p.policy.MaxRunning:
			return answer{}
		}
		if p.apply(j, d); j.State == hub.JobLeased {
			return answer{grant: &grant{j.ID, r, hub.Proof{Attempt: j.Attempt, Epoch: j.Epoch, Nonce: nonce(next)}}}
		}
	}
	return answer{}
}

func (p *pure) heard(h, r int) {
	if !p.seen[h][r].SeenAt.IsZero() {
		p.seen[h][r].SeenAt = p.now()
	}
}

func (p *pure) beat(h int, g grant) answer {
	if p.gone(g.runner) {
		return answer{err: hub.Unauthenticated}
	}
	p.heard(h, g.runner)
	j := p.jobs[g.job]
	d, err := p.heartbeat(j.Job, j.payload, g.proof, p.now(), p.policy)
	switch c := hub.CodeOf(err); {
	case c == hub.StaleLease || c == hub.AlreadySettled:
		return answer{state: "stale"}
	case err != nil:
		return failed(err)
	}
	if p.apply(j, d); !j.CancelRequestedAt.IsZero() {
		return answer{state: "cancel"}
	}
	return answer{state: "held"}
}

func (o outcome) report() hub.Report {
	d := sha256.Sum256([]byte(o))
	r := hub.Report{State: hub.JobFailed, Failure: &hub.Failure{Class: hub.Class(o), Message: "it broke"}, Digest: d[:]}
	switch o {
	case worked:
		r.State, r.Failure = hub.JobSucceeded, nil
	case stopped:
		r.State, r.Failure.Class = hub.JobCanceled, hub.ClassCanceled
	case overtime:
		r.State, r.Failure.Class = hub.JobTimedOut, hub.ClassTimeout
	}
	return r
}

func (p *pure) report(h int, g grant, o outcome) answer {
	if p.gone(g.runner) {
		return answer{err: hub.Unauthenticated}
	}
	p.heard(h, g.runner)
	j := p.jobs[g.job]
	d, err := p.settle(j.Job, j.payload, g.proof, o.report(), p.now())
	if err == nil {
		p.apply(j, d)
		return answer{accepted: true, requeued: d.Requeued}
	}
	a := j.attempts[g.proof.Attempt-1]
	if a.State.Live() {
		return failed(err)
	}
	if err := p.machine.repeat(a, g.proof, o.report().Digest); err != nil {
		return failed(err)
	}
	return answer{accepted: true, duplicate: true, requeued: j.State == hub.JobQueued || j.Attempt > a.Number}
}

func (p *pure) release(_ int, g grant) answer {
	if p.gone(g.runner) {
		return answer{err: hub.Unauthenticated}
	}
	j := p.jobs[g.job]
	d, err := p.machine.release(j.Job, g.proof, p.now())
	if err == nil {
		p.apply(j, d)
		return answer{}
	}
	if a := j.attempts[g.proof.Attempt-1]; a.State == hub.AttemptReleased && hub.FenceAttempt(a, g.proof) == nil {
		return answer{}
	}
	return failed(err)
}

func (p *pure) cancel(_ int, id string) answer {
	d, err := p.machine.cancel(p.jobs[id].Job, p.jobs[id].payload, p.now(), p.policy)
	if err == nil {
		p.apply(p.jobs[id], d)
	}
	return failed(err)
}

func (p *pure) runnerOf(j *record) int {
	return slices.IndexFunc(p.runners[:], func(r hub.Runner) bool { return r.ID == j.LeaseRunnerID })
}

func (p *pure) sweep(h int) error {
	now := p.now()
	for _, j := range p.order {
		if j.State.Live() {
			gone := p.gone(p.runnerOf(j))
			d := p.expire(j.Job, j.payload, gone, now)
			if gone || d.EndAttempt == nil || d.EndAttempt.State != hub.AttemptLost || now.Sub(p.started[h]) >= p.policy.LeaseTTL {
				p.apply(j, d)
			}
			continue
		}
		if j.State == hub.JobQueued {
			known := p.runners
			for i := range known {
				known[i].Presence = p.seen[h][i]
			}
			if since := p.noRunner(j.Job, j.payload, known[:], p.started[h], now, p.policy); !since.IsZero() && now.Sub(since) >= p.policy.NoRunnerTimeout {
				p.reject(j)
			}
		}
	}
	return errors.Join(p.problems...)
}

func (p *pure) reject(j *record) {
	d, err := hub.Reject(j.Job, hub.Failure{Class: hub.ClassNoRunner}, p.now())
	if err != nil {
		p.problem("reject %s: %w", j.ID, err)
		return
	}
	p.apply(j, d)
}

func (p *pure) restart(h int) {
	p.seen[h], p.started[h] = [runners]hub.Presence{}, p.now()
}

func (p *pure) revoke(_, r int) error {
	p.runners[r].RevokedAt = p.now()
	for _, j := range p.order {
		if j.State.Live() && p.runnerOf(j) == r {
			p.apply(j, p.expire(j.Job, j.payload, true, p.now()))
		}
		if j.State == hub.JobQueued && j.RunnerID == p.runners[r].ID {
			p.reject(j)
		}
	}
	return nil
}

func (p *pure) row(id string) (hub.Job, error) {
	return p.jobs[id].Job, errors.Join(p.problems...)
}

func (p *pure) attempts(id string) ([]hub.Attempt, error) { return p.jobs[id].attempts, nil }

func (p *pure) agree([]string) error { return errors.Join(p.problems...) }
