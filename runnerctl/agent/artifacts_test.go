package agent_test

import (
	"context"
	"crypto/sha256"
	"maps"
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

// leaving is a job that leaves files, and ends as run does.
func leaving(t *testing.T, run topologytest.RunFunc, files ...string) topologytest.RunFunc {
	return func(ctx context.Context, work topology.Work, obs topology.Observer) topology.Result {
		r := run(ctx, work, obs)
		for _, name := range files {
			at := filepath.Join(work.Collect.Dir, name)
			if err := os.MkdirAll(work.Collect.Dir, 0o700); err != nil {
				t.Error(err)
			}
			if err := os.WriteFile(at, []byte("of "+name), 0o600); err != nil {
				t.Error(err)
			}
			sum := sha256.Sum256([]byte("of " + name))
			r.Artifacts = append(r.Artifacts, topology.CollectedFile{
				Name: "out", Path: "out/" + name, Size: int64(len("of " + name)), SHA256: sum[:], File: at,
			})
		}
		r.Outputs, r.Tests = map[string]string{"A": "1"}, &topology.Tests{Passed: 3, Failed: 1, Failing: []string{"TestBad"}}
		return r
	}
}

// nothingLeft wants no file of a job's on the runner's disk.
func nothingLeft(t *testing.T, spool string) {
	t.Helper()
	if left, err := filepath.Glob(filepath.Join(spool, "attempts", "*")); err != nil || len(left) > 0 {
		t.Errorf("in the spool is %v, error %v", left, err)
	}
}

func TestArtifactsReachTheHubBeforeTheResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub()
		failed := 0
		h.Before = func(_ context.Context, tool string, _ any) error {
			if (tool == "upload" || tool == mcp.ToolUploadArtifact) && failed < 4 {
				failed++
				return &mcp.Error{Code: mcp.CodeUnavailable, Message: "the hub is being restarted", Retryable: true}
			}
			if tool == mcp.ToolSubmitJobResult && len(h.Job("job_1").Files) != 2 {
				t.Error("the result comes before the artifacts")
			}
			return nil
		}
		spool := t.TempDir()
		r := start(t, agent.Config{Client: h, SpoolDir: spool, Executor: topologytest.NewExecutor(leaving(t, topologytest.Exit(0), "a", "b"))})
		h.Submit("job_1", quickSpec)
		j := settled(t, h, "job_1")
		if want := map[string]string{"out/a": "of a", "out/b": "of b"}; !maps.Equal(j.Files, want) {
			t.Errorf("the hub has %v", j.Files)
		}
		got := j.Results[0]
		if got.Status != "succeeded" || len(got.Artifacts) != 2 || got.Artifacts[1].Path != "out/b" || len(got.Artifacts[1].SHA256) != 64 ||
			got.Outputs["A"] != "1" || got.Tests == nil || got.Tests.Passed != 3 || got.Tests.Failing[0] != "TestBad" {
			t.Errorf("the result is %+v", got)
		}
		r.Drain()
		if err := r.end(); err != nil {
			t.Error(err)
		}
		nothingLeft(t, spool)
	})
}

func TestAnArtifactThatTheHubRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		run         topologytest.RunFunc
		class, word string
	}{
		"of a job that succeeded": {topologytest.Exit(0), "artifact", "The job succeeded, but"},
		"of a job that failed":    {topologytest.Exit(3), "script", "exited with code 3"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHub()
				h.Before = func(_ context.Context, tool string, args any) error {
					if a, ok := args.(mcp.UploadArtifactArgs); ok && tool == mcp.ToolUploadArtifact && a.Path == "out/b" {
						return &mcp.Error{Code: mcp.CodeQuotaExceeded, Message: "too many bytes"}
					}
					return nil
				}
				r := start(t, agent.Config{Client: h, Executor: topologytest.NewExecutor(leaving(t, tt.run, "a", "b", "c"))})
				h.Submit("job_1", quickSpec)
				j := settled(t, h, "job_1")
				got := j.Results[0]
				if got.Status != "failed" || got.Failure.Class != tt.class || !strings.Contains(got.Failure.Message, tt.word) || len(got.Artifacts) != 1 {
					t.Errorf("the result is %+v, %+v", got, got.Failure)
				}
				if log := j.Logs[1].String(); !strings.Contains(log, "does not take the artifact out/b: too many bytes") {
					t.Errorf("the log is %q", log)
				}
				r.Drain()
				_ = r.end()
			})
		})
	}
}

// An attempt whose lease is lost while it sends reports nothing and leaves nothing.
func TestTheLeaseIsLostWhileArtifactsAreSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub()
		h.Before = func(_ context.Context, tool string, _ any) error {
			if tool == mcp.ToolUploadArtifact {
				return &mcp.Error{Code: mcp.CodeStaleLease, Message: "the lease is not the job's current one"}
			}
			return nil
		}
		spool := t.TempDir()
		r := start(t, agent.Config{Client: h, SpoolDir: spool, Once: true, Executor: topologytest.NewExecutor(leaving(t, topologytest.Exit(0), "a"))})
		h.Submit("job_1", quickSpec)
		time.Sleep(time.Minute) // virtual time
		synctest.Wait()
		if err := r.end(); err != nil {
			t.Error(err)
		}
		if j := h.Job("job_1"); len(j.Results)+len(j.Fails) != 0 {
			t.Errorf("reported: %+v %+v", j.Results, j.Fails)
		}
		nothingLeft(t, spool)
	})
}
