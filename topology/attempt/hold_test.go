package attempt

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/topologytest"
)

// held runs a spec and calls look at the hold of it. Without a hold look is not called.
func (b *bench) held(ctx context.Context, spec *topology.Spec, look func(context.Context, topology.Inside, topology.Result)) topology.Result {
	spec.Image = topologytest.FakeImage
	var in topology.Inside
	return b.exec.Run(ctx, topology.Work{
		Identity: id, Spec: spec,
		Enter: func(i topology.Inside) { in = i },
		Hold:  func(ctx context.Context, r topology.Result) { look(ctx, in, r) },
	}, b.obs)
}

// say is what a command puts out in a container.
func say(in topology.Inside, service, program string) string {
	out := ""
	exit, err := in.Exec(context.Background(), service, topology.ExecSpec{Argv: command(program)}, func(_ topology.Stream, data []byte) { out += string(data) })
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(out, exit.Code)
}

// A held attempt stays as it is: no time limit of the job and no end of a service changes it or ends it, and
// commands run in the container that the failed step ran in.
func TestHold(t *testing.T) {
	minute := topology.Duration(time.Minute)
	db := map[string]topology.Service{"db": {Image: topologytest.FakeImage, Command: command("fades")}}
	tests := map[string]struct {
		spec topology.Spec
		want string
	}{
		"step":      {topology.Spec{Steps: []topology.Step{{Name: "a", Run: "fail"}}, Services: db}, "failed script"},
		"command":   {topology.Spec{Command: command("fail"), Services: db}, "failed script"},
		"timed out": {topology.Spec{Steps: []topology.Step{{Name: "a", Run: "hang"}}}, "timed_out timeout SIGTERM"},
		"killed":    {topology.Spec{Command: command("stubborn")}, "timed_out timeout SIGKILL"},
		"silent":    {topology.Spec{Command: command("hang"), Timeout: 10 * minute}, "timed_out timeout SIGTERM"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *bench) {
				b.fake.AddProgram("fades", func(p *topologytest.FakeProcess) int {
					select {
					case <-time.After(10 * time.Minute):
					case <-p.Killed:
					}
					return 1
				})
				addInside(b.fake)
				if tt.spec.Timeout == 0 {
					tt.spec.Timeout = minute
				}
				tt.spec.IdleTimeout = 2 * minute
				looks := 0
				begin := time.Now()
				r := b.held(b.Context(), &tt.spec, func(ctx context.Context, in topology.Inside, r topology.Result) {
					looks++
					b.want(r, tt.want)
					time.Sleep(time.Hour) // virtual time
					if ctx.Err() != nil {
						b.Errorf("the hold was ended: %v", context.Cause(ctx))
					}
					if got := say(in, "", "looks"); got != "seen\n0" {
						b.Errorf("a command says %q", got)
					}
				})
				b.want(r, tt.want)
				if looks != 1 || r.Phases[topology.PhaseHeld].Round(time.Second) != time.Hour || r.Usage.Wall > time.Since(begin)-time.Hour {
					b.Errorf("held %d times for %s, and the job took %s", looks, r.Phases[topology.PhaseHeld], r.Usage.Wall)
				}
			})
		})
	}
}

// addInside adds what a container in place of the job's runs, and a command that looks round.
func addInside(fake *topologytest.Fake) {
	stand := topology.StandIn(topology.ContainerSpec{}, "/bin/sh").Command
	fake.AddProgram(stand[len(stand)-1], func(p *topologytest.FakeProcess) int { <-p.Killed; return 137 })
	fake.AddProgram("looks", func(p *topologytest.FakeProcess) int {
		_, _ = fmt.Fprintf(p.Stdout, "%s 42\nseen\n", p.Argv[3]) // the shell in front tells its number
		return 0
	})
}

