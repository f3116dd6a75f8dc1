package modeltest

import (
	"fmt"
	"time"

	"github.com/runnerhub/runnerhub/hub"
)

// model is what is known of a world's jobs, said as plainly as docs and wire contract say it. It shares no code with the
// machine: states are the machine's words, and nothing else.
type model struct {
	now     time.Time
	policy  hub.Policy
	jobs    []*job
	started [hubs]time.Time
	seen    [hubs][runners]time.Time // when a hub last heard of a runner
	revoked [runners]bool
	frozen  [runners]bool
	// hints says that a hub hears of jobs that came through another one by hints alone. None arrive in a history, and
	// until the backup poll a hub may take a queue for empty, or for a second its head for what it was.
	hints bool
}

type job struct {
	id string
	submission
	state    hub.JobState
	attempts []*attempt
	losses   int
	created  time.Time
	queued   time.Time // when it last entered the queue
	canceled time.Time // asked for
	expires  time.Time
	deadline time.Time
	known    [hubs]bool // which hubs know that it waits
}

type attempt struct {
	runner   int
	request  string
	epoch    int64
	state    hub.AttemptState
	reported outcome
}

// gpus says which runner has one: the one in the middle.
func gpus(r int) bool { return r == 1 }

// grace is what the jobs of these histories get between SIGTERM and SIGKILL.
const grace = 10 * time.Second

func (j *job) live() bool { return j.state == hub.JobLeased || j.state == hub.JobRunning }

func (j *job) latest() *attempt { return j.attempts[len(j.attempts)-1] }

// holds says whether attempt number n holds the job.
func (j *job) holds(n int) bool { return j.live() && n == len(j.attempts) }

func (m *model) find(id string) *job {
	for _, j := range m.jobs {
		if j.id == id {
			return j
		}
	}
	return nil
}

func (m *model) running() int {
	n := 0
	for _, j := range m.jobs {
		if j.live() {
			n++
		}
	}
	return n
}

// serves says whether runner r drains the queue of j, and fits whether it may run j at all.
func (j *job) serves(r int) bool { return j.runner == none || j.runner == r }

func (j *job) fits(r int) bool { return !j.gpu || gpus(r) }

// age is what a queue is ordered by: a point of priority is worth PriorityAge.
func (m *model) age(j *job) time.Time {
	return j.created.Add(-time.Duration(j.priority) * m.policy.PriorityAge)
}

func (m *model) end(j *job, s hub.JobState, a hub.AttemptState) {
	if j.live() {
		j.latest().state = a
	}
	j.state, j.expires, j.deadline = s, time.Time{}, time.Time{}
}

func (m *model) requeue(h int, j *job, a hub.AttemptState) {
	m.end(j, hub.JobQueued, a)
	j.queued = m.now
	m.waits(h, j)
}

// waits notes that j entered its queue through hub h.
func (m *model) waits(h int, j *job) {
	for i := range j.known {
		j.known[i] = i == h || !m.hints
	}
}

// lose ends an attempt that counts: the job gets another while there are some.
func (m *model) lose(h int, j *job, a hub.AttemptState) {
	if j.losses++; j.losses >= j.submission.attempts {
		m.end(j, hub.JobFailed, a)
		return
	}
	m.requeue(h, j, a)
}

// submitted takes a new job, or the answer to a repeat.
func (m *model) submitted(h int, s submission, a answer) error {
	if a.err != "" {
		return fmt.Errorf("a submit was refused: %s", a.err)
	}
	if j := m.find(a.job); j != nil {
		return fmt.Errorf("a new job got the id of another, %s", j.id)
	}
	if a.existing {
		return fmt.Errorf("a new job %s is called an old one", a.job)
	}
	j := &job{id: a.job, submission: s, state: hub.JobQueued, created: m.now, queued: m.now}
	m.waits(h, j)
	m.jobs = append(m.jobs, j)
	return nil
}

