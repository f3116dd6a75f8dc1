package attempt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/topologytest"
)

// keeper is what a runner keeps of an attempt on its disk, up to its death.
type keeper struct {
	mu   sync.Mutex
	left topology.Resume
	log  map[string]*bytes.Buffer
	dead bool
}

func newKeeper() *keeper {
	return &keeper{left: topology.Resume{Offsets: map[string]topology.Offsets{}}, log: map[string]*bytes.Buffer{}}
}

func (k *keeper) save(data []byte) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.dead {
		k.left.Checkpoint = data
	}
	return nil
}

func (k *keeper) keep(r topology.Record) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.dead {
		return nil
	}
	key := r.Service
	if r.Stream == topology.System {
		key = "system"
	}
	if k.log[key] == nil {
		k.log[key] = &bytes.Buffer{}
	}
	k.log[key].Write(r.Data)
	if at := k.left.Offsets[r.Service]; r.Offset > 0 {
		*at.Of(r.Stream) = topology.Offset{Bytes: r.Offset}
		k.left.Offsets[r.Service] = at
	}
	return nil
}

func (k *keeper) observer() *topologytest.Observer { return &topologytest.Observer{OnLog: k.keep} }

// die ends what is kept at this moment, as a kill does.
func (k *keeper) die() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.dead = true
}

func (k *keeper) text(key string) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.log[key] == nil {
		return ""
	}
	return k.log[key].String()
}

// TestAdopt kills a runner at times all over an attempt and has another one take it
// up: the result and the output are always the same.
func TestAdopt(t *testing.T) {
	t.Parallel()
	specs := map[string]*topology.Spec{
		"command": {Command: command("talks 4")},
		"steps": {Steps: []topology.Step{
			{Name: "a", Run: "talks 2"}, {Name: "b", Run: "fails late"}, {Name: "c", Run: "talks 1"}, {Name: "d", Run: "talks 3", Always: true},
		}},
	}
	for name, spec := range specs {
		for at := range 11 {
			killed := time.Duration(at)*time.Second + time.Duration(at%2)*500*time.Millisecond + time.Millisecond
			away := time.Duration(at%5) * 1300 * time.Millisecond
			t.Run(fmt.Sprintf("%s/%s", name, killed), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { testAdopt(t, spec, killed, away, fatal{}) })
			})
		}
	}
}

// TestAdoptAtEachCall kills a runner at the first thing that it asks of the engine,
// then at the second, and so on, before it is done and when its answer is lost.
func TestAdoptAtEachCall(t *testing.T) {
	t.Parallel()
	spec := &topology.Spec{Command: command("fails late")}
	for _, lost := range []bool{false, true} {
		call := 1
		for more := true; more && !t.Failed(); call++ {
			t.Run(fmt.Sprintf("call %d, answer lost %t", call, lost), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { more = testAdopt(t, spec, -1, 0, fatal{call, lost}) })
			})
		}
		if call < 10 {
			t.Errorf("only %d calls", call)
		}
	}
}

// fatal is the call that kills a process, counted from 1; 0 is none.
type fatal struct {
	call int
	lost bool // it is done, and nobody hears
}