// What succeeded, or was the machine's fault, is not held.
func TestNothingToHold(t *testing.T) {
	disk := topology.Resources{Disk: 1 << 30}
	for name, spec := range map[string]topology.Spec{
		"succeeded": {Command: command("ok")},
		"disk full": {Command: command("stubborn"), Resources: disk},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *bench) {
				b.fake.SetDisk("-job", 2<<30)
				b.held(b.Context(), &spec, func(_ context.Context, _ topology.Inside, r topology.Result) { b.Errorf("held: %+v", r) })
			})
		})
	}
	t.Run("no container", func(t *testing.T) {
		inBubble(t, func(b *bench) {
			spec := topology.Spec{Command: command("ok"), Services: map[string]topology.Service{
				"a": {Image: topologytest.FakeImage, DependsOn: map[string]topology.Dependency{"a": {}}},
			}}
			b.held(b.Context(), &spec, func(_ context.Context, _ topology.Inside, r topology.Result) { b.Errorf("held: %+v", r) })
		})
	})
}

// A hold ends with the lease, and with a disk that is filled from inside; the result stays.
func TestHoldIsEnded(t *testing.T) {
	for name, end := range map[string]func(*bench, context.CancelCauseFunc){
		"the lease was lost":     func(_ *bench, stop context.CancelCauseFunc) { stop(topology.ErrStale) },
		"the job was canceled":   func(_ *bench, stop context.CancelCauseFunc) { stop(topology.ErrCanceled) },
		"over its limit of 1GiB": func(b *bench, _ context.CancelCauseFunc) { b.fake.SetDisk("-job", 2<<30) },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *bench) {
				ctx, stop := context.WithCancelCause(b.Context())
				spec := &topology.Spec{Steps: []topology.Step{{Name: "a", Run: "fail"}}, Resources: topology.Resources{Disk: 1 << 30}}
				r := b.held(ctx, spec, func(ctx context.Context, _ topology.Inside, _ topology.Result) {
					end(b, stop)
					select {
					case <-ctx.Done():
					case <-time.After(time.Hour): // virtual time
					}
					if cause := context.Cause(ctx); cause == nil || !strings.Contains(cause.Error(), name) {
						b.Errorf("ended by %v", cause)
					}
				})
				b.want(r, "failed script")
			})
		})
	}
}

// TestAdoptedIsHeld kills a runner while the job runs, and while it is held without a word of that having got out: whoever
// takes the attempt up holds it when it fails, with a stand-in of the same kind.
func TestAdoptedIsHeld(t *testing.T) {
	t.Parallel()
	for name, spec := range map[string]topology.Spec{
		"command": {Command: command("fails late")},
		"steps":   {Steps: []topology.Step{{Name: "a", Run: "fails late"}}},
	} {
		for _, killed := range []time.Duration{time.Second, 3 * time.Second} {
			t.Run(fmt.Sprint(name, " ", killed), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { testAdoptedIsHeld(t, spec, killed) })
			})
		}
	}
}

func testAdoptedIsHeld(t *testing.T, spec topology.Spec, killed time.Duration) {
	fake := topologytest.NewFake()
	fake.AddProgram("fails late", talker(2, 9))
	addInside(fake)
	spec.Image = topologytest.FakeImage
	k := newKeeper()
	work := topology.Work{Identity: id, Spec: &spec, Save: k.save, Hold: func(ctx context.Context, _ topology.Result) { <-ctx.Done() }}

	gate := &mortal{Engine: fake}
	first := New(gate, Options{ReadyNetworks: -1})
	perish(t, first, gate, k, work, killed)

	heir := newKeeper()
	heir.left, heir.log = k.left, k.log
	var in topology.Inside
	held := errors.New("not held")
	work.Save, work.Enter = heir.save, func(i topology.Inside) { in = i }
	work.Hold = func(context.Context, topology.Result) {
		held = nil
		if got := say(in, "", "looks"); got != "seen\n0" {
			t.Errorf("a command says %q", got)
		}
	}
	second := New(fake, Options{ReadyNetworks: -1})
	r := second.Adopt(t.Context(), work, k.left, heir.observer())
	if held != nil || r.Status != topology.Failed || r.ExitCode == nil || *r.ExitCode != 9 {
		t.Errorf("%v, %+v", held, r)
	}
	if err := second.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if seen, _ := fake.Observe(t.Context(), topology.Filter{}); seen.Count().Total() != 0 {
		t.Errorf("left behind: %+v", seen)
	}
}
