package attempt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/topologytest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var id = topology.Identity{Hub: "hub", Runner: "rnr-1", Job: "job_1", Attempt: 1, Epoch: 1}

// bench is an executor on a fake engine.
type bench struct {
	*testing.T
	fake *topologytest.Fake
	exec *Executor
	obs  *topologytest.Observer
}

// inBubble runs a test on virtual time, and checks that nothing is left behind.
func inBubble(t *testing.T, test func(*bench)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &bench{T: t, fake: topologytest.NewFake(), obs: &topologytest.Observer{}}
		b.exec = New(b.fake, Options{})
		b.fake.AddProgram("hang", func(p *topologytest.FakeProcess) int {
			select {
			case <-p.Killed:
				return 137
			case <-p.Signals:
				return 143
			}
		})
		b.fake.AddProgram("stubborn", func(p *topologytest.FakeProcess) int {
			<-p.Killed
			return 137
		})
		b.fake.AddProgram("fail", func(p *topologytest.FakeProcess) int {
			_, _ = fmt.Fprintln(p.Stderr, "it broke")
			return 5
		})
		b.fake.AddProgram("ok", func(p *topologytest.FakeProcess) int {
			_, _ = fmt.Fprintln(p.Stdout, "fine")
			return 0
		})
		test(b)
		if err := b.exec.Close(context.Background()); err != nil {
			t.Errorf("close: %v", err)
		}
		if seen, _ := b.fake.Observe(context.Background(), topology.Filter{}); seen.Count().Total() != 0 {
			t.Errorf("left behind: %+v", seen)
		}
	})
}

func (b *bench) run(ctx context.Context, spec *topology.Spec) topology.Result {
	if spec.Image == "" {
		spec.Image = topologytest.FakeImage
	}
	return b.exec.Run(ctx, topology.Work{Identity: id, Spec: spec}, b.obs)
}

func command(script string) []string { return []string{"sh", script} }

// want compares a result with "status class signal container".
func (b *bench) want(r topology.Result, want string) {
	b.Helper()
	got := string(r.Status)
	if r.Failure != nil {
		got += " " + string(r.Failure.Class)
	}
	if r.Signal != "" {
		got += " " + r.Signal
	}
	if r.Failure != nil && r.Failure.Container != "" && r.Failure.Container != "job" {
		got += " " + r.Failure.Container
	}
	if got != want {
		b.Errorf("got %q, want %q; %+v", got, want, r.Failure)
	}
}

// endAfter returns a context that ends with cause after d.
func (b *bench) endAfter(d time.Duration, cause error) context.Context {
	ctx, cancel := context.WithCancelCause(b.Context())
	time.AfterFunc(d, func() { cancel(cause) })
	return ctx
}

func TestCommandSucceeds(t *testing.T) {
	inBubble(t, func(b *bench) {
		r := b.run(b.Context(), &topology.Spec{Command: command("ok")})
		b.want(r, "succeeded")
		if r.Images[topologytest.FakeImage] != "sha256:fake" || *r.ExitCode != 0 {
			b.Errorf("%+v", r)
		}
		want := []topology.Phase{topology.PhasePreparing, topology.PhaseRunning, topology.PhaseCollecting}
		if !slices.Equal(b.obs.Phases(), want) || b.obs.Text(topology.Stdout, "") != "fine\n" {
			b.Errorf("%v %v", b.obs.Phases(), b.obs.Records())
		}
	})
}

func TestCommandFails(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.want(b.run(b.Context(), &topology.Spec{Command: command("fail")}), "failed script")
		b.want(b.run(b.Context(), &topology.Spec{Command: command("absent")}), "failed spec_invalid")
	})
}

