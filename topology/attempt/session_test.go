package attempt

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/topologytest"
)

const (
	idleTime = 10 * time.Minute
	hardEnd  = time.Hour
)

// sitting is a session as its callers see it.
type sitting struct {
	*bench
	letGo chan struct{}
	used  func(busy bool, until time.Time)

	mu sync.Mutex
	in topology.Inside
}

func session(steps ...topology.Step) *topology.Spec {
	return &topology.Spec{
		Kind: topology.JobSession, Image: topologytest.FakeImage, Exec: true, Steps: steps,
		IdleTimeout: topology.Duration(idleTime), Timeout: topology.Duration(hardEnd),
	}
}

func newSitting(b *bench) *sitting {
	b.fake.AddProgram("works", func(p *topologytest.FakeProcess) int { // for as long as it is given
		_, _ = fmt.Fprintf(p.Stdout, "%s 42\n", p.Argv[3])
		d, _ := time.ParseDuration(string(p.Given))
		select {
		case <-time.After(d):
			return 0
		case <-p.Signals:
			return 143
		case <-p.Killed:
			return 137
		}
	})
	return &sitting{bench: b, letGo: make(chan struct{})}
}

// sit runs a session and says how it ended and how long after its begin.
func (s *sitting) sit(ctx context.Context, spec *topology.Spec) (topology.Result, time.Duration) {
	begin := time.Now()
	r := s.exec.Run(ctx, topology.Work{
		Identity: id, Spec: spec, LetGo: s.letGo, Used: s.used,
		Enter: func(in topology.Inside) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.in = in
		},
	}, s.obs)
	return r, time.Since(begin)
}

// works has a command run for so long, after a while.
func (s *sitting) works(after, d time.Duration) {
	time.AfterFunc(after, func() {
		s.mu.Lock()
		in := s.in
		s.mu.Unlock()
		_, _ = in.Exec(context.Background(), "", topology.ExecSpec{Argv: []string{"works"}, Stdin: []byte(d.String())}, nil)
	})
}

func TestASessionEnds(t *testing.T) {
	for name, tt := range map[string]struct {
		steps []topology.Step
		use   func(*sitting)
		cause error // ends the attempt after half an hour
		want  string
		note  string
		after time.Duration
	}{
		"nobody came":            {want: "succeeded", note: "Nobody has used it for 10m0s.", after: idleTime},
		"set up":                 {steps: []topology.Step{{Name: "a", Run: "ok"}}, want: "succeeded", note: "Nobody", after: idleTime},
		"set-up fails":           {steps: []topology.Step{{Name: "a", Run: "fail"}}, want: "failed script"},
		"a command":              {use: func(s *sitting) { s.works(5*time.Minute, 0) }, want: "succeeded", note: "Nobody", after: 15 * time.Minute},
		"a long command":         {use: func(s *sitting) { s.works(5*time.Minute, 20*time.Minute) }, want: "succeeded", note: "Nobody", after: 35 * time.Minute},
		"two at once":            {use: func(s *sitting) { s.works(5*time.Minute, 20*time.Minute); s.works(8*time.Minute, time.Minute) }, want: "succeeded", note: "Nobody", after: 35 * time.Minute},
		"let go":                 {use: func(s *sitting) { time.AfterFunc(3*time.Minute, func() { close(s.letGo) }) }, want: "succeeded", note: "Somebody has ended it.", after: 3 * time.Minute},
		"its hard end":           {use: func(s *sitting) { s.works(9*time.Minute, 2*time.Hour) }, want: "timed_out timeout", after: hardEnd},
		"canceled":               {use: func(s *sitting) { s.works(0, time.Hour) }, cause: topology.ErrCanceled, want: "canceled canceled", after: 30 * time.Minute},
		"the lease is lost":      {use: func(s *sitting) { s.works(0, time.Hour) }, cause: topology.ErrStale, want: "canceled canceled", after: 30 * time.Minute},
		"the runner is stopped":  {use: func(s *sitting) { s.works(0, time.Hour) }, cause: topology.ErrDraining, want: "failed runner_lost", after: 30 * time.Minute},
		"its container is ended": {use: func(s *sitting) { time.AfterFunc(time.Minute, s.killJob) }, want: "failed script SIGKILL", after: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *bench) {
				s := newSitting(b)
				ctx := b.Context()
				if tt.cause != nil {
					ctx = b.endAfter(30*time.Minute, tt.cause)
				}
				if tt.use != nil {
					time.AfterFunc(time.Millisecond, func() { tt.use(s) })
				}
				r, took := s.sit(ctx, session(tt.steps...))
				b.want(r, tt.want)
				if took.Round(time.Second) != tt.after || !strings.HasPrefix(r.Note, tt.note) || (r.Note == "") != (tt.note == "") || len(r.Steps) != len(tt.steps) {
					b.Errorf("after %s, %q, steps %+v", took, r.Note, r.Steps)
				}
				if _, err := s.in.Exec(b.Context(), "", topology.ExecSpec{Argv: []string{"works"}}, nil); err == nil {
					b.Error("a command runs after the end")
				}
			})
		})
	}
}

