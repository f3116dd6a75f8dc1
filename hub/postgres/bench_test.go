package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/runnerhub/runnerhub/hub"
)

// BenchmarkJob measures what a job costs through the store (enqueue, lease, first and second heartbeat, settle: five
// transactions) in terms of the same transitions as bare statements, each transaction one pipelined batch of plain pgx.
// Each worker takes them by turns, a job at a time, and medians are compared, so that whatever else the machine
// does hits all alike.
//
//   - x-bare is the store's time for a job divided by that of the bare statements;
//   - x-capped is the same with both caps in force, each of which takes a lock on its key (4 owners share the workers);
//   - x-noise is the bare statements against themselves: how much of the above is chance.
func BenchmarkJob(b *testing.B) {
	for _, workers := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			url := newDatabase(b)
			// A busy machine is no reason to fail.
			s := openAt(b, url, Options{MaxConns: workers, LockTimeout: time.Minute, StatementTimeout: time.Minute})
			plain, err := pgxpool.New(b.Context(), url+fmt.Sprintf("&pool_max_conns=%d", workers))
			if err != nil {
				b.Fatal(err)
			}
			defer plain.Close()
			sides := []func(worker int) error{
				func(int) error { return bareJob(b.Context(), plain) },
				func(int) error { return storeJob(b.Context(), s, "user:bench", 0) },
				func(w int) error { return storeJob(b.Context(), s, hub.Owner(fmt.Sprintf("user:%d", w%4)), 1000) },
				func(int) error { return bareJob(b.Context(), plain) },
			}
			var times [][]time.Duration
			for b.Loop() {
				times = byTurns(b, workers, max(400/workers, 40), sides)
			}
			bare := median(times[0])
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(median(times[1])/bare, "x-bare")
			b.ReportMetric(median(times[2])/bare, "x-capped")
			b.ReportMetric(median(times[3])/bare, "x-noise")
		})
	}
}

