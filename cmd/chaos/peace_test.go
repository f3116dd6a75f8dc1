//go:build linux

package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/topology"
)

// recovery is how long everything may take to settle once nothing is broken any more.
const recovery = 90 * time.Second

// awaitPeace waits until every job has ended and every runner has told all that it had to tell.
func (w *world) awaitPeace(ctx context.Context, l *load) {
	begin := time.Now()
	w.journal.note("all faults are over")
	ctx, cancel := context.WithTimeout(ctx, recovery)
	defer cancel()
	active, unsent := -1, []string(nil)
	for active != 0 || len(unsent) > 0 {
		if !wait(ctx, 200*time.Millisecond) {
			w.breach("everything settles once nothing is broken any more", "",
				fmt.Sprintf("after %s %d jobs have not ended, and runners have not sent %s", recovery, active, strings.Join(unsent, " ")))
			return
		}
		got, err := w.people.ListJobs(ctx, mcp.ListJobsArgs{State: "active", Limit: 100})
		if err != nil {
			continue
		}
		active, unsent = len(got.Jobs), w.unsent()
	}
	w.journal.note("peace, %s after the last fault", time.Since(begin).Round(time.Millisecond))
	w.Logf("%d jobs were accepted; all was quiet %s after the last fault", len(l.accepted()), time.Since(begin).Round(100*time.Millisecond))
}

// readJobs reads all jobs as people see them.
func (w *world) readJobs(ctx context.Context, l *load) map[string]mcp.Job {
	return each(ctx, w, l, func(ctx context.Context, id string) (mcp.Job, error) {
		got, err := w.people.GetJob(ctx, mcp.JobRef{JobID: id})
		return got.Job, err
	})
}

// readLogs reads the log of each job's last attempt as people do.
func (w *world) readLogs(ctx context.Context, l *load) map[string][]topology.Record {
	return each(ctx, w, l, func(ctx context.Context, id string) ([]topology.Record, error) {
		var out []topology.Record
		for from := "start"; from != ""; {
			page, err := w.people.ReadJobLog(ctx, mcp.ReadJobLogArgs{JobID: id, From: from, Lines: 1000, Raw: true})
			if err != nil {
				return nil, err
			}
			if page.NextCursor == from {
				break // the attempt was given up, so that the log's end is open
			}
			from = page.NextCursor
			for _, line := range page.Lines {
				rec, err := recordOf(line)
				if err != nil {
					return nil, err
				}
				out = append(out, rec)
			}
		}
		return out, nil
	})
}

// recordOf undoes what made a line fit for JSON.
func recordOf(line mcp.LogLine) (topology.Record, error) {
	data := []byte(line.Text)
	if line.Base64 != "" {
		var err error
		if data, err = base64.StdEncoding.DecodeString(line.Base64); err != nil {
			return topology.Record{}, err
		}
	}
	if !line.Partial {
		data = append(data, '\n')
	}
	return topology.Record{Stream: topology.Stream(line.Stream), Data: data}, nil
}

// each calls f for every accepted job, a few at a time.
func each[T any](ctx context.Context, w *world, l *load, f func(context.Context, string) (T, error)) map[string]T {
	var (
		mu    sync.Mutex
		wg    sync.WaitGroup
		out   = map[string]T{}
		slots = make(chan struct{}, 8)
	)
	for id := range l.accepted() {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			v, err := retry(ctx, func(ctx context.Context) (T, error) { return f(ctx, id) })
			if err != nil {
				w.breach("every accepted job can be read", id, err.Error())
			}
			mu.Lock()
			defer mu.Unlock()
			out[id] = v
		})
	}
	wg.Wait()
	return out
}
