//go:build linux

package main

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/runnerhub/runnerhub/hub/server"
)

// roleEnv makes this binary a hub, a runner or the saboteur instead of the tests.
const roleEnv = "CHAOS_ROLE"

func TestMain(m *testing.M) {
	switch role := os.Getenv(roleEnv); role {
	case "hub":
		os.Exit(server.Main())
	case "runner", "saboteur":
		os.Exit(run(context.Background(), []string{role, os.Args[1]}, os.Stderr))
	}
	os.Exit(m.Run())
}

// TestPostgres breaks three hubs on one PostgreSQL, the database, the network between all of them, the runners and the
// volume of the logs, and then looks whether every promise was kept.
func TestPostgres(t *testing.T) {
	w := newWorld(t, newOptions(t))
	w.onPostgres()
	w.chaos()
}

// TestSQLite does the same to one hub on its embedded store.
func TestSQLite(t *testing.T) {
	o := newOptions(t)
	o.hubs = 1
	w := newWorld(t, o)
	w.onSQLite()
	w.chaos()
}

// chaos is a whole run: peace, faults, peace, and the reckoning.
func (w *world) chaos() {
	ctx, cancel := context.WithTimeout(w.Context(), w.o.duration+10*time.Minute)
	defer cancel()
	w.startHubs(ctx)
	w.pairRunners(ctx)
	w.startRunners()
	load := w.startLoad(ctx)
	w.inject(ctx, newSchedule(w.o, w.cluster != nil))
	load.stop()
	w.awaitPeace(ctx, load)
	logs := w.readLogs(ctx, load)
	views := w.readJobs(ctx, load)
	w.stopAll(ctx)
	rec := w.readRecords(ctx)
	books := w.readLedgers()
	v := &verdict{world: w, load: load, records: rec, books: books, views: views, logs: logs}
	v.reach(ctx)
	v.print()
}
