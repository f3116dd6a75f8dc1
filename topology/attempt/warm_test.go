package attempt

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/topologytest"
)

const warmFor = 10 * time.Minute

// warmBench is an executor on a fake engine that keeps services, and what it ran.
type warmBench struct {
	*bench
	sick bool // the healthcheck fails
}

// keepingWarm runs a test on virtual time, with a service program that says that it is
// up and then every minute how long it has been.
func keepingWarm(t *testing.T, test func(*warmBench)) {
	t.Helper()
	inBubble(t, func(b *bench) {
		w := &warmBench{bench: b}
		b.exec = New(b.fake, Options{WarmFor: warmFor})
		b.fake.AddProgram("serve", func(p *topologytest.FakeProcess) int {
			_, _ = fmt.Fprintln(p.Stdout, "up")
			for minute := 1; ; minute++ {
				select {
				case <-p.Killed:
					return 137
				case <-p.Signals:
					return 1
				case <-time.After(time.Minute):
					_, _ = fmt.Fprintln(p.Stdout, "minute", minute)
				}
			}
		})
		b.fake.AddProgram("check", func(*topologytest.FakeProcess) int {
			if w.sick {
				return 1
			}
			return 0
		})
		b.fake.AddProgram("work", func(p *topologytest.FakeProcess) int {
			select {
			case <-time.After(90 * time.Second):
			case <-p.Killed:
			case <-p.Signals:
			}
			return 0
		})
		test(w)
	})
}

// job is one with a service that may stay.
func job(script string) *topology.Spec {
	return &topology.Spec{
		Image: topologytest.FakeImage, Command: command(script), Volumes: map[string]topology.Volume{"data": {}},
		Services: map[string]topology.Service{"db": {
			Image: topologytest.FakeImage, Command: command("serve"), Reuse: true,
			Healthcheck: &topology.Healthcheck{Test: []string{"CMD", "check"}, Retries: 1},
			Volumes:     []topology.Mount{{Type: topology.MountVolume, Source: "data", Target: "/data"}},
		}},
	}
}

// work has a job of an owner's done, with an observer of its own.
func (b *warmBench) work(ctx context.Context, owner string, spec *topology.Spec) (topology.Result, *topologytest.Observer) {
	obs := &topologytest.Observer{}
	return b.exec.Run(ctx, topology.Work{Identity: id, Owner: owner, Spec: spec}, obs), obs
}

// wantWarm runs a job and says whether it found the service warm.
func (b *warmBench) wantWarm(what, owner string, spec *topology.Spec, want bool) *topologytest.Observer {
	b.Helper()
	r, obs := b.work(b.Context(), owner, spec)
	if r.Status != topology.Succeeded || (strings.Join(r.Warm, " ") == "db") != want {
		b.Errorf("%s: %s, warm %v, want %v; %+v", what, r.Status, r.Warm, want, r.Failure)
	}
	synctest.Wait() // until all that goes is gone
	return obs
}

// idle counts what is on the engine while no job runs, but for ready networks.
func (b *warmBench) idle() (sets int) {
	b.Helper()
	seen, err := b.fake.Observe(context.Background(), topology.Filter{Hub: id.Hub})
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range seen.Containers {
		if c.Labels[topology.LabelSet] == "" || !c.Running {
			b.Errorf("left: %+v", c)
		}
	}
	if len(seen.Volumes) != len(seen.Containers) || len(seen.Networks) > len(seen.Containers)+1 {
		b.Errorf("%d containers have %d volumes and %d networks", len(seen.Containers), len(seen.Volumes), len(seen.Networks))
	}
	return len(seen.Containers)
}

func TestServiceStaysForItsOwner(t *testing.T) {
	keepingWarm(t, func(b *warmBench) {
		if got := b.wantWarm("the first", "user:1", job("work"), false).Text(topology.Stdout, "db"); got != "up\nminute 1\n" {
			b.Errorf("the first job's service said %q", got)
		}
		time.Sleep(190 * time.Second) // virtual time
		obs := b.wantWarm("the second", "user:1", job("work"), true)
		if got := obs.Text(topology.Stdout, "db"); got != "minute 5\nminute 6\n" {
			b.Errorf("the second job's service said %q", got)
		}
		if got := obs.Text(topology.System, ""); !strings.Contains(got, "Service db is warm: an earlier job started it 4m40s ago") {
			b.Errorf("the log says %q", got)
		}
		if got := count(b.fake, "CreateContainer"); got != 3 {
			b.Errorf("%d containers were made, want two jobs' and one service's", got)
		}
		time.Sleep(warmFor - time.Second) // virtual time
		if got := b.idle(); got != 1 {
			b.Errorf("%d sets before the time is up", got)
		}
		time.Sleep(2 * time.Second) // virtual time
		if got := b.idle(); got != 0 {
			b.Errorf("%d sets after the time", got)
		}
		b.wantWarm("one too late", "user:1", job("ok"), false)
	})
}

