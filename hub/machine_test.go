package hub_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/runnerhub/runnerhub/hub"
)

var t0 = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

const (
	nonce  = "lse_right"
	mine   = hub.Owner("user:usr_1")
	reason = "not needed"
)

func policy() hub.Policy { return hub.DefaultPolicy() }

func queued() hub.Job {
	return hub.Job{
		ID: "job_1", WorkspaceID: "wsp_1", Owner: mine, State: hub.JobQueued, Revision: 1, MaxAttempts: 3,
		CreatedAt: t0, QueuedAt: t0,
	}
}

func payload() hub.JobPayload {
	return hub.JobPayload{JobID: "job_1", Requires: []string{"docker"}, Timeout: 10 * time.Minute, Grace: 10 * time.Second, SubmittedBy: "usr_1"}
}

func runner() hub.Runner {
	return hub.Runner{
		ID: "rnr-1", Owner: mine, Label: "box", PairedAt: t0,
		Presence: hub.Presence{OS: "linux", Arch: "amd64", Protocol: 1, Capabilities: []string{"docker"}, Slots: 2, SeenAt: t0},
	}
}

func grant() hub.LeaseGrant {
	return hub.LeaseGrant{Runner: runner(), RequestID: "req", Digest: hub.Digest(nonce), LogDigest: hub.Digest("cap")}
}

func proof(j hub.Job) hub.Proof { return hub.Proof{Attempt: j.Attempt, Epoch: j.Epoch, Nonce: nonce} }

func leased(t *testing.T) hub.Job {
	t.Helper()
	d, err := hub.Lease(queued(), payload(), grant(), t0, policy())
	if err != nil {
		t.Fatal(err)
	}
	return d.Job
}

func running(t *testing.T) hub.Job {
	t.Helper()
	j := leased(t)
	d, err := hub.Heartbeat(j, payload(), proof(j), "running", "build", "1/2", t0.Add(time.Second), policy())
	if err != nil {
		t.Fatal(err)
	}
	return d.Job
}

func canceling(t *testing.T) hub.Job {
	t.Helper()
	d, err := hub.Cancel(running(t), payload(), reason, t0.Add(2*time.Second), policy())
	if err != nil {
		t.Fatal(err)
	}
	return d.Job
}