// killJob ends the job container as the kernel may.
func (s *sitting) killJob() {
	seen, err := s.fake.Observe(s.Context(), id.Filter())
	if err != nil || len(seen.Containers) != 1 {
		s.Errorf("%+v, %v", seen, err)
		return
	}
	if err := s.fake.Signal(s.Context(), seen.Containers[0].Name, "SIGKILL"); err != nil {
		s.Error(err)
	}
}

// What runs when a session is let go of is ended, and nothing runs while its files are collected.
func TestNothingRunsOnInASessionThatIsLetGoOf(t *testing.T) {
	inBubble(t, func(b *bench) {
		s := newSitting(b)
		s.works(time.Minute, 50*time.Minute)
		time.AfterFunc(2*time.Minute, func() { close(s.letGo) })
		r, took := s.sit(b.Context(), session())
		b.want(r, "succeeded")
		if took > 2*time.Minute+killPatience+time.Second {
			b.Errorf("after %s", took)
		}
	})
}

// Whoever wants to know hears until when a session waits, and of each use.
func TestASessionTellsHowItIsUsed(t *testing.T) {
	inBubble(t, func(b *bench) {
		s, begin := newSitting(b), time.Now()
		var told []string
		s.used = func(busy bool, until time.Time) {
			told = append(told, fmt.Sprint(busy, " ", until.Sub(begin).Round(time.Minute)))
		}
		s.works(4*time.Minute, 2*time.Minute)
		s.sit(b.Context(), session())
		if got := strings.Join(told, ", "); got != "false 10m0s, true 10m0s, false 16m0s" {
			b.Errorf("told %s", got)
		}
	})
}

// Whenever callers come, a session ends the idle time after the last of them has gone, and at its hard end at the latest.
func TestTheClocksOfASession(t *testing.T) {
	inBubble(t, func(b *bench) {
		s := newSitting(b)
		rapid.Check(t, func(r *rapid.T) {
			end := idleTime // of the idle time that runs
			at := time.Duration(0)
			for range rapid.IntRange(0, 8).Draw(r, "uses") {
				at += time.Duration(rapid.IntRange(1, 700).Draw(r, "pause")) * time.Second
				d := time.Duration(rapid.IntRange(0, 1500).Draw(r, "length")) * time.Second
				if at >= end || at >= hardEnd {
					break // it has ended by then
				}
				end = max(end, at+d+idleTime)
				s.works(at+time.Millisecond, d)
			}
			got, took := s.sit(b.Context(), session())
			want, status := end, topology.Succeeded
			if end > hardEnd {
				want, status = hardEnd, topology.TimedOut
			}
			if got.Status != status || (took-want).Abs() > time.Second {
				r.Fatalf("%s after %s, want %s after %s", got.Status, took, status, want)
			}
		})
	})
}

// A runner is killed while a session is set up, and while it is open. Whoever takes it up keeps it open; the idle time begins anew.
func TestASessionIsTakenUp(t *testing.T) {
	t.Parallel()
	for _, killed := range []time.Duration{time.Second, 5 * time.Minute} {
		t.Run(killed.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				fake := topologytest.NewFake()
				fake.AddProgram("sets up", talker(2, 0))
				addInside(fake)
				k := newKeeper()
				work := topology.Work{Identity: id, Spec: session(topology.Step{Name: "a", Run: "sets up"}), Save: k.save}
				gate := &mortal{Engine: fake}
				perish(t, New(gate, Options{ReadyNetworks: -1}), gate, k, work, killed)

				heir := newKeeper()
				heir.left, heir.log = k.left, k.log
				var in topology.Inside
				work.Save, work.Enter = heir.save, func(i topology.Inside) { in = i }
				time.AfterFunc(4*time.Minute, func() {
					if got := say(in, "", "looks"); got != "seen\n0" {
						t.Errorf("a command says %q", got)
					}
				})
				second, begin := New(fake, Options{ReadyNetworks: -1}), time.Now()
				r := second.Adopt(t.Context(), work, k.left, heir.observer())
				if took := time.Since(begin).Round(time.Minute); r.Status != topology.Succeeded || took != 4*time.Minute+idleTime || len(r.Steps) != 1 {
					t.Errorf("after %s: %+v", took, r)
				}
				if err := second.Close(t.Context()); err != nil {
					t.Error(err)
				}
				if seen, _ := fake.Observe(t.Context(), topology.Filter{}); seen.Count().Total() != 0 {
					t.Errorf("left behind: %+v", seen)
				}
			})
		})
	}
}