func TestServiceIsNobodyElses(t *testing.T) {
	tests := map[string]struct {
		owner  string
		change func(*warmBench, *topology.Spec)
	}{
		"another owner":       {"user:2", nil},
		"nobody":              {"", nil},
		"another environment": {"user:1", func(_ *warmBench, s *topology.Spec) { change(s, func(db *topology.Service) { db.User = "7" }) }},
		"another network":     {"user:1", func(_ *warmBench, s *topology.Spec) { s.Network = topology.NetworkRestricted }},
		"no reuse":            {"user:1", func(_ *warmBench, s *topology.Spec) { change(s, func(db *topology.Service) { db.Reuse = false }) }},
		"another image": {"user:1", func(b *warmBench, _ *topology.Spec) {
			b.fake.AddImage(topologytest.FakeImage, topology.Image{ID: "sha256:newer", OS: "linux", Arch: "amd64"})
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			keepingWarm(t, func(b *warmBench) {
				b.wantWarm("the first", "user:1", job("ok"), false)
				spec := job("ok")
				if tt.change != nil {
					tt.change(b, spec)
				}
				b.wantWarm("the second", tt.owner, spec, false)
			})
		})
	}
}

func change(s *topology.Spec, f func(*topology.Service)) {
	db := s.Services["db"]
	f(&db)
	s.Services["db"] = db
}

func TestServiceThatIsNotWell(t *testing.T) {
	keepingWarm(t, func(b *warmBench) {
		b.wantWarm("the first", "user:1", job("ok"), false)
		b.sick = true
		time.AfterFunc(500*time.Millisecond, func() { b.sick = false })
		b.fake.AddProgram("check", func(*topologytest.FakeProcess) int {
			if b.sick {
				b.sick = false // the new one is well
				return 1
			}
			return 0
		})
		obs := b.wantWarm("of a sick one", "user:1", job("ok"), false)
		if got := obs.Text(topology.System, ""); !strings.Contains(got, "not well, and start anew: the healthcheck of db exited with code 1") {
			b.Errorf("the log says %q", got)
		}
		if got := b.idle(); got != 1 {
			b.Errorf("%d sets, want the new one", got)
		}
		seen, _ := b.fake.Observe(b.Context(), topology.Filter{Hub: id.Hub})
		if err := b.fake.Signal(b.Context(), seen.Containers[0].Name, "SIGTERM"); err != nil {
			b.Fatal(err)
		}
		synctest.Wait()
		if got := b.idle(); got != 0 {
			b.Errorf("%d sets, want none after its end", got)
		}
		b.wantWarm("of one that ended", "user:1", job("ok"), false)
	})
}

// TestServiceStaysByHowTheJobEnded has jobs end in many ways.
func TestServiceStaysByHowTheJobEnded(t *testing.T) {
	for name, tt := range map[string]struct {
		spec  *topology.Spec
		cause error
		want  int
	}{
		"well":      {job("ok"), nil, 1},
		"by itself": {job("fail"), nil, 1},
		"in steps": {func() *topology.Spec {
			s := job("")
			s.Command, s.Steps = nil, []topology.Step{{Name: "a", Run: "fail"}}
			return s
		}(), nil, 1},
		"canceled":     {job("hang"), topology.ErrCanceled, 0},
		"stale":        {job("hang"), topology.ErrStale, 0},
		"out of time":  {job("hang"), context.DeadlineExceeded, 0},
		"cannot start": {job("absent"), nil, 0},
		"without service": {func() *topology.Spec {
			s := job("hang")
			change(s, func(db *topology.Service) { db.Command = command("fail") })
			return s
		}(), nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			keepingWarm(t, func(b *warmBench) {
				ctx := b.Context()
				if tt.cause != nil {
					ctx = b.endAfter(time.Second, tt.cause)
				}
				r, _ := b.work(ctx, "user:1", tt.spec)
				synctest.Wait()
				if got := b.idle(); got != tt.want {
					b.Errorf("%d sets stay, want %d; %+v", got, tt.want, r)
				}
			})
		})
	}
}