func succeeded(t *testing.T) hub.Job {
	t.Helper()
	j := running(t)
	d, err := hub.Settle(j, payload(), proof(j), hub.Report{State: hub.JobSucceeded, Digest: []byte("d")}, t0.Add(3*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	return d.Job
}

// states are one job in each state that events can meet.
func states(t *testing.T) map[string]hub.Job {
	t.Helper()
	ended := map[string]hub.Job{}
	for _, s := range []hub.JobState{hub.JobFailed, hub.JobCanceled, hub.JobTimedOut, hub.JobRejected} {
		j := succeeded(t)
		j.State, j.Failure = s, &hub.Failure{Class: hub.ClassScript}
		ended[string(s)] = j
	}
	ended["queued"], ended["leased"], ended["running"] = queued(), leased(t), running(t)
	ended["canceling"], ended["succeeded"] = canceling(t), succeeded(t)
	return ended
}

// TestTransitions meets every state with every event.
func TestTransitions(t *testing.T) {
	t.Parallel()
	now := t0.Add(10 * time.Second)
	infra := hub.Report{State: hub.JobFailed, Failure: &hub.Failure{Class: hub.ClassImagePull, Message: "m"}, Digest: []byte("d")}
	script := hub.Report{State: hub.JobFailed, Failure: &hub.Failure{Class: hub.ClassScript, Message: "m"}, Digest: []byte("d")}
	events := map[string]func(j hub.Job) (hub.Decision, error){
		"lease": func(j hub.Job) (hub.Decision, error) { return hub.Lease(j, payload(), grant(), now, policy()) },
		"heartbeat": func(j hub.Job) (hub.Decision, error) {
			return hub.Heartbeat(j, payload(), proof(j), "running", "", "", now, policy())
		},
		"succeed": func(j hub.Job) (hub.Decision, error) {
			return hub.Settle(j, payload(), proof(j), hub.Report{State: hub.JobSucceeded}, now)
		},
		"fail":       func(j hub.Job) (hub.Decision, error) { return hub.Settle(j, payload(), proof(j), script, now) },
		"fail infra": func(j hub.Job) (hub.Decision, error) { return hub.Settle(j, payload(), proof(j), infra, now) },
		"time out": func(j hub.Job) (hub.Decision, error) {
			return hub.Settle(j, payload(), proof(j), hub.Report{State: hub.JobTimedOut, Failure: &hub.Failure{Class: hub.ClassTimeout}}, now)
		},
		"canceled": func(j hub.Job) (hub.Decision, error) {
			return hub.Settle(j, payload(), proof(j), hub.Report{State: hub.JobCanceled, Failure: &hub.Failure{Class: hub.ClassCanceled}}, now)
		},
		"release": func(j hub.Job) (hub.Decision, error) { return hub.Release(j, proof(j), reason, now) },
		"cancel":  func(j hub.Job) (hub.Decision, error) { return hub.Cancel(j, payload(), reason, now, policy()) },
		"reject": func(j hub.Job) (hub.Decision, error) {
			return hub.Reject(j, hub.Failure{Class: hub.ClassNoRunner}, now)
		},
		"expire":      func(j hub.Job) (hub.Decision, error) { return hub.Expire(j, payload(), false, now.Add(time.Hour)), nil },
		"expire soon": func(j hub.Job) (hub.Decision, error) { return hub.Expire(j, payload(), false, now), nil },
		"runner gone": func(j hub.Job) (hub.Decision, error) { return hub.Expire(j, payload(), true, now), nil },
	}
	const (
		conflict = "conflict"
		stale    = "stale_lease"
		settled  = "already_settled"
		same     = "unchanged"
	)
	ended := map[string]string{
		"lease": conflict, "heartbeat": settled, "succeed": settled, "fail": settled, "fail infra": settled, "time out": settled,
		"canceled": settled, "release": settled, "cancel": settled, "reject": conflict, "expire": same, "expire soon": same, "runner gone": same,
	}
	canceledOnes := map[string]string{}
	for e, want := range ended {
		canceledOnes[e] = want
	}
	canceledOnes["cancel"] = same
	want := map[string]map[string]string{
		"queued": {
			"lease": "leased +attempt job.leased", "heartbeat": stale, "succeed": stale, "fail": stale, "fail infra": stale,
			"time out": stale, "canceled": stale, "release": stale, "cancel": "canceled job.canceled", "reject": "rejected job.rejected",
			"expire": same, "expire soon": same, "runner gone": same,
		},
		"leased": {
			"lease": conflict, "heartbeat": "running started job.started", "succeed": "succeeded -succeeded job.succeeded",
			"fail": "failed -failed job.failed", "fail infra": "queued -failed requeued job.requeued",
			"time out": "timed_out -timed_out job.timed_out", "canceled": "canceled -canceled job.canceled",
			"release": "queued -released requeued job.released", "cancel": "leased job.cancel_requested", "reject": conflict,
			"expire": "queued -lost requeued job.requeued", "expire soon": same, "runner gone": "queued -lost requeued job.requeued",
		},
		"running": {
			"lease": conflict, "heartbeat": "running", "succeed": "succeeded -succeeded job.succeeded",
			"fail": "failed -failed job.failed", "fail infra": "queued -failed requeued job.requeued",
			"time out": "timed_out -timed_out job.timed_out", "canceled": "canceled -canceled job.canceled",
			"release": "queued -released requeued job.released", "cancel": "running job.cancel_requested", "reject": conflict,
			"expire": "queued -lost requeued job.requeued", "expire soon": same, "runner gone": "queued -lost requeued job.requeued",
		},
		"canceling": {
			"lease": conflict, "heartbeat": "running", "succeed": "succeeded -succeeded job.succeeded",
			"fail": "failed -failed job.failed", "fail infra": "canceled -failed job.canceled",
			"time out": "timed_out -timed_out job.timed_out", "canceled": "canceled -canceled job.canceled",
			"release": "canceled -released job.canceled", "cancel": same, "reject": conflict,
			"expire": "canceled -canceled job.canceled", "expire soon": same, "runner gone": "canceled -canceled job.canceled",
		},
		"succeeded": ended, "failed": ended, "timed_out": ended, "rejected": ended, "canceled": canceledOnes,
	}
	for state, j := range states(t) {
		for event, f := range events {
			t.Run(state+"/"+event, func(t *testing.T) {
				t.Parallel()
				d, err := f(j)
				if got := describe(d, err); got != want[state][event] {
					t.Errorf("got %q, want %q", got, want[state][event])
				}
				if err != nil || d.Unchanged {
					return
				}
				if d.Guard != (hub.Guard{State: j.State, Epoch: j.Epoch, Revision: j.Revision}) || d.Job.Revision != j.Revision+1 {
					t.Errorf("guard %+v, revision %d on %+v", d.Guard, d.Job.Revision, j)
				}
			})
		}
	}
}

func describe(d hub.Decision, err error) string {
	switch {
	case errors.Is(err, hub.ErrConflict):
		return "conflict"
	case err != nil:
		return string(hub.CodeOf(err))
	case d.Unchanged:
		return "unchanged"
	}
	parts := []string{string(d.Job.State)}
	if d.NewAttempt != nil {
		parts = append(parts, "+attempt")
	}
	if d.EndAttempt != nil {
		parts = append(parts, "-"+string(d.EndAttempt.State))
	}
	if d.Started {
		parts = append(parts, "started")
	}
	if d.Requeued {
		parts = append(parts, "requeued")
	}
	if d.Action != "" {
		parts = append(parts, string(d.Action))
	}
	return strings.Join(parts, " ")
}

func TestLeaseStampsTheAttempt(t *testing.T) {
	t.Parallel()
	d, err := hub.Lease(queued(), payload(), grant(), t0, policy())
	if err != nil {
		t.Fatal(err)
	}
	want := &hub.Attempt{
		JobID: "job_1", Number: 1, RunnerID: "rnr-1", Epoch: 1, State: hub.AttemptLeased,
		LeaseDigest: hub.Digest(nonce), LogDigest: hub.Digest("cap"), LeasedAt: t0,
	}
	if diff := cmp.Diff(want, d.NewAttempt); diff != "" {
		t.Error(diff)
	}
	j := d.Job
	if j.LeaseExpiresAt != t0.Add(15*time.Second) || j.DeadlineAt != t0.Add(10*time.Minute+30*time.Second) {
		t.Errorf("lease ends %v, deadline %v", j.LeaseExpiresAt, j.DeadlineAt)
	}
}

func TestLeaseRejectsOnANamedQueueAndSkipsOnAPool(t *testing.T) {
	t.Parallel()
	p := payload()
	p.Requires, p.Labels = []string{"docker", "gpu"}, []string{"fast"}
	if _, err := hub.Lease(queued(), p, grant(), t0, policy()); !errors.Is(err, hub.ErrSkip) {
		t.Errorf("the pool answered %v", err)
	}
	named := queued()
	named.RunnerID = "rnr-1"
	d, err := hub.Lease(named, p, grant(), t0, policy())
	if err != nil || d.Job.State != hub.JobRejected || d.NewAttempt != nil {
		t.Fatalf("the named queue answered %s, %v", describe(d, err), err)
	}
	f := d.Job.Failure
	if f.Class != hub.ClassCapabilityMissing || !strings.Contains(f.Message, `"gpu"`) || !strings.Contains(f.Message, `"fast"`) || f.Hint == "" {
		t.Errorf("failure %+v", f)
	}
}

func TestLeaseIsTheOwnersAlone(t *testing.T) {
	t.Parallel()
	other := grant()
	other.Runner.Owner = "user:usr_2"
	if _, err := hub.Lease(queued(), payload(), other, t0, policy()); hub.CodeOf(err) != hub.NotFound {
		t.Errorf("another owner's runner got %v", err)
	}
	named := queued()
	named.RunnerID = "rnr-2"
	if _, err := hub.Lease(named, payload(), grant(), t0, policy()); hub.CodeOf(err) != hub.NotFound {
		t.Errorf("another runner than the named one got %v", err)
	}
}

func TestFence(t *testing.T) {
	t.Parallel()
	j := running(t)
	for name, p := range map[string]hub.Proof{
		"attempt": {Attempt: 2, Epoch: 1, Nonce: nonce},
		"epoch":   {Attempt: 1, Epoch: 2, Nonce: nonce},
		"nonce":   {Attempt: 1, Epoch: 1, Nonce: "lse_wrong"},
		"none":    {Attempt: 1, Epoch: 1},
	} {
		if err := j.Fence(p); hub.CodeOf(err) != hub.StaleLease {
			t.Errorf("wrong %s: %v", name, err)
		}
	}
	if err := j.Fence(proof(j)); err != nil {
		t.Error(err)
	}
}

func TestRepeat(t *testing.T) {
	t.Parallel()
	a := hub.Attempt{Number: 1, Epoch: 1, LeaseDigest: hub.Digest(nonce), State: hub.AttemptSucceeded, ReportDigest: []byte("digest")}
	p := hub.Proof{Attempt: 1, Epoch: 1, Nonce: nonce}
	if err := hub.Repeat(a, p, []byte("digest")); err != nil {
		t.Errorf("the same report: %v", err)
	}
	if err := hub.Repeat(a, p, []byte("other")); hub.CodeOf(err) != hub.AlreadySettled {
		t.Errorf("another report: %v", err)
	}
	p.Nonce = "lse_wrong"
	if err := hub.Repeat(a, p, []byte("digest")); hub.CodeOf(err) != hub.StaleLease {
		t.Errorf("the wrong nonce: %v", err)
	}
	p.Nonce, a.ReportDigest = nonce, nil
	if err := hub.Repeat(a, p, []byte("digest")); hub.CodeOf(err) != hub.StaleLease {
		t.Errorf("an attempt that was lost: %v", err)
	}
}

func TestSettleRefusesNonsense(t *testing.T) {
	t.Parallel()
	j := running(t)
	for name, r := range map[string]hub.Report{
		"unknown status":          {State: "done"},
		"a status of the hub's":   {State: hub.JobRejected, Failure: &hub.Failure{}},
		"success with failure":    {State: hub.JobSucceeded, Failure: &hub.Failure{}},
		"failure without failure": {State: hub.JobFailed},
	} {
		if _, err := hub.Settle(j, payload(), proof(j), r, t0); hub.CodeOf(err) != hub.InvalidArgument {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestHeartbeatRenewsUpToTheDeadline(t *testing.T) {
	t.Parallel()
	j := running(t)
	beat := func(at time.Time) (hub.Decision, error) {
		return hub.Heartbeat(j, payload(), proof(j), "running", "", "", at, policy())
	}
	if d, err := beat(t0.Add(time.Minute)); err != nil || d.Job.LeaseExpiresAt != t0.Add(2*time.Minute) || d.Job.StartedAt != j.StartedAt {
		t.Errorf("renewed to %v, %v", d.Job.LeaseExpiresAt, err)
	}
	if d, err := beat(j.DeadlineAt.Add(-time.Second)); err != nil || d.Job.LeaseExpiresAt != j.DeadlineAt || d.Job.DeadlineAt != j.DeadlineAt {
		t.Errorf("just before the deadline: %v, %v", d.Job.LeaseExpiresAt, err)
	}
	if _, err := beat(j.DeadlineAt); hub.CodeOf(err) != hub.StaleLease {
		t.Errorf("at the deadline: %v", err)
	}
	c := canceling(t)
	d, err := hub.Heartbeat(c, payload(), proof(c), "running", "", "", t0.Add(30*time.Second), policy())
	if want := t0.Add((2 + 10 + 30) * time.Second); err != nil || d.Job.LeaseExpiresAt != want {
		t.Errorf("while canceling: %v, %v, want %v", d.Job.LeaseExpiresAt, err, want)
	}
}

func TestAHeartbeatAfterExpiryButBeforeTheSweepHolds(t *testing.T) {
	t.Parallel()
	j := running(t)
	late := j.LeaseExpiresAt.Add(time.Minute)
	d, err := hub.Heartbeat(j, payload(), proof(j), "running", "", "", late, policy())
	if err != nil || !hub.Expire(d.Job, payload(), false, late).Unchanged {
		t.Errorf("got %v", err)
	}
}

func TestExpire(t *testing.T) {
	t.Parallel()
	noRetry, p := payload(), payload()
	noRetry.RetryOn = []hub.Class{hub.ClassImagePull}
	worn := running(t)
	worn.Losses = 2
	last := running(t) // renewed up to its deadline
	last.LeaseExpiresAt = last.DeadlineAt
	named := running(t)
	named.RunnerID = "rnr-1"
	unbegun := leased(t)
	unbegun.Losses = 2
	deadly := leased(t)
	deadly.Attempt = 100
	short := leased(t)
	short.LeaseExpiresAt, short.DeadlineAt = t0.Add(time.Second), t0.Add(time.Second)
	for _, tt := range []struct {
		name string
		j    hub.Job
		p    hub.JobPayload
		gone bool
		at   time.Time
		want string
		loss int
	}{
		{"lost", running(t), p, false, t0.Add(time.Hour), "queued -lost requeued job.requeued", 1},
		{"lost for the last time", worn, p, false, t0.Add(time.Hour), "failed -lost job.failed", 3},
		{"lost and not to be retried", running(t), noRetry, false, t0.Add(time.Hour), "failed -lost job.failed", 0},
		{"never begun", unbegun, p, false, t0.Add(time.Hour), "queued -lost requeued job.requeued", 2},
		{"never begun for the hundredth time", deadly, p, false, t0.Add(time.Hour), "failed -lost job.failed", 0},
		{"never begun, with a deadline before", short, p, false, t0.Add(time.Hour), "queued -lost requeued job.requeued", 0},
		{"at the deadline", last, p, false, last.DeadlineAt, "timed_out -timed_out job.timed_out", 0},
		{"before the deadline", last, p, false, last.DeadlineAt.Add(-time.Microsecond), "unchanged", 0},
		{"unpaired", running(t), p, true, t0.Add(2 * time.Second), "queued -lost requeued job.requeued", 1},
		{"unpaired shortly before the deadline", last, p, true, last.DeadlineAt.Add(-time.Second), "queued -lost requeued job.requeued", 1},
		{"unpaired on its own queue", named, p, true, t0.Add(2 * time.Second), "failed -lost job.failed", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := hub.Expire(tt.j, tt.p, tt.gone, tt.at)
			if got := describe(d, nil); got != tt.want || d.Job.Losses != tt.loss {
				t.Errorf("got %q with %d losses, want %q with %d", got, d.Job.Losses, tt.want, tt.loss)
			}
		})
	}
}

func TestRetriesFollowThePolicyAndTheSpec(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		class hub.Class
		on    []hub.Class
		again bool
	}{
		{hub.ClassDiskFull, nil, true},
		{hub.ClassImagePull, nil, true},
		{hub.ClassDockerUnavailable, nil, true},
		{hub.ClassScript, nil, false},
		{hub.ClassOOM, nil, false},
		{hub.ClassTimeout, nil, false},
		{hub.ClassSpecInvalid, nil, false},
		{hub.ClassPolicyDenied, nil, false},
		{hub.ClassScript, []hub.Class{hub.ClassScript}, true},
		{hub.ClassImagePull, []hub.Class{hub.ClassScript}, false},
	} {
		j, p := running(t), payload()
		p.RetryOn = tt.on
		d, err := hub.Settle(j, p, proof(j), hub.Report{State: hub.JobFailed, Failure: &hub.Failure{Class: tt.class}}, t0)
		if err != nil || d.Requeued != tt.again {
			t.Errorf("%s with %v: requeued %v, %v", tt.class, tt.on, d.Requeued, err)
		}
	}
	own := hub.Failure{Class: hub.ClassDiskFull, Container: "job"} // its own limit is the same on any machine
	for _, on := range [][]hub.Class{nil, {hub.ClassDiskFull}} {
		j, p := running(t), payload()
		p.RetryOn = on
		d, err := hub.Settle(j, p, proof(j), hub.Report{State: hub.JobFailed, Failure: &own}, t0)
		if err != nil || d.Requeued != (on != nil) {
			t.Errorf("over its own limit on disk with %v: requeued %v, %v", on, d.Requeued, err)
		}
	}
}

func TestAJobThatIsQueuedAgainKeepsItsRank(t *testing.T) {
	t.Parallel()
	j := running(t)
	j.Rank = hub.RankOf(5, t0, policy())
	d, err := hub.Release(j, proof(j), "", t0.Add(time.Hour))
	if err != nil || !d.Requeued || d.Job.Rank != j.Rank {
		t.Errorf("rank %d became %d, %v", j.Rank, d.Job.Rank, err)
	}
}

func TestRanksAgeByPriority(t *testing.T) {
	t.Parallel()
	p := hub.DefaultPolicy()
	rank := func(priority int, after time.Duration) int { return hub.RankOf(priority, t0.Add(after), p) }
	if a, b := rank(0, 0), rank(0, time.Second); a >= b {
		t.Errorf("the older job ranks %d and the younger %d", a, b)
	}
	if a, b := rank(1, 0), rank(0, 0); a >= b {
		t.Errorf("priority 1 ranks %d and 0 %d", a, b)
	}
	// The lowest priority waits for no more than what the highest is worth, whatever comes.
	behind := 200 * p.PriorityAge
	if a, b := rank(-100, 0), rank(100, behind-time.Second); a <= b {
		t.Errorf("after less than %s the old job ranks %d and the urgent one %d", behind, a, b)
	}
	if a, b := rank(-100, 0), rank(100, behind+time.Second); a >= b {
		t.Errorf("after %s the old job ranks %d and the urgent one %d", behind, a, b)
	}
	p.PriorityAge = 0
	if rank(100, 0) != rank(-100, 0) {
		t.Error("a priority that is worth nothing counts")
	}
	for _, far := range []time.Time{{}, t0.AddDate(500, 0, 0)} {
		if r := hub.RankOf(0, far, p); int64(r) != int64(int32(r)) { //nolint:gosec // that is the question
			t.Errorf("the rank %d of %s does not fit 32 bits", r, far)
		}
	}
}

func TestAnEndedJobKeepsWhoRanItAndNoLease(t *testing.T) {
	t.Parallel()
	j := succeeded(t)
	if j.LeaseRunnerID != "rnr-1" || j.LeaseDigest != nil || j.LeaseRequestID != "" || !j.LeaseExpiresAt.IsZero() || !j.DeadlineAt.IsZero() {
		t.Errorf("%+v", j)
	}
}
