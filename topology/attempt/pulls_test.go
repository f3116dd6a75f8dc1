package attempt

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/topologytest"
)

// slowRegistry is an engine whose pulls take until they are let go.
type slowRegistry struct {
	topology.Engine
	mu    sync.Mutex
	begun int
	ended []error
	open  chan struct{}
}

func (s *slowRegistry) Pull(ctx context.Context, _, _ string, progress func(topology.PullProgress)) error {
	s.mu.Lock()
	s.begun++
	s.mu.Unlock()
	progress(topology.PullProgress{Layers: 2})
	var err error
	select {
	case <-s.open:
	case <-ctx.Done():
		err = ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = append(s.ended, err)
	return err
}

func TestPullsAreShared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		registry := &slowRegistry{open: make(chan struct{})}
		p := newPulls(registry)
		defer p.close()
		quiet := func(topology.PullProgress) {}
		results := make(chan error, 3)
		for range 2 {
			go func() { results <- p.pull(t.Context(), "app", "", quiet) }()
		}
		go func() { results <- p.pull(t.Context(), "app", "linux/arm64", quiet) }()
		hasty, leave := context.WithCancelCause(t.Context())
		left := make(chan error)
		go func() { left <- p.pull(hasty, "app", "", quiet) }()
		synctest.Wait()
		leave(topology.ErrCanceled)
		if err := <-left; !errors.Is(err, topology.ErrCanceled) {
			t.Error(err)
		}
		close(registry.open)
		for range 3 {
			if err := <-results; err != nil {
				t.Error(err)
			}
		}
		if registry.begun != 2 {
			t.Errorf("%d pulls, want one for each platform", registry.begun)
		}
	})
}

func TestPullEndsWithItsLastWaiter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		registry := &slowRegistry{open: make(chan struct{})}
		p := newPulls(registry)
		ctx, cancel := context.WithCancel(t.Context())
		left := make(chan error)
		go func() { left <- p.pull(ctx, "app", "", func(topology.PullProgress) {}) }()
		synctest.Wait()
		cancel()
		<-left
		p.close()
		if len(registry.ended) != 1 || registry.ended[0] == nil {
			t.Errorf("%v", registry.ended)
		}
	})
}

func TestPullOfAnAttempt(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.fake.AddRemote("remote/app", topology.Image{ID: "sha256:id", Digest: "sha256:digest", OS: "linux", Arch: "amd64"})
		r := b.run(b.Context(), &topology.Spec{Image: "remote/app", Command: command("ok")})
		b.want(r, "succeeded")
		if r.Images["remote/app"] != "sha256:digest" || b.obs.Phases()[1] != topology.PhasePulling {
			b.Errorf("%v %v", r.Images, b.obs.Phases())
		}
		if said := b.obs.Text(topology.System, ""); !strings.Contains(said, "Pulling image remote/app (not present)\n") || !strings.Contains(said, "Pulled image") {
			b.Errorf("%q", said)
		}
		r = b.run(b.Context(), &topology.Spec{Image: "remote/none", Command: command("ok")})
		b.want(r, "failed image_pull")
		if !strings.Contains(r.Failure.Message, "manifest unknown") {
			b.Errorf("%q", r.Failure.Message)
		}
		r = b.run(b.Context(), &topology.Spec{Image: "remote/none", Pull: topology.PullNever, Command: command("ok")})
		b.want(r, "failed image_pull")
	})
}

func TestPullProgressIsThrottled(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.exec.pulls = newPulls(&chattyRegistry{b.fake})
		r := b.run(b.Context(), &topology.Spec{Image: "remote/app", Command: command("ok")})
		b.want(r, "succeeded")
		said := b.obs.Text(topology.System, "")
		if n := strings.Count(said, "layers"); n != 5 {
			b.Errorf("%d lines of progress:\n%s", n, said)
		}
	})
}

// chattyRegistry reports on ten seconds of a pull a hundred times.
type chattyRegistry struct{ *topologytest.Fake }

func (c *chattyRegistry) Pull(_ context.Context, ref, _ string, progress func(topology.PullProgress)) error {
	for i := range 100 {
		time.Sleep(100 * time.Millisecond) // virtual time
		progress(topology.PullProgress{Layers: 3, LayersDone: i / 40, Bytes: int64(i), TotalBytes: 100})
	}
	c.AddImage(ref, topology.Image{OS: "linux", Arch: "amd64"})
	return nil
}