func TestStopsInTime(t *testing.T) {
	second := topology.Duration(time.Second)
	tests := map[string]struct {
		spec  topology.Spec
		cause error
		want  string
		took  time.Duration
	}{
		"cancel":              {topology.Spec{Command: command("hang")}, topology.ErrCanceled, "canceled canceled SIGTERM", time.Second},
		"plain cancel":        {topology.Spec{Command: command("hang")}, context.Canceled, "canceled canceled SIGTERM", time.Second},
		"drain":               {topology.Spec{Command: command("hang")}, topology.ErrDraining, "canceled canceled SIGTERM", time.Second},
		"cancel, not heeded":  {topology.Spec{Command: command("stubborn")}, topology.ErrCanceled, "canceled canceled SIGKILL", 11 * time.Second},
		"own grace":           {topology.Spec{Command: command("stubborn"), Grace: 3 * second}, topology.ErrCanceled, "canceled canceled SIGKILL", 4 * time.Second},
		"stale lease":         {topology.Spec{Command: command("hang")}, topology.ErrStale, "canceled canceled SIGKILL", time.Second},
		"timeout":             {topology.Spec{Command: command("hang"), Timeout: second / 2}, topology.ErrCanceled, "timed_out timeout SIGTERM", time.Second / 2},
		"the caller's limit":  {topology.Spec{Command: command("hang")}, context.DeadlineExceeded, "timed_out timeout SIGTERM", time.Second},
		"step":                {topology.Spec{Steps: []topology.Step{{Name: "a", Run: "hang"}}}, topology.ErrCanceled, "canceled canceled SIGTERM", time.Second},
		"step, not heeded":    {topology.Spec{Steps: []topology.Step{{Name: "a", Run: "stubborn"}}}, topology.ErrCanceled, "canceled canceled SIGKILL", 11 * time.Second},
		"step, stale":         {topology.Spec{Steps: []topology.Step{{Name: "a", Run: "hang"}}}, topology.ErrStale, "canceled canceled SIGKILL", time.Second},
		"step out of time":    {topology.Spec{Steps: []topology.Step{{Name: "a", Run: "hang"}}, Timeout: second / 2}, topology.ErrCanceled, "timed_out timeout SIGTERM", time.Second / 2},
		"waiting for service": {topology.Spec{Command: command("ok"), Services: sick()}, topology.ErrCanceled, "canceled canceled", time.Second},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *bench) {
				begin := time.Now()
				r := b.run(b.endAfter(time.Second, tt.cause), &tt.spec)
				b.want(r, tt.want)
				if took := time.Since(begin); took != tt.took {
					b.Errorf("took %s, want %s", took, tt.took)
				}
			})
		})
	}
}

// sick is a service that never becomes healthy.
func sick() map[string]topology.Service {
	return map[string]topology.Service{"db": {
		Image: topologytest.FakeImage, Command: command("hang"),
		Healthcheck: &topology.Healthcheck{Test: []string{"CMD", "fail"}},
	}}
}

func TestStepsAndTheirEnds(t *testing.T) {
	inBubble(t, func(b *bench) {
		r := b.run(b.Context(), &topology.Spec{Steps: []topology.Step{
			{Name: "a", Run: "ok"}, {Name: "b", Run: "fail"}, {Name: "c", Run: "ok"}, {Name: "d", Run: "fail", Always: true},
		}})
		b.want(r, "failed script")
		var got []string
		for _, s := range r.Steps {
			got = append(got, s.Name+" "+s.Status)
		}
		if strings.Join(got, ", ") != "a succeeded, b failed, c skipped, d failed" || *r.ExitCode != 5 {
			b.Errorf("%v, exit %v", got, *r.ExitCode)
		}
		if !strings.Contains(r.Failure.Message, "step b") || r.Usage.MemoryPeak == 0 {
			b.Errorf("%+v %+v", r.Failure, r.Usage)
		}
	})
}

func TestNoAlwaysStepAfterACancel(t *testing.T) {
	inBubble(t, func(b *bench) {
		r := b.run(b.endAfter(time.Second, topology.ErrCanceled), &topology.Spec{Steps: []topology.Step{
			{Name: "a", Run: "hang"}, {Name: "b", Run: "ok", Always: true},
		}})
		b.want(r, "canceled canceled SIGTERM")
		if r.Steps[0].Status != "canceled" || r.Steps[1].Status != "skipped" {
			b.Errorf("%+v", r.Steps)
		}
	})
}

func TestImageWithoutAShell(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.fake.AddProgram(topology.StepsName, func(*topologytest.FakeProcess) int { return 127 })
		r := b.run(b.Context(), &topology.Spec{Steps: []topology.Step{{Name: "a", Run: "hang"}, {Name: "b", Run: "ok", Always: true}}})
		b.want(r, "failed spec_invalid")
		if !strings.Contains(r.Failure.Message, "has no /bin/sh") {
			b.Errorf("%+v", r.Failure)
		}
	})
}

