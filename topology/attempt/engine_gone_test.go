package attempt

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/topologytest"
)

// TestFrozenEngine freezes the engine in every phase: the result comes all the
// same, and Close keeps to its context.
func TestFrozenEngine(t *testing.T) {
	t.Parallel()
	specs := map[string]*topology.Spec{
		"command":  {Image: topologytest.FakeImage, Command: command("hang")},
		"steps":    {Image: topologytest.FakeImage, Steps: []topology.Step{{Name: "a", Run: "hang"}}},
		"services": {Image: topologytest.FakeImage, Command: command("ok"), Services: sick()},
	}
	for name, spec := range specs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				fake := topologytest.NewFake()
				stop := make(chan struct{})
				hang := func(*topologytest.FakeProcess) int { <-stop; return 0 }
				fake.AddProgram("hang", hang)
				fake.AddProgram("fail", func(*topologytest.FakeProcess) int { return 1 })
				e := New(fake, Options{Patience: 30 * time.Second})
				begin := time.Now()
				time.AfterFunc(5*time.Second, fake.Freeze)
				r := e.Run(t.Context(), topology.Work{Identity: id, Spec: spec}, &topologytest.Observer{})
				if r.Status != topology.Failed || r.Failure.Class != topology.ClassDockerUnavailable {
					t.Errorf("%+v", r.Failure)
				}
				if took := time.Since(begin); took > 60*time.Second {
					t.Errorf("took %s", took)
				}
				if r.Leaks.Containers == 0 || r.Leaks.Volumes == 0 {
					t.Errorf("leaks %+v", r.Leaks)
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if err := e.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("close: %v", err)
				}
				close(stop)
				killAll(fake)
			})
		})
	}
}

// killAll ends what the fake still runs, past its own calls, which are frozen.
func killAll(fake *topologytest.Fake) { fake.Abandon() }

func TestCancelOnAFrozenEngine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fake := topologytest.NewFake()
		stop := make(chan struct{})
		fake.AddProgram("hang", func(*topologytest.FakeProcess) int { <-stop; return 0 })
		e := New(fake, Options{})
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, fake.Freeze)
		time.AfterFunc(2*time.Second, func() { cancel(topology.ErrCanceled) })
		r := e.Run(ctx, topology.Work{Identity: id, Spec: &topology.Spec{Image: topologytest.FakeImage, Command: command("hang")}}, &topologytest.Observer{})
		if r.Status != topology.Canceled {
			t.Errorf("%+v", r)
		}
		closing, stopClosing := context.WithTimeout(t.Context(), time.Second)
		defer stopClosing()
		_ = e.Close(closing)
		close(stop)
		killAll(fake)
	})
}
