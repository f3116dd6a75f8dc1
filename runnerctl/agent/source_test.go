package agent_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/runnerctl/agent"
	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/topologytest"
)

const (
	filesSpec   = `{"image":"example/app","timeout":"10m","source":{"files":{"a":{"content":"x"}}}}`
	archiveSpec = `{"image":"example/app","source":{"archive":"sha256:0000000000000000000000000000000000000000000000000000000000000000"}}`
)

// sources is an agent.Sources of a function.
type sources func(ctx context.Context, ticket, dir string, say func(string)) (string, *topology.Failure)

func (f sources) Fetch(ctx context.Context, _ *topology.Source, ticket, dir string, _ func(string) bool, say func(string)) (string, *topology.Failure) {
	return f(ctx, ticket, dir, say)
}

// noTreeLeft fails the test if a source is still on the machine.
func noTreeLeft(t *testing.T, spool string) {
	t.Helper()
	if left, err := filepath.Glob(filepath.Join(spool, "attempts", "*", "source")); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestJobGetsItsSource(t *testing.T) {
	spool := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		h := newHub()
		h.Lease = func(l *mcp.Lease) { // the hub has the last word on the time
			l.Source, l.TimeoutMS = &mcp.LeaseSource{URL: "https://hub.example/ticket"}, (10 * time.Minute).Milliseconds()
		}
		get := sources(func(_ context.Context, ticket, dir string, say func(string)) (string, *topology.Failure) {
			if ticket != "https://hub.example/ticket" {
				t.Errorf("ticket %q", ticket)
			}
			say("fetching")
			time.Sleep(4 * time.Minute) // virtual time
			tree := filepath.Join(dir, "tree")
			if err := os.MkdirAll(filepath.Join(tree, "sub"), 0o755); err != nil {
				t.Error(err)
			}
			return tree, nil
		})
		exec := topologytest.NewExecutor(func(ctx context.Context, work topology.Work, obs topology.Observer) topology.Result {
			if info, err := os.Stat(filepath.Join(work.Source, "sub")); err != nil || !info.IsDir() {
				t.Errorf("the source is not there: %v", err)
			}
			if got := time.Duration(work.Spec.Timeout); got != 6*time.Minute { // what the source took is the job's time
				t.Errorf("%s are left", got)
			}
			return topologytest.Exit(0)(ctx, work, obs)
		})
		r := start(t, agent.Config{Client: h, Executor: exec, Sources: get, SpoolDir: spool})
		defer r.kill()
		h.Submit("job_1", filesSpec)
		if j := settled(t, h, "job_1"); len(j.Results) != 1 || j.Results[0].Status != "succeeded" {
			t.Errorf("results %+v", j.Results)
		}
		if !strings.Contains(h.Job("job_1").Logs[1].String(), "fetching") {
			t.Error("the log does not tell of the source")
		}
	})
	noTreeLeft(t, spool)
}

func TestJobsWhoseSourceIsNotThere(t *testing.T) {
	tests := map[string]struct {
		get                        agent.Sources
		spec, status, class, words string
	}{
		"a failure": {
			get: sources(func(context.Context, string, string, func(string)) (string, *topology.Failure) {
				return "", &topology.Failure{Class: topology.ClassSource, Message: "No such commit.", Hint: "Push it."}
			}), spec: filesSpec, status: "failed", class: "source", words: "No such commit.",
		},
		"no fetcher": {spec: archiveSpec, status: "failed", class: "source", words: "gets no sources"},
		"a panic": {
			get:  sources(func(context.Context, string, string, func(string)) (string, *topology.Failure) { panic("boom") }),
			spec: filesSpec, status: "failed", class: "internal", words: "boom",
		},
		"too slow": {get: slowly(nil), spec: filesSpec, status: "timed_out", class: "timeout", words: "while its source was fetched"},
		"a cancel": {
			get: slowly(func(h *fakeHub) { h.do(func() { h.jobs["job_1"].Cancel = "not needed" }) }), spec: filesSpec,
			status: "canceled", class: "canceled", words: "not needed",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			spool := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				h := newHub()
				exec := &topologytest.Executor{}
				get := tt.get
				if s, ok := get.(slow); ok {
					s.h = h
					get = s
				}
				r := start(t, agent.Config{Client: h, Executor: exec, Sources: get, SpoolDir: spool})
				defer r.kill()
				h.Submit("job_1", tt.spec)
				j := settled(t, h, "job_1")
				if len(j.Results) != 1 || j.Results[0].Status != tt.status || j.Results[0].Failure.Class != tt.class ||
					!strings.Contains(j.Results[0].Failure.Message, tt.words) {
					t.Errorf("results %+v", j.Results)
				}
				if len(exec.Runs()) != 0 {
					t.Error("the job ran all the same")
				}
			})
			noTreeLeft(t, spool)
		})
	}
}

// slow is a source that never comes.
type slow struct {
	h    *fakeHub
	then func(*fakeHub)
}

func slowly(then func(*fakeHub)) slow { return slow{then: then} }

func (s slow) Fetch(ctx context.Context, _ *topology.Source, _, _ string, _ func(string) bool, _ func(string)) (string, *topology.Failure) {
	if s.then != nil {
		s.then(s.h)
	}
	<-ctx.Done()
	return "", &topology.Failure{Class: topology.ClassSource, Message: "The source was cut short."}
}
