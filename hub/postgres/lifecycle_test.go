package postgres

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runnerhub/runnerhub/hub"
)

// The whole life of a job by the machine's own decisions: what is read back is what was decided.
func TestLifeOfAJob(t *testing.T) {
	t.Parallel()
	s, ctx := open(t), t.Context()
	p := newJob(owner, "")
	r := newRunner(owner)
	pol := hub.DefaultPolicy()
	j := enqueued(t, s, p)
	check := func(want hub.Job) {
		t.Helper()
		got, err := s.GetJob(ctx, want.ID)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("job (-decided +stored):\n%s", diff)
		}
	}
	check(j)

	lease, proof := leased(t, p, j, r)
	j = apply(t, s, lease)
	check(j)
	if err := s.Apply(ctx, lease); !errors.Is(err, hub.ErrConflict) {
		t.Fatalf("the same lease again: %v", err)
	}
	d, err := hub.Heartbeat(j, p.Payload, proof, "pull", "", "1 of 2", at(2), pol)
	j = apply(t, s, decided(t, d, err))
	check(j)
	d, err = hub.Heartbeat(j, p.Payload, proof, "run", "build", "", at(3), pol)
	j = apply(t, s, decided(t, d, err))
	check(j)
	d, err = hub.Cancel(j, p.Payload, "no more", at(4), pol)
	j = apply(t, s, decided(t, d, err))
	check(j)
	d, err = hub.Settle(j, p.Payload, proof, hub.Report{
		State: hub.JobCanceled, Failure: &hub.Failure{Class: hub.ClassCanceled, Message: "as asked"},
		Digest: hub.Digest("report"), Result: []byte(`{"status":"canceled"}`),
	}, at(5))
	j = apply(t, s, decided(t, d, err))
	check(j)

	a, err := s.GetAttempt(ctx, j.ID, 1)
	if err != nil {
		t.Fatal(err)
	}
	want := hub.Attempt{
		JobID: j.ID, Number: 1, RunnerID: r.ID, Epoch: 1, State: hub.AttemptCanceled, LeaseDigest: hub.Digest(proof.Nonce),
		LogDigest: hub.Digest(j.ID + "1"), LeasedAt: at(1), StartedAt: at(2), EndedAt: at(5), Failure: j.Failure,
		ReportDigest: hub.Digest("report"), Result: []byte(`{"status":"canceled"}`),
	}
	if diff := cmp.Diff(want, a); diff != "" {
		t.Errorf("attempt (-want +got):\n%s", diff)
	}
	events, err := s.ListEvents(ctx, j.ID)
	if err != nil {
		t.Fatal(err)
	}
	var actions []hub.Action
	for _, e := range events {
		actions = append(actions, e.Action)
	}
	if diff := cmp.Diff([]hub.Action{
		hub.ActJobSubmitted, hub.ActJobLeased, hub.ActJobStarted, hub.ActCancelRequested, hub.ActJobCanceled,
	}, actions); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}
