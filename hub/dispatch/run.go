package dispatch

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"
)

// Run sweeps, listens to other hubs, notifies them, and writes presence until
// ctx ends; it returns nil then, after all of its goroutines have ended. They are:
//
//	sweep     looks for attempts whose clocks ran out and for jobs that nobody takes
//	looks     wakes waiters for jobs that this hub has only heard of, and polls as a net
//	listener  takes hints of other hubs
//	notifier  sends hints to other hubs
//	presence  writes what was heard of runners
//	retention deletes what ended long ago
//	reclaim   deletes artifacts, archives and uploads whose time is over
//
// One that panics is logged and started again: a fault in one job's data must not end the others' leases.
func (s *Service) Run(ctx context.Context) error {
	if err := s.syncClock(ctx); err != nil && ctx.Err() == nil {
		s.log.Warn("the store's clock could not be read yet", "error", err)
	}
	s.start()
	loops := map[string]func(context.Context){
		"sweep": s.runSweep, "looks": s.runLooks, "listener": s.runListener,
		"notifier": s.runNotifier, "presence": s.runPresence, "retention": s.runRetention,
		"reclaim": s.runReclaim,
	}
	var wg sync.WaitGroup
	for name, loop := range loops {
		wg.Go(func() { s.keep(ctx, name, loop) })
	}
	wg.Wait()
	return nil
}

// keep runs a loop until ctx ends, also after it has panicked.
func (s *Service) keep(ctx context.Context, name string, loop func(context.Context)) {
	for ctx.Err() == nil {
		func() {
			defer func() {
				if r := recover(); r != nil {
					s.log.Error("a loop of the hub panicked and is started again",
						"loop", name, "error", fmt.Sprint(r), "stack", string(debug.Stack()))
				}
			}()
			loop(ctx)
		}()
		if ctx.Err() == nil && !pause(ctx, time.Second) {
			return
		}
	}
}
