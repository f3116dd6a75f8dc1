package bench

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// riverArgs is a job of River's. Sent is when it was inserted, for those who measure that.
type riverArgs struct {
	Payload []byte    `json:"payload,omitempty"`
	Sent    time.Time `json:"sent,omitzero"`
}

func (riverArgs) Kind() string { return "bench" }

// riverWorker ends each job at once.
type riverWorker struct {
	river.WorkerDefaults[riverArgs]
	began func(riverArgs) // nil: nobody asks
}

func (w *riverWorker) Work(_ context.Context, j *river.Job[riverArgs]) error {
	if w.began != nil {
		w.began(j.Args)
	}
	return nil
}

const (
	// riverBatch is the batch of River's own benchmark.
	riverBatch = 5000
	// riverInserters is where more bring no more; each needs a connection.
	riverInserters = 32
	riverConns     = 40
)

// tuned is the configuration of River's own benchmark.
func tuned(workers int) *river.Config {
	return &river.Config{
		FetchCooldown: 2 * time.Millisecond, FetchPollInterval: 20 * time.Millisecond,
		Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: workers}},
	}
}

// startRiver runs a client on a database of its own until the benchmark ends.
func startRiver(b *testing.B, cfg *river.Config, w *riverWorker) *river.Client[pgx.Tx] {
	b.Helper()
	pc, err := pgxpool.ParseConfig(newDatabase(b))
	must(b, err)
	pc.MaxConns = riverConns
	pool, err := pgxpool.NewWithConfig(b.Context(), pc)
	must(b, err)
	b.Cleanup(pool.Close)
	driver := riverpgxv5.New(pool)
	m, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
	must(b, err)
	_, err = m.Migrate(b.Context(), rivermigrate.DirectionUp, nil)
	must(b, err)
	workers := river.NewWorkers()
	river.AddWorker(workers, w)
	cfg.Workers, cfg.Logger = workers, slog.New(slog.DiscardHandler)
	c, err := river.NewClient(driver, cfg)
	must(b, err)
	must(b, c.Start(context.WithoutCancel(b.Context())))
	b.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := c.Stop(ctx); err != nil {
			b.Error(err)
		}
	})
	return c
}

// riverSide is River end to end: insert, work, complete. A batch of 1 is single inserts. Jobs are counted when
// River tells that they were completed, as its own benchmark does.
func riverSide(b *testing.B, cfg *river.Config, batch int, payload []byte) side {
	b.Helper()
	c := startRiver(b, cfg, &riverWorker{})
	events, stop := c.SubscribeConfig(&river.SubscribeConfig{ChanSize: 75_000, Kinds: []river.EventKind{river.EventKindJobCompleted}})
	// Enough waits that no worker ever lacks work, and no more.
	backlog, inserters := int64(2000), riverInserters
	if batch > 1 {
		backlog, inserters = 3*int64(batch), 1
	}
	var inserted, completed atomic.Int64
	var counting sync.WaitGroup
	counting.Go(func() {
		for range events {
			completed.Add(1)
		}
	})
	b.Cleanup(func() {
		stop()
		counting.Wait()
	})
	many := make([]river.InsertManyParams, batch)
	for i := range many {
		many[i].Args = riverArgs{Payload: payload}
	}
	insert := func(ctx context.Context) error {
		if batch == 1 {
			_, err := c.Insert(ctx, riverArgs{Payload: payload}, nil)
			return err
		}
		_, err := c.InsertMany(ctx, many)
		return err
	}
	return side{"River", func() (float64, error) {
		var ending atomic.Bool
		var wg sync.WaitGroup
		errs := make([]error, inserters)
		for i := range inserters {
			wg.Go(func() {
				for !ending.Load() && errs[i] == nil {
					if inserted.Load()-completed.Load() >= backlog {
						pause(b.Context(), time.Millisecond)
						continue
					}
					if errs[i] = insert(b.Context()); errs[i] == nil {
						inserted.Add(int64(batch))
					}
				}
			})
		}
		pause(b.Context(), window/10)
		before, start := completed.Load(), time.Now()
		pause(b.Context(), window)
		rate := float64(completed.Load()-before) / time.Since(start).Seconds()
		ending.Store(true)
		wg.Wait()
		for limit := time.Now().Add(time.Minute); completed.Load() < inserted.Load(); pause(b.Context(), time.Millisecond) {
			if time.Now().After(limit) {
				return 0, errors.New("River did not complete what was inserted")
			}
		}
		return rate, errors.Join(errs...)
	}}
}