// testAdopt kills a runner after a time, or at a call, and has another one take its
// attempt up. It is false when the call never came.
func testAdopt(t *testing.T, spec *topology.Spec, killed, away time.Duration, at fatal) bool {
	t.Helper()
	fake := topologytest.NewFake()
	for n := 1; n < 5; n++ {
		fake.AddProgram(fmt.Sprintf("talks %d", n), talker(n, 0))
	}
	fake.AddProgram("fails late", talker(2, 9))
	fake.AddProgram("hang", func(p *topologytest.FakeProcess) int {
		_, _ = fmt.Fprintln(p.Stdout, "service is up")
		<-p.Killed
		return 137
	})
	healthy := time.Now().Add(1200 * time.Millisecond)
	fake.AddProgram("healthy", func(*topologytest.FakeProcess) int {
		if time.Now().Before(healthy) {
			return 1
		}
		return 0
	})
	own := *spec
	own.Image, own.Services = topologytest.FakeImage, map[string]topology.Service{"db": {
		Image: topologytest.FakeImage, Command: command("hang"), Healthcheck: &topology.Healthcheck{Test: []string{"CMD", "healthy"}},
	}}
	k := newKeeper()
	work := topology.Work{Identity: id, Spec: &own, Save: k.save}

	gate := &mortal{Engine: fake, at: at}
	first := New(gate, Options{ReadyNetworks: -1})
	if at.call > 0 {
		killed = time.Minute
	}
	if !perish(t, first, gate, k, work, killed) {
		return false
	}
	time.Sleep(away) // virtual time

	heir := newKeeper()
	heir.left, heir.log = k.left, k.log
	work.Save = heir.save
	second := New(heirs{fake, gate}, Options{ReadyNetworks: -1})
	if killed >= 0 && killed < 3*time.Second { // the job goes on when the engine carries out what the first has asked for with its last word
		lastWord := topology.NetworkSpec{Name: "rh-last-word-net", Labels: id.Labels(topology.RoleNetwork)}
		defer time.AfterFunc(time.Millisecond, func() {
			if err := fake.CreateNetwork(t.Context(), lastWord); err != nil {
				t.Error(err)
			}
		}).Stop()
	}
	r := second.Adopt(t.Context(), work, k.left, heir.observer())
	want, text := "succeeded", "1 2 3 4 "
	switch {
	case len(spec.Steps) > 0:
		want, text = "failed script", "1 2 1 2 1 2 3 "
	case spec.Command[1] == "fails late":
		want, text = "failed script", "1 2 "
	}
	got := string(r.Status)
	if r.Failure != nil {
		got += " " + string(r.Failure.Class)
	}
	if got != want || strings.ReplaceAll(heir.text(""), "\n", " ") != text {
		t.Errorf("%s, want %s; output %q; %+v", got, want, heir.text(""), r)
	}
	if len(spec.Steps) > 0 {
		var steps []string
		for _, s := range r.Steps {
			steps = append(steps, fmt.Sprint(s.Name, " ", s.Status, " ", s.Duration.Round(time.Second)))
		}
		if got := strings.Join(steps, ", "); *r.ExitCode != 9 || !strings.HasPrefix(got, "a succeeded 2s, b failed 2s, c skipped 0s, d succeeded 3s") && away == 0 {
			t.Errorf("steps %s", got)
		}
	}
	if !strings.HasPrefix(heir.text("db"), "service is up\n") {
		t.Errorf("the service said %q", heir.text("db"))
	}
	if r.Images[topologytest.FakeImage] != "sha256:fake" {
		t.Errorf("images %v", r.Images)
	}
	if err := second.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if seen, _ := fake.Observe(t.Context(), topology.Filter{}); seen.Count().Total() != 0 {
		t.Errorf("left behind: %+v", seen)
	}
	return true
}

// perish runs work as a process that is killed, after a time of the bubble's or at the
// call that is fatal for gate: from then on nothing of it reaches the engine or the
// disk. It is false when a fatal call did not come in that time, and the work is over.
func perish(t *testing.T, e *Executor, gate *mortal, k *keeper, work topology.Work, after time.Duration) bool {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	gate.died = func() { k.die(); cancel(topology.ErrStale) }
	done := make(chan topology.Result, 1)
	go func() { done <- e.Run(ctx, work, k.observer()) }()
	time.Sleep(after) // virtual time
	if gate.at.call == 0 {
		gate.kill()
	}
	killed := ctx.Err() != nil
	<-done
	cancel(nil)
	if !killed {
		if err := e.Close(t.Context()); err != nil {
			t.Error(err)
		}
		return false
	}
	closing, stop := context.WithTimeout(t.Context(), time.Millisecond)
	defer stop()
	_ = e.Close(closing)
	return true
}

// talker says n lines, one a second, the last of them without an end, and exits with code.
func talker(n, code int) topologytest.Program {
	return func(p *topologytest.FakeProcess) int {
		for i := range n {
			select {
			case <-time.After(time.Second):
			case <-p.Killed:
				return 137
			}
			_, _ = fmt.Fprintf(p.Stdout, "%d", i+1)
			_, _ = fmt.Fprintln(p.Stdout)
		}
		return code
	}
}

// mortal is the engine of a process that is going to be killed: from then on its
// calls reach nobody.
type mortal struct {
	topology.Engine
	at    fatal
	died  func()
	mu    sync.Mutex
	dead  bool
	calls int

	killed sync.Map // containers that it signalled
}

func (m *mortal) kill() {
	m.mu.Lock()
	m.dead = true
	m.mu.Unlock()
	m.died()
}

