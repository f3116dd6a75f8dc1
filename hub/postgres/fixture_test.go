package postgres

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/runnerhub/runnerhub/hub"
)

const owner = hub.Owner("user:usr_1")

// at is a moment with microseconds, which is what a store keeps.
func at(second int) time.Time {
	return time.Date(2026, 3, 1, 12, 0, 0, 123456000, time.UTC).Add(time.Duration(second) * time.Second)
}

func newID(prefix string) string { return prefix + uuid.Must(uuid.NewV7()).String() }

func newJob(o hub.Owner, runnerID string) hub.EnqueueParams {
	id := newID("job_")
	return hub.EnqueueParams{
		Job: hub.Job{
			ID: id, WorkspaceID: "wsp_1", Owner: o, RunnerID: runnerID, State: hub.JobQueued, Revision: 1,
			MaxAttempts: 3, CreatedAt: at(0), QueuedAt: at(0),
		},
		Payload: hub.JobPayload{
			JobID: id, Name: "job", Spec: []byte(`{"image":"busybox"}`), Requires: []string{"docker"},
			Timeout: time.Hour, Grace: 10 * time.Second, SubmittedBy: "usr_1",
		},
		Event: hub.Event{
			Time: at(0), Actor: "user:usr_1", Action: hub.ActJobSubmitted, Owner: o, WorkspaceID: "wsp_1", JobID: id,
		},
	}
}

func enqueued(tb testing.TB, s *Store, p hub.EnqueueParams) hub.Job {
	tb.Helper()
	j, existing, err := s.Enqueue(tb.Context(), p)
	if err != nil || existing {
		tb.Fatalf("enqueue: existing %v, error %v", existing, err)
	}
	return j
}

func newRunner(o hub.Owner) hub.Runner {
	return hub.Runner{
		ID: newID("rnr-"), Owner: o, Label: "r-" + strings.ToLower(rand.Text()[:8]), TokenDigest: hub.Digest(rand.Text()),
		PairedBy: "usr_1", PairedAt: at(0), Presence: hub.Presence{OS: "linux", Arch: "amd64", Capabilities: []string{"docker"}},
	}
}

// leased decides a lease of j; the proof holds it.
func leased(tb testing.TB, p hub.EnqueueParams, j hub.Job, r hub.Runner) (hub.Change, hub.Proof) {
	tb.Helper()
	nonce := rand.Text()
	d, err := hub.Lease(j, p.Payload, hub.LeaseGrant{
		Runner: r, RequestID: "req", Digest: hub.Digest(nonce), LogDigest: hub.Digest(j.ID + fmt.Sprint(j.Attempt+1)),
	}, at(1), hub.DefaultPolicy())
	if err != nil {
		tb.Fatal(err)
	}
	return change(d), hub.Proof{Attempt: d.Job.Attempt, Epoch: d.Job.Epoch, Nonce: nonce}
}

func change(d hub.Decision) hub.Change {
	return hub.Change{Decision: d, Event: hub.Event{Time: at(1), Actor: "system", JobID: d.Job.ID, Owner: d.Job.Owner}}
}

func apply(tb testing.TB, s *Store, c hub.Change) hub.Job {
	tb.Helper()
	if err := s.Apply(tb.Context(), c); err != nil {
		tb.Fatal(err)
	}
	return c.Job
}

func decided(tb testing.TB, d hub.Decision, err error) hub.Change {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
	return change(d)
}

// exec runs SQL past the store.
func sqlExec(tb testing.TB, s *Store, sql string, args ...any) {
	tb.Helper()
	if _, err := s.pool.Exec(tb.Context(), sql, args...); err != nil {
		tb.Fatal(err)
	}
}

func sqlInt(tb testing.TB, s *Store, sql string, args ...any) (n int) {
	tb.Helper()
	if err := s.pool.QueryRow(context.Background(), sql, args...).Scan(&n); err != nil {
		tb.Fatal(err)
	}
	return n
}