// leased takes the answer to a lease call of runner r, with what the rows of the jobs say by now.
func (m *model) leased(h, r int, request string, a answer, row func(*job) (hub.Job, error)) error {
	if m.revoked[r] {
		return want(a, hub.Unauthenticated)
	}
	if err := want(a, ""); err != nil {
		return err
	}
	m.seen[h][r] = m.now
	for _, j := range m.jobs {
		if j.live() && j.latest().runner == r && j.latest().request == request {
			if a.grant == nil || a.grant.job != j.id || a.grant.proof.Attempt != len(j.attempts) || a.grant.proof.Epoch != j.latest().epoch {
				return fmt.Errorf("a repeat got %v, and %s is leased to that request", a.grant, j.id)
			}
			return nil
		}
	}
	capped := m.running() >= m.policy.MaxRunning
	if err := m.rejected(h, r, a.grant == nil && !capped, row); err != nil {
		return err
	}
	if a.grant == nil {
		for _, j := range m.jobs {
			if !capped && j.state == hub.JobQueued && j.known[h] && j.serves(r) && j.fits(r) {
				return fmt.Errorf("runner %d got nothing, and %s waits for it", r, j.id)
			}
		}
		return nil
	}
	j := m.find(a.grant.job)
	switch {
	case j == nil:
		return fmt.Errorf("runner %d got the unknown job %s", r, a.grant.job)
	case j.state != hub.JobQueued:
		return fmt.Errorf("runner %d got %s, which is %s", r, j.id, j.state)
	case !j.serves(r) || !j.fits(r):
		return fmt.Errorf("runner %d got %s, which is not for it", r, j.id)
	case capped:
		return fmt.Errorf("runner %d got %s over the cap of %d", r, j.id, m.policy.MaxRunning)
	case a.grant.proof.Attempt != len(j.attempts)+1:
		return fmt.Errorf("attempt %d of %s follows %d others", a.grant.proof.Attempt, j.id, len(j.attempts))
	case len(j.attempts) > 0 && a.grant.proof.Epoch <= j.latest().epoch:
		return fmt.Errorf("epoch %d of %s follows %d", a.grant.proof.Epoch, j.id, j.latest().epoch)
	}
	for _, o := range m.jobs {
		if o.state != hub.JobQueued || !o.known[h] || !o.serves(r) || !o.fits(r) || o == j {
			continue
		}
		if o.runner == j.runner && m.age(o).Before(m.age(j)) || o.runner != none && j.runner == none {
			return fmt.Errorf("runner %d got %s before %s", r, j.id, o.id)
		}
	}
	j.state = hub.JobLeased
	j.attempts = append(j.attempts, &attempt{runner: r, request: request, epoch: a.grant.proof.Epoch, state: hub.AttemptLeased})
	j.deadline = m.now.Add(j.timeout + m.policy.DeadlineMargin)
	j.expires = earliest(m.now.Add(m.policy.FirstHeartbeat), j.deadline)
	return nil
}

// rejected notes which jobs for runner r a lease call has rejected: those that it cannot run, and all of them when it
// has looked at its whole queue.
func (m *model) rejected(h, r int, all bool, row func(*job) (hub.Job, error)) error {
	for _, j := range m.jobs {
		if j.state != hub.JobQueued || j.runner != r || j.fits(r) {
			continue
		}
		got, err := row(j)
		switch {
		case err != nil:
			return err
		case got.State == hub.JobRejected:
			m.end(j, hub.JobRejected, "")
		case all && j.known[h]:
			return fmt.Errorf("%s still waits for runner %d, which cannot run it", j.id, r)
		}
	}
	return nil
}

// beaten takes the answer to a heartbeat.
func (m *model) beaten(h int, g grant, a answer) error {
	if m.revoked[g.runner] {
		return want(a, hub.Unauthenticated)
	}
	if err := want(a, ""); err != nil {
		return err
	}
	if !m.seen[h][g.runner].IsZero() {
		m.seen[h][g.runner] = m.now // who has never polled here has said nothing of what it can do
	}
	j := m.find(g.job)
	if !j.holds(g.proof.Attempt) || !m.now.Before(j.deadline) {
		return m.told(a, "stale")
	}
	j.state, j.latest().state = hub.JobRunning, hub.AttemptRunning
	j.expires = earliest(m.now.Add(m.policy.LeaseTTL), j.deadline)
	if !j.canceled.IsZero() {
		j.expires = earliest(j.expires, j.canceled.Add(grace+m.policy.CancelMargin))
		return m.told(a, "cancel")
	}
	return m.told(a, "held")
}

func (m *model) told(a answer, state string) error {
	if a.state != state {
		return fmt.Errorf("a heartbeat was told %q, want %q", a.state, state)
	}
	return nil
}

