// Package hubproc runs hubs of this module's parent as processes of their own, each on a store of a chosen kind. A
// hub is the benchmark's own binary started once more, so that all kinds are the same code but for the store.
package hubproc

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strings"
	"syscall"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/memory"
	"github.com/runnerhub/runnerhub/hub/postgres"
	"github.com/runnerhub/runnerhub/hub/server"
	"github.com/runnerhub/runnerhub/hub/sqlite"
)

// Kind is a kind of store.
type Kind string

// The kinds of store.
const (
	Memory   Kind = "memory"
	Postgres Kind = "postgres"
	Direct   Kind = "postgres without group commit"
	SQLite   Kind = "sqlite"
)

// order is what a hub's process is told by its environment.
type order struct {
	Kind     Kind
	Data     string
	Database string
	Profile  string // file for a CPU profile of the whole run; "" takes none
	Policy   hub.Policy
}

const environment = "RUNNERHUB_BENCH_HUB"

// Usage is the memory of a process after a collection.
type Usage struct {
	Heap, Stack uint64 // bytes that Go has in use
	Goroutines  int
	Resident    uint64 // bytes of memory that the system has given the process, once what is free was given back
}

// Main makes this process a hub and returns its exit code, if it was started as one.
func Main(in io.Reader, out, errs io.Writer) (code int, isHub bool) {
	text, isHub := os.LookupEnv(environment)
	if !isHub {
		return 0, false
	}
	if err := serve(text, in, out, errs); err != nil {
		fmt.Fprintln(errs, "hub:", err)
		return 1, true
	}
	return 0, true
}

func serve(text string, in io.Reader, out, errs io.Writer) error {
	var o order
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return err
	}
	if o.Profile != "" {
		f, err := os.Create(o.Profile)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	s := server.Defaults()
	s.Addr, s.Data, s.Database, s.Policy = "127.0.0.1:0", o.Data, o.Database, o.Policy
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	go answer(in, out, stop)
	log := slog.New(slog.NewTextHandler(errs, &slog.HandlerOptions{Level: slog.LevelWarn}))
	return server.RunOn(ctx, s, o.open, out, log)
}

func (o order) open(ctx context.Context, s server.Settings, log *slog.Logger) (hub.Store, error) {
	switch o.Kind {
	case Memory:
		return memory.New(), nil
	case Postgres:
		return postgres.Open(ctx, s.Database, postgres.Options{Log: log})
	case Direct:
		return openDirect(ctx, s.Database, log)
	case SQLite:
		return sqlite.Open(ctx, strings.TrimPrefix(s.Database, "sqlite://"), sqlite.Options{})
	}
	return nil, errors.New("no such kind of store: " + string(o.Kind))
}

// answer tells the memory in use for each line that it reads, and stops the hub when its parent is gone.
func answer(in io.Reader, out io.Writer, stop func()) {
	for lines := bufio.NewScanner(in); lines.Scan(); {
		runtime.GC()
		runtime.GC() // what the first one freed is swept by now
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		debug.FreeOSMemory()
		_ = json.NewEncoder(out).Encode(Usage{Heap: m.HeapAlloc, Stack: m.StackInuse, Goroutines: runtime.NumGoroutine(), Resident: resident()}) // a parent that is gone needs none
	}
	stop()
}

// resident is the process's share of memory, in bytes; 0 where the system does not tell.
func resident() uint64 {
	text, err := os.ReadFile("/proc/self/statm")
	var size, pages uint64
	if err == nil {
		_, err = fmt.Sscan(string(text), &size, &pages)
	}
	if err != nil {
		return 0
	}
	return pages * uint64(os.Getpagesize())
}