func TestServices(t *testing.T) {
	svc := func(script string, change func(*topology.Service)) topology.Service {
		s := topology.Service{Image: topologytest.FakeImage, Command: command(script)}
		if change != nil {
			change(&s)
		}
		return s
	}
	check := func(script string) func(*topology.Service) {
		return func(s *topology.Service) {
			s.Healthcheck = &topology.Healthcheck{Test: []string{"CMD", script}, Retries: 3}
		}
	}
	after := func(on string, c topology.Condition) func(*topology.Service) {
		return func(s *topology.Service) { s.DependsOn = map[string]topology.Dependency{on: {Condition: c}} }
	}
	type services = map[string]topology.Service
	tests := map[string]struct {
		services services
		job      string
		want     string
		words    string
	}{
		"healthy":                 {services{"db": svc("hang", check("ok"))}, "ok", "succeeded", ""},
		"never healthy":           {services{"db": svc("hang", check("fail"))}, "ok", "failed service_unhealthy db", "failed 3 times in a row and last exited with code 5. The healthcheck's last lines:\nit broke\nThe service wrote nothing."},
		"fails early":             {services{"db": svc("fail", check("fail"))}, "hang", "failed service_unhealthy db", "exited with code 5 after 0s. Its last lines:\nit broke"},
		"fails without a check":   {services{"db": svc("fail", nil)}, "hang", "failed service_unhealthy db", "it broke"},
		"ends early with a check": {services{"db": svc("ok", check("fail"))}, "hang", "failed service_unhealthy db", "exited with code 0"},
		"is waited for":           {services{"seed": svc("ok", nil), "db": svc("hang", after("seed", topology.ServiceCompleted))}, "ok", "succeeded", ""},
		"is waited for in vain":   {services{"seed": svc("fail", nil), "db": svc("hang", after("seed", topology.ServiceCompleted))}, "ok", "failed service_unhealthy seed", "it broke"},
		"has no such program":     {services{"db": svc("absent", nil)}, "ok", "failed spec_invalid db", "cannot run the command of the service db"},
		"is there from the start": {services{"db": svc("hang", nil), "app": svc("hang", after("db", topology.ServiceStarted))}, "ok", "succeeded", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *bench) {
				r := b.run(b.Context(), &topology.Spec{Command: command(tt.job), Services: tt.services})
				r.Signal = "" // of a job that a service's end overtook, or not
				b.want(r, tt.want)
				if r.Failure != nil && !strings.Contains(r.Failure.Message, tt.words) {
					b.Errorf("message %q", r.Failure.Message)
				}
			})
		})
	}
}

func TestServiceDiesUnderTheJob(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.fake.AddProgram("dies later", func(p *topologytest.FakeProcess) int {
			_, _ = fmt.Fprintln(p.Stdout, "last words")
			time.Sleep(time.Minute) // virtual time
			return 9
		})
		r := b.run(b.Context(), &topology.Spec{Command: command("hang"), Services: map[string]topology.Service{
			"db": {Image: topologytest.FakeImage, Command: command("dies later")},
		}})
		b.want(r, "failed service_unhealthy SIGTERM db")
		if !strings.Contains(r.Failure.Message, "last words") {
			b.Errorf("%q", r.Failure.Message)
		}
	})
}

func TestEngineErrorsBecomeFailures(t *testing.T) {
	engineError := func(kind topology.ErrorKind) error {
		return &topology.EngineError{Kind: kind, Op: "do it", Err: errors.New("words of the engine")}
	}
	tests := map[string]struct {
		call string
		kind topology.ErrorKind
		want string
	}{
		"full disk":      {"CreateContainer", topology.KindDiskFull, "failed disk_full"},
		"odd request":    {"CreateContainer", topology.KindInvalid, "failed spec_invalid"},
		"gone":           {"Start", topology.KindUnavailable, "failed docker_unavailable"},
		"pull":           {"Image", topology.KindPull, "failed image_pull"},
		"anything else":  {"CreateVolume", topology.KindOther, "failed internal"},
		"wrong platform": {"Start", topology.KindPlatform, "failed capability_missing"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *bench) {
				b.fake.FailNext(tt.call, engineError(tt.kind))
				r := b.run(b.Context(), &topology.Spec{Command: command("ok")})
				b.want(r, tt.want)
				if r.Failure.Message != "Could not do it: words of the engine" {
					b.Errorf("message %q", r.Failure.Message)
				}
			})
		})
	}
}

func TestOOM(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.fake.AddProgram("greedy", func(p *topologytest.FakeProcess) int {
			p.OOM = true
			return 137
		})
		r := b.run(b.Context(), &topology.Spec{Command: command("greedy"), Resources: topology.Resources{Memory: 64 << 20}})
		b.want(r, "failed oom SIGKILL")
		if !strings.Contains(r.Failure.Message, "64MiB") {
			b.Errorf("%q", r.Failure.Message)
		}
	})
}