// reported takes the answer to a report, the first or a repeat.
func (m *model) reported(h int, g grant, o outcome, a answer) error {
	if m.revoked[g.runner] {
		return want(a, hub.Unauthenticated)
	}
	if !m.seen[h][g.runner].IsZero() {
		m.seen[h][g.runner] = m.now
	}
	j := m.find(g.job)
	at := j.attempts[g.proof.Attempt-1]
	if !j.holds(g.proof.Attempt) {
		if at.reported != o {
			return want(a, hub.StaleLease, hub.AlreadySettled)
		}
		return m.settled(a, true, j.state == hub.JobQueued || len(j.attempts) > g.proof.Attempt)
	}
	at.reported = o
	switch o {
	case worked:
		m.end(j, hub.JobSucceeded, hub.AttemptSucceeded)
	case stopped:
		m.end(j, hub.JobCanceled, hub.AttemptCanceled)
	case overtime:
		m.end(j, hub.JobTimedOut, hub.AttemptTimedOut)
	case infra:
		if j.canceled.IsZero() {
			m.lose(h, j, hub.AttemptFailed)
		} else {
			m.end(j, hub.JobCanceled, hub.AttemptFailed)
		}
	case broke:
		m.end(j, hub.JobFailed, hub.AttemptFailed)
	}
	return m.settled(a, false, j.state == hub.JobQueued)
}

func (m *model) settled(a answer, duplicate, requeued bool) error {
	if err := want(a, ""); err != nil {
		return err
	}
	if !a.accepted || a.duplicate != duplicate || a.requeued != requeued {
		return fmt.Errorf("a report was told %+v, want duplicate %v and requeued %v", a, duplicate, requeued)
	}
	return nil
}

// released takes the answer to a release.
func (m *model) released(h int, g grant, a answer) error {
	if m.revoked[g.runner] {
		return want(a, hub.Unauthenticated)
	}
	j := m.find(g.job)
	switch {
	case j.attempts[g.proof.Attempt-1].state == hub.AttemptReleased:
		return want(a, "")
	case !j.holds(g.proof.Attempt):
		return want(a, hub.StaleLease, hub.AlreadySettled)
	case !j.canceled.IsZero():
		m.end(j, hub.JobCanceled, hub.AttemptReleased)
	default:
		m.requeue(h, j, hub.AttemptReleased)
	}
	return want(a, "")
}

// cancelled takes the answer to a cancel.
func (m *model) cancelled(j *job, a answer) error {
	switch {
	case j.state == hub.JobQueued:
		j.canceled = m.now
		m.end(j, hub.JobCanceled, "")
	case j.live() && j.canceled.IsZero():
		j.canceled = m.now
		j.expires = earliest(j.expires, m.now.Add(grace+m.policy.CancelMargin))
	case j.live() || j.state == hub.JobCanceled:
	default:
		return want(a, hub.AlreadySettled)
	}
	return want(a, "")
}

// unpaired ends what a runner had, and what waited for it alone.
func (m *model) unpaired(h, r int) {
	m.revoked[r] = true
	for _, j := range m.jobs {
		if j.live() && j.latest().runner == r {
			m.expire(h, j)
		}
		if j.state == hub.JobQueued && j.runner == r {
			m.end(j, hub.JobRejected, "")
		}
	}
}

// swept takes what a sweep of hub h did. After its start a hub gives runners one TTL to be heard before it calls them lost.
func (m *model) swept(h int) {
	for _, j := range m.jobs {
		switch {
		case j.live():
			if m.now.Before(j.expires) {
				continue
			}
			was := *j
			at := *j.latest()
			m.expire(h, j)
			if j.latest().state == hub.AttemptLost && m.now.Sub(m.started[h]) < m.policy.LeaseTTL {
				*j, *was.latest() = was, at
			}
		case j.state == hub.JobQueued && m.nobody(h, j):
			m.end(j, hub.JobRejected, "")
		}
	}
}

// nobody says that hub h has waited long enough for somebody who could run j.
func (m *model) nobody(h int, j *job) bool {
	since := j.queued
	if m.started[h].After(since) {
		since = m.started[h]
	}
	for r := range runners {
		if !m.revoked[r] && j.serves(r) && j.fits(r) && m.seen[h][r].After(since) {
			since = m.seen[h][r]
		}
	}
	return m.now.Sub(since) >= m.policy.NoRunnerTimeout
}

// expire ends an attempt whose lease ran out or whose runner is gone.
func (m *model) expire(h int, j *job) {
	gone := m.revoked[j.latest().runner]
	switch {
	case !j.canceled.IsZero():
		m.end(j, hub.JobCanceled, hub.AttemptCanceled)
	case j.state == hub.JobRunning && !m.now.Before(j.deadline) && !j.expires.Before(j.deadline):
		m.end(j, hub.JobTimedOut, hub.AttemptTimedOut)
	case gone && j.runner != none:
		m.end(j, hub.JobFailed, hub.AttemptLost)
	case j.state == hub.JobLeased:
		m.requeue(h, j, hub.AttemptLost) // never begun: no cost
	default:
		m.lose(h, j, hub.AttemptLost)
	}
}

func earliest(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
