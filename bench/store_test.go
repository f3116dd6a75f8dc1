package bench

import (
	"context"
	"testing"
	"time"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/postgres"
	"github.com/runnerhub/runnerhub/hub/storetest"
)

// openStore opens the PostgreSQL store as a hub does. A busy machine is no reason to fail.
func openStore(b *testing.B, database string) *postgres.Store {
	b.Helper()
	s, err := postgres.Open(b.Context(), database, postgres.Options{LockTimeout: time.Minute, StatementTimeout: time.Minute})
	must(b, err)
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	return s
}

// storeJob takes a job through its life by the library: enqueue, lease, settle, each durable before the next.
func storeJob(ctx context.Context, s hub.Store, payload []byte) error {
	now := time.Now()
	p := storetest.NewJob("user:bench", "")
	p.Payload.Spec, p.Job.CreatedAt, p.Job.QueuedAt = payload, now, now
	j, _, err := s.Enqueue(ctx, p)
	if err != nil {
		return err
	}
	proof, j, err := storeLease(ctx, s, j, p.Payload, benchRunner)
	if err != nil {
		return err
	}
	d, err := hub.Settle(j, p.Payload, proof, hub.Report{
		State: hub.JobSucceeded, Digest: hub.Digest(j.ID), Result: []byte(`{"exit_code":0}`),
	}, now)
	if err != nil {
		return err
	}
	return s.Apply(ctx, hub.Change{Decision: d, Event: event(d)})
}

var benchRunner = hub.Runner{ID: "rnr-bench", Owner: "user:bench", Presence: hub.Presence{Capabilities: []string{"docker"}}}

// storeLease leases a job by the library.
func storeLease(ctx context.Context, s hub.Store, j hub.Job, p hub.JobPayload, r hub.Runner) (hub.Proof, hub.Job, error) {
	g := hub.LeaseGrant{Runner: r, RequestID: "r", Digest: hub.Digest(j.ID), LogDigest: hub.Digest("log of " + j.ID)}
	d, err := hub.Lease(j, p, g, time.Now(), hub.DefaultPolicy())
	if err == nil {
		err = s.Apply(ctx, hub.Change{Decision: d, Event: event(d)})
	}
	return hub.Proof{Attempt: d.Job.Attempt, Epoch: d.Job.Epoch, Nonce: j.ID}, d.Job, err
}

func event(d hub.Decision) hub.Event {
	return hub.Event{Time: time.Now(), Actor: "runner:" + d.Job.LeaseRunnerID, Owner: d.Job.Owner, JobID: d.Job.ID, Attempt: d.Job.Attempt}
}

// storeSide is so many callers of the library at once.
func storeSide(b *testing.B, callers int, payload []byte) side {
	b.Helper()
	s := openStore(b, newDatabase(b))
	return side{"store library", func() (float64, error) {
		return perSecond(b.Context(), callers, window, func(ctx context.Context, _ int) error { return storeJob(ctx, s, payload) })
	}}
}

func BenchmarkStoreAgainstRiver(b *testing.B) {
	atLeast(b, 4, "store library without HTTP, single durable calls, against River's tuned single inserts end to end",
		compare(b, storeSide(b, 256, spec()), riverSide(b, tuned(1000), 1, spec())), 6)
}

func BenchmarkBatchesAgainstRiver(b *testing.B) {
	// As many jobs are brought at once as River's benchmark keeps workers, and they carry as little.
	atLeast(b, 5, "batched submits against River's own benchmark",
		compare(b, storeSide(b, 2000, []byte(`{"num":1}`)), riverSide(b, tuned(2000), riverBatch, nil)), 1.2)
}