// alive calls f, unless the process is dead.
func (m *mortal) alive(f func() error) error {
	gone := &topology.EngineError{Kind: topology.KindUnavailable, Op: "call", Err: context.Canceled}
	m.mu.Lock()
	m.calls++
	dead, last := m.dead, m.calls == m.at.call
	m.mu.Unlock()
	switch {
	case dead:
		return gone
	case !last:
		return f()
	}
	if m.at.lost {
		_ = f()
	}
	m.kill()
	return gone
}

func (m *mortal) CreateNetwork(ctx context.Context, s topology.NetworkSpec) error {
	return m.alive(func() error { return m.Engine.CreateNetwork(ctx, s) })
}

func (m *mortal) CreateVolume(ctx context.Context, s topology.VolumeSpec) error {
	return m.alive(func() error { return m.Engine.CreateVolume(ctx, s) })
}

func (m *mortal) CreateContainer(ctx context.Context, s topology.ContainerSpec) error {
	return m.alive(func() error { return m.Engine.CreateContainer(ctx, s) })
}

func (m *mortal) Start(ctx context.Context, name string, out topology.Output) (p topology.Process, err error) {
	err = m.alive(func() error { p, err = m.Engine.Start(ctx, name, out); return err })
	if err != nil {
		return nil, err
	}
	return mute{p, m}, nil
}

func (m *mortal) Signal(ctx context.Context, name, signal string) error {
	return m.alive(func() error { m.killed.Store(name, true); return m.Engine.Signal(ctx, name, signal) })
}

// heirs is the engine of the process that comes after a mortal one: it cannot know what
// that one has signalled.
type heirs struct {
	topology.Engine
	before *mortal
}

func (h heirs) Attach(ctx context.Context, name string, from topology.Offsets, out topology.Output) (topology.Process, error) {
	time.Sleep(time.Millisecond) // virtual time: an engine takes some
	p, err := h.Engine.Attach(ctx, name, from, out)
	if err != nil {
		return nil, err
	}
	return orphan{p, name, h.before}, nil
}

// orphan is a container that another process has started.
type orphan struct {
	topology.Process
	name   string
	before *mortal
}

func (o orphan) Wait(ctx context.Context) (topology.Exit, error) {
	exit, err := o.Process.Wait(ctx)
	_, exit.Outside = o.before.killed.Load(o.name)
	return exit, err
}

func (m *mortal) SignalAll(ctx context.Context, name, shell, signal string) error {
	return m.alive(func() error { return m.Engine.SignalAll(ctx, name, shell, signal) })
}

func (m *mortal) RemoveContainer(ctx context.Context, name string) error {
	return m.alive(func() error { return m.Engine.RemoveContainer(ctx, name) })
}

func (m *mortal) RemoveNetwork(ctx context.Context, name string) error {
	return m.alive(func() error { return m.Engine.RemoveNetwork(ctx, name) })
}

func (m *mortal) RemoveVolume(ctx context.Context, name string) error {
	return m.alive(func() error { return m.Engine.RemoveVolume(ctx, name) })
}

// mute is a process that a dead one cannot write to.
type mute struct {
	topology.Process
	m *mortal
}

func (p mute) Write(data []byte) (n int, err error) {
	err = p.m.alive(func() error { n, err = p.Process.Write(data); return err })
	return n, err
}

// A result that is known is told whatever the engine says, and an attempt of which
// nothing is known has all of its time.
func TestAdoptWhereTheEngineDoesNotAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fake := topologytest.NewFake()
		e := New(fake, Options{ReadyNetworks: -1})
		work := topology.Work{Identity: id, Spec: &topology.Spec{Image: topologytest.FakeImage, Command: command("talks 1"), Timeout: topology.Duration(time.Hour)}}
		away := &topology.EngineError{Kind: topology.KindUnavailable, Op: "look", Err: errors.New("it is being restarted")}
		fake.FailNext("Observe", away)
		left := topology.Resume{Checkpoint: []byte(`{"Result":{"Status":"succeeded"}}`)}
		if r := e.Adopt(t.Context(), work, left, newKeeper().observer()); r.Status != topology.Succeeded {
			t.Errorf("with a result: %+v", r)
		}
		fake.FailNext("Observe", away)
		r := e.Adopt(t.Context(), work, topology.Resume{}, newKeeper().observer())
		if r.Status != topology.Failed || r.Failure.Class != topology.ClassDockerUnavailable || r.Usage.Wall > time.Minute {
			t.Errorf("without one: %+v after %v", r.Failure, r.Usage.Wall)
		}
		if err := e.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
