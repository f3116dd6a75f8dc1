package bench

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// plain is a queue as one writes it by hand: one table of jobs, one of events, and three transactions a job,
// each of a single round trip. It decides nothing, fences nothing and has one queue.
type plain struct {
	pool    *pgxpool.Pool
	payload []byte
}

const plainSchema = `
	CREATE TABLE plain_jobs (
		id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, queue text NOT NULL, state text NOT NULL DEFAULT 'queued',
		payload bytea NOT NULL, runner text, leased_until timestamptz, result bytea, created_at timestamptz NOT NULL DEFAULT now());
	CREATE INDEX plain_claim ON plain_jobs (queue, id) WHERE state = 'queued';
	CREATE TABLE plain_events (
		id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, job_id bigint NOT NULL, action text NOT NULL, at timestamptz NOT NULL DEFAULT now())`

const (
	plainEnqueue = `INSERT INTO plain_jobs (queue, payload) VALUES ('q', $1)`
	plainLease   = `UPDATE plain_jobs SET state = 'leased', runner = 'r', leased_until = now() + interval '1 minute'
		WHERE id = (SELECT id FROM plain_jobs WHERE queue = 'q' AND state = 'queued' ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED)
		RETURNING id, payload`
	plainComplete = `UPDATE plain_jobs SET state = 'done', leased_until = NULL, result = $2 WHERE id = $1 AND state = 'leased'`
	plainEvent    = `INSERT INTO plain_events (job_id, action) VALUES ($1, 'done')`
)

func newPlain(b *testing.B, conns int32, payload []byte) *plain {
	b.Helper()
	cfg, err := pgxpool.ParseConfig(newDatabase(b))
	must(b, err)
	cfg.MaxConns, cfg.MinConns = conns, conns
	pool, err := pgxpool.NewWithConfig(b.Context(), cfg)
	must(b, err)
	b.Cleanup(pool.Close)
	_, err = pool.Exec(b.Context(), plainSchema)
	must(b, err)
	return &plain{pool, payload}
}

func (p *plain) job(ctx context.Context) error {
	if _, err := p.pool.Exec(ctx, plainEnqueue, p.payload); err != nil {
		return err
	}
	var id int64
	var payload []byte
	for {
		err := p.pool.QueryRow(ctx, plainLease).Scan(&id, &payload)
		if err == nil {
			break
		}
		if !errors.Is(err, pgx.ErrNoRows) { // the others hold all that is there, and one of them what this one has enqueued
			return err
		}
	}
	var batch pgx.Batch
	batch.Queue(plainComplete, id, []byte(`{"exit_code":0}`))
	batch.Queue(plainEvent, id)
	return p.pool.SendBatch(ctx, &batch).Close()
}

// perSecond is how often a second f ends, when so many call it again and again for a time, after a tenth of it as warm-up.
func perSecond(ctx context.Context, callers int, d time.Duration, f func(ctx context.Context, caller int) error) (float64, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var n atomic.Int64
	var wg sync.WaitGroup
	var ending atomic.Bool
	errs := make([]error, callers)
	for i := range callers {
		wg.Go(func() {
			for !ending.Load() && errs[i] == nil {
				if errs[i] = f(ctx, i); errs[i] == nil {
					n.Add(1)
				}
			}
			if errs[i] != nil {
				stop()
			}
		})
	}
	pause(ctx, d/10)
	before, began := n.Load(), time.Now()
	pause(ctx, d)
	rate := float64(n.Load()-before) / time.Since(began).Seconds()
	ending.Store(true)
	wg.Wait()
	return rate, errors.Join(errs...)
}
