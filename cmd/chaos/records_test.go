//go:build linux

package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	_ "modernc.org/sqlite" // the driver

	"github.com/runnerhub/runnerhub/hub/postgres"
	"github.com/runnerhub/runnerhub/mcp"
)

// record is all that the store holds of one job. Times are in microseconds since 1970, 0 for none.
type record struct {
	ID, Key, State, Class string
	Attempt, Losses       int
	Created, Ended        int64

	Attempts []attemptRow
	Events   []eventRow
	Results  map[int]mcp.Result // by attempt
	Chunks   map[int][]chunkRow // by attempt
}

type attemptRow struct {
	Number                 int
	Epoch                  int64
	Runner, State          string
	Reported               bool
	LogSize                int64
	Leased, Started, Ended int64
}

type eventRow struct {
	Action, Actor, Runner string
	Attempt               int
	At                    int64
}

type chunkRow struct {
	start, size int64
	key         string
}

// readRecords reads the store as it is, past the hubs.
func (w *world) readRecords(ctx context.Context) map[string]*record {
	w.Helper()
	var (
		db    *sql.DB
		err   error
		micro = func(column string) string { return "COALESCE(" + column + ", 0)" }
	)
	if w.cluster != nil {
		db, err = postgres.OpenDB(ctx, w.cluster.url())
		micro = func(column string) string {
			return "COALESCE((extract(epoch FROM " + column + ") * 1000000)::bigint, 0)"
		}
	} else {
		db, err = sql.Open("sqlite", "file:"+w.path("hub.db"))
	}
	if err != nil {
		w.Fatal(err)
	}
	defer db.Close()
	r := reader{ctx: ctx, db: db, micro: micro, jobs: map[string]*record{}}
	for _, read := range []func() error{r.readJobs, r.readAttempts, r.readEvents, r.readResults, r.readChunks} {
		if err := read(); err != nil {
			w.Fatal(err)
		}
	}
	return r.jobs
}

type reader struct {
	ctx   context.Context
	db    *sql.DB
	micro func(column string) string
	jobs  map[string]*record
}

// rows calls each for every row of a query. $time(column) is a time in microseconds.
func (r *reader) rows(query string, each func(scan func(...any) error) error) error {
	for {
		before, rest, ok := strings.Cut(query, "$time(")
		if !ok {
			break
		}
		column, after, _ := strings.Cut(rest, ")")
		query = before + r.micro(column) + after
	}
	rows, err := r.db.QueryContext(r.ctx, query)
	if err != nil {
		return fmt.Errorf("%s: %w", query, err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := each(rows.Scan); err != nil {
			return fmt.Errorf("%s: %w", query, err)
		}
	}
	return rows.Err()
}

func (r *reader) readJobs() error {
	return r.rows(`SELECT j.id, p.name, j.state, j.attempt, j.losses, $time(j.created_at), $time(j.ended_at), COALESCE(j.failure_class, '')
		FROM jobs j JOIN job_payloads p ON p.job_id = j.id`, func(scan func(...any) error) error {
		j := &record{Results: map[int]mcp.Result{}, Chunks: map[int][]chunkRow{}}
		err := scan(&j.ID, &j.Key, &j.State, &j.Attempt, &j.Losses, &j.Created, &j.Ended, &j.Class)
		r.jobs[j.ID] = j
		return err
	})
}

// of is the job of a row; one without a job is a fault of the store.
func (r *reader) of(id string) (*record, error) {
	if j := r.jobs[id]; j != nil {
		return j, nil
	}
	return nil, fmt.Errorf("a row belongs to job %q, which does not exist", id)
}

func (r *reader) readAttempts() error {
	return r.rows(`SELECT job_id, number, epoch, runner_id, state, report_digest IS NOT NULL, log_size,
		$time(leased_at), $time(started_at), $time(ended_at) FROM attempts ORDER BY job_id, number`, func(scan func(...any) error) error {
		var (
			id string
			a  attemptRow
		)
		if err := scan(&id, &a.Number, &a.Epoch, &a.Runner, &a.State, &a.Reported, &a.LogSize, &a.Leased, &a.Started, &a.Ended); err != nil {
			return err
		}
		j, err := r.of(id)
		if err == nil {
			j.Attempts = append(j.Attempts, a)
		}
		return err
	})
}

func (r *reader) readEvents() error {
	return r.rows(`SELECT job_id, action, attempt, actor, runner_id, $time(at) FROM events WHERE job_id <> '' ORDER BY id`,
		func(scan func(...any) error) error {
			var (
				id string
				e  eventRow
			)
			if err := scan(&id, &e.Action, &e.Attempt, &e.Actor, &e.Runner, &e.At); err != nil {
				return err
			}
			j, err := r.of(id)
			if err == nil {
				j.Events = append(j.Events, e)
			}
			return err
		})
}

func (r *reader) readResults() error {
	return r.rows(`SELECT job_id, number, result FROM results`, func(scan func(...any) error) error {
		var (
			id     string
			number int
			text   []byte
			result mcp.Result
		)
		if err := scan(&id, &number, &text); err != nil {
			return err
		}
		j, err := r.of(id)
		if err != nil {
			return err
		}
		err = json.Unmarshal(text, &result)
		j.Results[number] = result
		return err
	})
}

func (r *reader) readChunks() error {
	return r.rows(`SELECT job_id, attempt, start_offset, size, bucket_key FROM log_chunks ORDER BY job_id, attempt, start_offset`,
		func(scan func(...any) error) error {
			var (
				id      string
				attempt int
				c       chunkRow
			)
			if err := scan(&id, &attempt, &c.start, &c.size, &c.key); err != nil {
				return err
			}
			j, err := r.of(id)
			if err == nil {
				j.Chunks[attempt] = append(j.Chunks[attempt], c)
			}
			return err
		})
}

// readLedgers reads what the runners and the saboteur have seen, by their names.
func (w *world) readLedgers() map[string][]entry {
	w.Helper()
	files, err := filepath.Glob(w.path("ledgers", "*.jsonl"))
	if err != nil {
		w.Fatal(err)
	}
	out := map[string][]entry{}
	for _, file := range files {
		entries, _, err := readLedger(file, 0)
		if err != nil {
			w.Fatal(err)
		}
		out[strings.TrimSuffix(filepath.Base(file), ".jsonl")] = entries
	}
	return out
}