// byTurns has each worker run every side so many times, and returns how long each took, by side.
func byTurns(b *testing.B, workers, rounds int, sides []func(worker int) error) [][]time.Duration {
	b.Helper()
	const warm = 5 // rounds in which statements are prepared
	var wg sync.WaitGroup
	var mu sync.Mutex
	times, errs := make([][]time.Duration, len(sides)), make([]error, workers)
	for w := range workers {
		wg.Go(func() {
			for round := range rounds + warm {
				for i := range sides {
					side := (i + round) % len(sides) // none always follows the same one
					began := time.Now()
					if errs[w] = sides[side](w); errs[w] != nil {
						return
					}
					if took := time.Since(began); round >= warm {
						mu.Lock()
						times[side] = append(times[side], took)
						mu.Unlock()
					}
				}
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		b.Fatal(err)
	}
	return times
}

func median(v []time.Duration) float64 {
	return slices.Sorted(slices.Values(v))[len(v)/2].Seconds()
}

// storeJob takes one job through its life by the machine and the store.
func storeJob(ctx context.Context, s *Store, o hub.Owner, most int) error {
	p, pol := newJob(o, ""), hub.DefaultPolicy()
	p.MaxQueued = most
	j, _, err := s.Enqueue(ctx, p)
	if err != nil {
		return err
	}
	write := func(d hub.Decision, err error) error {
		if err == nil {
			c := change(d)
			c.MaxRunning = most
			err = s.Apply(ctx, c)
		}
		j = d.Job
		return err
	}
	g := hub.LeaseGrant{Runner: benchRunner(o), RequestID: "r", Digest: hub.Digest("n"), LogDigest: hub.Digest(j.ID)}
	if err := write(hub.Lease(j, p.Payload, g, at(1), pol)); err != nil {
		return err
	}
	proof := hub.Proof{Attempt: j.Attempt, Epoch: j.Epoch, Nonce: "n"}
	for i := range 2 {
		if err := write(hub.Heartbeat(j, p.Payload, proof, "run", "", "", at(2+i), pol)); err != nil {
			return err
		}
	}
	return write(hub.Settle(j, p.Payload, proof, hub.Report{
		State: hub.JobSucceeded, Digest: hub.Digest("report"), Result: []byte(`{"exit_code":0}`),
	}, at(9)))
}

func benchRunner(o hub.Owner) hub.Runner {
	return hub.Runner{ID: "rnr-bench", Owner: o, Presence: hub.Presence{OS: "linux", Arch: "amd64", Capabilities: []string{"docker"}}}
}

const bareEvent = `INSERT INTO events (at, actor, action, job_id) VALUES ($1, 'system', $2, $3)`

// bareJob is the same by hand: nothing is decided, guarded by more than the state, or mapped.
func bareJob(ctx context.Context, pool *pgxpool.Pool) error {
	p := newJob("user:bare", "")
	id := p.Job.ID
	send := func(queue func(b *pgx.Batch)) error {
		var b pgx.Batch
		queue(&b)
		return pool.SendBatch(ctx, &b).Close()
	}
	if err := send(func(b *pgx.Batch) {
		b.Queue(`INSERT INTO jobs (id, workspace_id, owner, queue_key, state, revision, max_attempts, created_at, queued_at)
			VALUES ($1, 'wsp_1', 'user:bare', 'user:bare/*', 'queued', 1, 3, $2, $2)`, id, at(0))
		b.Queue(`INSERT INTO job_payloads (job_id, name, spec, requires, timeout_ns, grace_ns, submitted_by)
			VALUES ($1, 'job', $2, $3, $4, $5, 'usr_1')`, id, p.Payload.Spec, p.Payload.Requires,
			int64(p.Payload.Timeout), int64(p.Payload.Grace))
		b.Queue(bareEvent, at(0), "job.submitted", id)
	}); err != nil {
		return err
	}
	if err := send(func(b *pgx.Batch) {
		b.Queue(`UPDATE jobs SET state = 'leased', revision = 2, attempt = 1, epoch = 1, lease_runner_id = 'rnr-bench',
			lease_digest = $2, lease_request_id = 'r', lease_expires_at = $3, deadline_at = $4
			WHERE id = $1 AND state = 'queued'`, id, hub.Digest("n"), at(16), at(3600))
		b.Queue(`INSERT INTO attempts (job_id, number, runner_id, epoch, state, lease_digest, log_digest, leased_at)
			VALUES ($1, 1, 'rnr-bench', 1, 'leased', $2, $3, $4)`, id, hub.Digest("n"), hub.Digest(id), at(1))
		b.Queue(bareEvent, at(1), "job.leased", id)
	}); err != nil {
		return err
	}
	if err := send(func(b *pgx.Batch) {
		b.Queue(`UPDATE jobs SET state = 'running', revision = 3, started_at = $2, lease_expires_at = $3, phase = 'run'
			WHERE id = $1 AND state = 'leased'`, id, at(2), at(62))
		b.Queue(`UPDATE attempts SET state = 'running', started_at = $2 WHERE job_id = $1 AND number = 1`, id, at(2))
		b.Queue(bareEvent, at(2), "job.started", id)
	}); err != nil {
		return err
	}
	if _, err := pool.Exec(ctx, `UPDATE jobs SET revision = 4, lease_expires_at = $2, phase = 'run'
		WHERE id = $1 AND state = 'running'`, id, at(63)); err != nil {
		return err
	}
	return send(func(b *pgx.Batch) {
		b.Queue(`UPDATE jobs SET state = 'succeeded', revision = 5, lease_digest = NULL, lease_request_id = '',
			lease_expires_at = NULL, deadline_at = NULL, phase = '', ended_at = $2
			WHERE id = $1 AND state = 'running'`, id, at(9))
		b.Queue(`UPDATE attempts SET state = 'succeeded', ended_at = $2, report_digest = $3 WHERE job_id = $1 AND number = 1`,
			id, at(9), hub.Digest("report"))
		b.Queue(`INSERT INTO results (job_id, number, result) VALUES ($1, 1, $2)`, id, []byte(`{"exit_code":0}`))
		b.Queue(bareEvent, at(9), "job.succeeded", id)
	})
}