// TestOneJobHasTheService runs two at once, then two more, then more kinds of them
// than may stay.
func TestOneJobHasTheService(t *testing.T) {
	keepingWarm(t, func(b *warmBench) {
		both := func(want int) {
			b.Helper()
			warm := make(chan int)
			for range 2 {
				go func() {
					r, _ := b.work(b.Context(), "user:1", job("work"))
					warm <- len(r.Warm)
				}()
			}
			if got := <-warm + <-warm; got != want {
				b.Errorf("%d of two jobs found a warm service, want %d", got, want)
			}
			synctest.Wait()
		}
		both(0)
		both(2)
		if got := b.idle(); got != 2 {
			b.Errorf("%d sets", got)
		}
		for owner := range leastWarm {
			b.wantWarm("another owner's", fmt.Sprint("user:1", owner), job("ok"), false)
		}
		if got := b.idle(); got != leastWarm {
			b.Errorf("%d sets, want the most that may be idle, %d", got, leastWarm)
		}
		b.wantWarm("one that had to go", "user:1", job("ok"), false)
		b.wantWarm("one that was used late", fmt.Sprint("user:1", leastWarm-1), job("ok"), true)
	})
}

// TestNextJobWaitsForTheService has a job come while the one before is being removed.
func TestNextJobWaitsForTheService(t *testing.T) {
	keepingWarm(t, func(b *warmBench) {
		for i := range 3 {
			r, _ := b.work(b.Context(), "user:1", job("ok"))
			if len(r.Warm) != min(i, 1) {
				b.Errorf("job %d: %v", i, r.Warm)
			}
		}
	})
}

// TestSweepAndServicesThatStay sweeps beside an executor and after it was killed.
func TestSweepAndServicesThatStay(t *testing.T) {
	keepingWarm(t, func(b *warmBench) {
		b.wantWarm("the first", "user:1", job("ok"), false)
		if found, err := b.exec.Sweep(b.Context(), id.Hub, id.Runner, nil); err != nil || found.Total() != 0 {
			b.Errorf("its own sweep found %+v, %v", found, err)
		}
		b.wantWarm("after a sweep", "user:1", job("ok"), true)
		heir := New(b.fake, Options{})
		found, err := heir.Sweep(b.Context(), id.Hub, id.Runner, nil)
		if err != nil || found.Containers != 1 || found.Volumes != 1 || b.idle() != 0 {
			b.Errorf("a new process found %+v, %v", found, err)
		}
		if err := heir.Close(b.Context()); err != nil {
			b.Error(err)
		}
	})
}

// TestAdoptJobWithWarmService kills a runner under a job that has an earlier one's service.
func TestAdoptJobWithWarmService(t *testing.T) {
	keepingWarm(t, func(b *warmBench) {
		gate, k := &mortal{Engine: b.fake}, newKeeper()
		first := New(gate, Options{WarmFor: warmFor})
		before := topology.Work{Identity: id, Owner: "user:1", Spec: job("work")}
		first.Run(b.Context(), before, &topologytest.Observer{}) // the service says its first minute
		time.Sleep(20 * time.Second)                             // virtual time
		work := before
		work.Job, work.Save = "job_2", k.save
		perish(b.T, first, gate, k, work, 45*time.Second) // the second minute, with another one to come

		heir := newKeeper()
		heir.left, heir.log = k.left, k.log
		work.Save = heir.save
		found, err := b.exec.Sweep(b.Context(), id.Hub, id.Runner, []topology.Identity{work.Identity})
		if err != nil || found.Containers != 0 {
			b.Errorf("the sweep found %+v, %v", found, err)
		}
		r := b.exec.Adopt(b.Context(), work, k.left, heir.observer())
		if r.Status != topology.Succeeded || strings.Join(r.Warm, " ") != "db" || heir.text("db") != "minute 2\nminute 3\n" {
			b.Errorf("%+v; the service said %q", r, heir.text("db"))
		}
	})
}
