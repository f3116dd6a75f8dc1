package runnerctl

import (
	"os"
	"os/signal"
	"sync"
)

// stopSignals delivers each stop signal.
func stopSignals() (<-chan struct{}, func()) {
	got, out, done := make(chan os.Signal, 2), make(chan struct{}), make(chan struct{})
	signal.Notify(got, signals()...)
	go func() {
		for {
			select {
			case <-got:
			case <-done:
				return
			}
			select {
			case out <- struct{}{}:
			case <-done:
				return
			}
		}
	}()
	return out, sync.OnceFunc(func() {
		signal.Stop(got)
		close(done)
	})
}
