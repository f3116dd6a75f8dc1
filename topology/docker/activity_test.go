package docker

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/runnerhub/runnerhub/topology"
)

func TestDrainWaitsForASlowReceiver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var seen activity
		copied := make(chan error, 1)
		out := seen.watch(func(topology.Stream, []byte) { time.Sleep(time.Minute) }) // virtual time
		go func() {
			out(topology.Stdout, nil)
			out(topology.Stdout, nil)
			copied <- nil
		}()
		begin := time.Now()
		if err := drain(t.Context(), copied, &seen); err != nil || time.Since(begin) != 2*time.Minute {
			t.Errorf("%v after %s", err, time.Since(begin))
		}
		begin = time.Now() // an open stream that nothing comes from
		if err := drain(t.Context(), make(chan error), &seen); err != nil || time.Since(begin) > 2*drainTimeout {
			t.Errorf("%v after %s", err, time.Since(begin))
		}
	})
}
