package attempt

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/topologytest"
)

func TestReadyNetworksAreReused(t *testing.T) {
	inBubble(t, func(b *bench) {
		if _, err := b.exec.Sweep(b.Context(), id.Hub, id.Runner, nil); err != nil {
			b.Fatal(err)
		}
		synctest.Wait() // until the pool is filled
		for range 5 {
			b.want(b.run(b.Context(), &topology.Spec{Command: command("ok")}), "succeeded")
			synctest.Wait() // until the network is back
		}
		if made := count(b.fake, "CreateNetwork"); made != 1 {
			b.Errorf("%d networks were made, want the one of the pool", made)
		}
		b.want(b.run(b.Context(), &topology.Spec{Command: command("ok"), Network: topology.NetworkRestricted}), "succeeded")
		b.want(b.run(b.Context(), &topology.Spec{Command: command("ok"), Network: topology.NetworkNone}), "succeeded")
	})
}

func count(fake *topologytest.Fake, method string) int {
	n := 0
	for _, call := range fake.Calls() {
		if strings.HasPrefix(call, method+" ") {
			n++
		}
	}
	return n
}

func TestRemovalIsStubborn(t *testing.T) {
	inBubble(t, func(b *bench) {
		busy := &topology.EngineError{Kind: topology.KindBusy, Op: "remove", Err: errors.New("removal already in progress")}
		b.fake.FailNext("RemoveContainer", busy)
		b.fake.FailNext("RemoveVolume", &topology.EngineError{Kind: topology.KindOther, Op: "remove", Err: errors.New("hiccup")})
		b.want(b.run(b.Context(), &topology.Spec{Command: command("ok")}), "succeeded")
	})
}

func TestPartlyCreatedTopologyIsRemoved(t *testing.T) {
	for _, call := range []string{"CreateVolume", "CreateContainer", "Start"} {
		t.Run(call, func(t *testing.T) {
			inBubble(t, func(b *bench) {
				b.fake.FailNext(call, &topology.EngineError{Kind: topology.KindOther, Op: "do it", Err: errors.New("broken")})
				r := b.run(b.Context(), &topology.Spec{Command: command("ok"), Services: map[string]topology.Service{
					"db": {Image: topologytest.FakeImage, Command: command("hang")},
				}})
				if r.Status != topology.Failed {
					b.Errorf("%+v", r)
				}
			})
		})
	}
}

func TestSweepTakesOnlyWhatNobodyOwns(t *testing.T) {
	inBubble(t, func(b *bench) {
		ctx := b.Context()
		leave := func(owner topology.Identity) string {
			name := "left-" + owner.Hub + owner.Runner + owner.Job
			for _, err := range []error{
				b.fake.CreateNetwork(ctx, topology.NetworkSpec{Name: name, Labels: owner.Labels(topology.RoleNetwork)}),
				b.fake.CreateVolume(ctx, topology.VolumeSpec{Name: name, Labels: owner.Labels(topology.RoleWorkspace)}),
				b.fake.CreateContainer(ctx, topology.ContainerSpec{Name: name, Image: topologytest.FakeImage, Network: name, Labels: owner.Labels(topology.RoleJob)}),
			} {
				if err != nil {
					b.Fatal(err)
				}
			}
			return name
		}
		dead, live, other := id, id, id
		dead.Job, live.Job, other.Hub = "job_dead", "job_live", "hub2"
		names := []string{leave(live), leave(other)}
		leave(dead)
		if err := b.fake.CreateNetwork(ctx, topology.NetworkSpec{Name: "old-ready", Labels: topology.PoolLabels(id.Hub, id.Runner)}); err != nil {
			b.Fatal(err)
		}
		found, err := b.exec.Sweep(ctx, id.Hub, id.Runner, []topology.Identity{live})
		if err != nil || found != (topology.Leaks{Containers: 1, Networks: 2, Volumes: 1}) {
			b.Errorf("found %+v, %v", found, err)
		}
		seen, _ := b.fake.Observe(ctx, topology.Filter{})
		var kept []string
		for _, c := range seen.Containers {
			kept = append(kept, c.Name)
		}
		slices.Sort(names)
		if !slices.Equal(kept, names) {
			b.Errorf("kept %v, want %v", kept, names)
		}
		for _, owner := range []topology.Identity{live, other} { // what the sweep must not touch the test removes
			if _, err := b.exec.Sweep(ctx, owner.Hub, owner.Runner, nil); err != nil {
				b.Error(err)
			}
		}
	})
}

func TestSweepLeavesRunningAttemptsAlone(t *testing.T) {
	inBubble(t, func(b *bench) {
		finish := make(chan struct{})
		b.fake.AddProgram("until told", func(*topologytest.FakeProcess) int { <-finish; return 0 })
		done := make(chan topology.Result)
		go func() { done <- b.run(b.Context(), &topology.Spec{Command: command("until told")}) }()
		synctest.Wait()
		if found, err := b.exec.Sweep(b.Context(), id.Hub, id.Runner, nil); err != nil || found.Total() != 0 {
			b.Errorf("%+v, %v", found, err)
		}
		close(finish)
		b.want(<-done, "succeeded")
	})
}

func TestRemovedHears(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		heard := make(chan topology.Leaks, 1)
		fake := topologytest.NewFake()
		fake.AddProgram("ok", func(*topologytest.FakeProcess) int { return 0 })
		e := New(fake, Options{ReadyNetworks: -1, Removed: func(got topology.Identity, leaks topology.Leaks) {
			if got != id {
				t.Errorf("%+v", got)
			}
			heard <- leaks
		}})
		r := e.Run(t.Context(), topology.Work{Identity: id, Spec: &topology.Spec{Image: topologytest.FakeImage, Command: command("ok")}}, &topologytest.Observer{})
		if leaks := <-heard; leaks.Total() != 0 || r.Status != topology.Succeeded {
			t.Errorf("%+v, %+v", leaks, r)
		}
		if err := e.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestSecondCloseFinishesTheFirst(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.want(b.run(b.Context(), &topology.Spec{Command: command("ok")}), "succeeded")
		synctest.Wait()
		b.fake.FailNext("RemoveNetwork", &topology.EngineError{Kind: topology.KindOther, Op: "remove", Err: errors.New("hiccup")})
		if err := b.exec.Close(b.Context()); err == nil {
			b.Error("the error was swallowed")
		}
	})
}
