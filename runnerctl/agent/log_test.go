package agent_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/runnerctl/agent"
	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/topologytest"
)

// writes is a job that writes data to its standard output in records of up to 32 KiB.
func writes(data []byte) topologytest.RunFunc {
	return func(ctx context.Context, work topology.Work, obs topology.Observer) topology.Result {
		for rest := data; len(rest) > 0; {
			n := min(len(rest), 32<<10)
			if err := obs.Log(topology.Record{Time: time.Now(), Stream: topology.Stdout, Data: rest[:n]}); err != nil {
				return topologytest.Ended(ctx)
			}
			rest = rest[n:]
		}
		return topologytest.Exit(0)(ctx, work, obs)
	}
}

func TestLogBytesSurvive(t *testing.T) {
	random := make([]byte, 3<<20)
	src := rand.NewChaCha8([32]byte{1})
	_, _ = src.Read(random)
	random[len(random)-1] = '\n'
	for name, data := range map[string][]byte{
		"10 MB line":     append(bytes.Repeat([]byte("0123456789"), 1<<20), '\n'),
		"no line feed":   []byte("no line feed at the end"),
		"any bytes":      random,
		"only newlines":  bytes.Repeat([]byte("\n"), 200_000),
		"returns, nulls": []byte("a\r\n\x00\x00\n\r\r\n\xff\xfe\n \n"),
		"nothing":        nil,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHub()
				// The way is bad too: chunks are lost, and so are answers.
				rnd := rand.New(rand.NewPCG(3, 4))
				h.Before = func(_ context.Context, tool string, _ any) error {
					if tool == "log" && rnd.IntN(4) == 0 {
						return unavailable("lost")
					}
					return nil
				}
				h.After = func(tool string, _ any) error {
					if tool == "log" && rnd.IntN(4) == 0 {
						return unavailable("lost")
					}
					return nil
				}
				r := start(t, agent.Config{Client: h, Executor: topologytest.NewExecutor(writes(data))})
				h.Submit("job_1", quickSpec)
				j := settled(t, h, "job_1")
				got := h.Log("job_1", 1)
				if !bytes.Equal(got, data) {
					t.Errorf("%d bytes written, %d in the log", len(data), len(got))
				}
				size := int64(0)
				if b := j.Logs[1]; b != nil {
					size = int64(b.Len())
				}
				if j.Results[0].LogBytes != size {
					t.Errorf("log_bytes %d, the log has %d", j.Results[0].LogBytes, size)
				}
				r.kill()
			})
		})
	}
}

func TestManyWritersKeepTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub()
		exec := topologytest.NewExecutor(func(ctx context.Context, work topology.Work, obs topology.Observer) topology.Result {
			done := make(chan struct{})
			for w := range 4 {
				go func() {
					for i := range 500 {
						_ = obs.Log(topology.Record{Time: time.Now(), Stream: topology.Stdout, Service: fmt.Sprint("svc", w), Data: fmt.Appendf(nil, "%d %d\n", w, i)})
					}
					done <- struct{}{}
				}()
			}
			for range 4 {
				<-done
			}
			return topologytest.Exit(0)(ctx, work, obs)
		})
		r := start(t, agent.Config{Client: h, Executor: exec})
		h.Submit("job_1", quickSpec)
		settled(t, h, "job_1")
		next := map[int]int{}
		for line := range bytes.Lines(h.Log("job_1", 1)) {
			var w, i int
			if _, err := fmt.Sscanf(string(line), "%d %d", &w, &i); err != nil || i != next[w] {
				t.Fatalf("line %q, want number %d", line, next[w])
			}
			next[w]++
		}
		if len(next) != 4 || next[0] != 500 {
			t.Errorf("lines %v", next)
		}
		r.kill()
	})
}

func TestLogArrivesWhileTheJobRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub()
		finish := make(chan int)
		r := start(t, agent.Config{Client: h, Executor: topologytest.NewExecutor(topologytest.Until(nil, finish, "early"))})
		h.Submit("job_1", quickSpec)
		await(t, h, "the lease", func() bool { return h.jobs["job_1"].Attempt == 1 })
		begin := time.Now()
		await(t, h, "the log", func() bool { return h.jobs["job_1"].Logs[1] != nil })
		if took := time.Since(begin); took > time.Second {
			t.Errorf("the line took %v", took)
		}
		finish <- 0
		settled(t, h, "job_1")
		r.kill()
	})
}

func TestGoesBackToWhereTheHubSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub()
		puts := 0
		h.Before = func(_ context.Context, tool string, _ any) error {
			if tool != "log" {
				return nil
			}
			if puts++; puts == 3 { // the hub was restored from a copy that is a little older
				h.do(func() {
					b := h.jobs["job_1"].Logs[1]
					b.Truncate(b.Len() / 2)
				})
			}
			return nil
		}
		data := bytes.Repeat([]byte("a line of the log\n"), 50_000)
		r := start(t, agent.Config{Client: h, Executor: topologytest.NewExecutor(writes(data))})
		h.Submit("job_1", quickSpec)
		settled(t, h, "job_1")
		if !bytes.Equal(h.Log("job_1", 1), data) {
			t.Error("bytes are missing")
		}
		r.kill()
	})
}

// slowLog makes the hub take its time over log bytes: until release is closed.
func slowLog(h *fakeHub, release <-chan struct{}) {
	h.Before = func(ctx context.Context, tool string, _ any) error {
		if tool != "log" {
			return nil
		}
		select {
		case <-release:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func TestSpoolLimitSlowsTheJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub()
		release := make(chan struct{})
		slowLog(h, release)
		data := bytes.Repeat([]byte("a line of the log\n"), 100_000)
		dir := t.TempDir()
		r := start(t, agent.Config{Client: h, SpoolDir: dir, SpoolLimit: 256 << 10, Executor: topologytest.NewExecutor(writes(data))})
		h.Submit("job_1", quickSpec)
		pass(5 * time.Minute)
		if n := len(h.Job("job_1").Results); n != 0 {
			t.Error("the job ended although its log had no room")
		}
		if size := spoolBytes(t, dir); size > 512<<10 {
			t.Errorf("%d bytes in the spool", size)
		}
		close(release)
		settled(t, h, "job_1")
		if !bytes.Equal(h.Log("job_1", 1), data) {
			t.Error("bytes are missing")
		}
		r.kill()
	})
}

// A hub that is away for an hour does not hold the job up, whose log keeps its
// beginning and its end.
func TestLongOutageCostsTheMiddleOfTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub()
		const limit = 4 << 20
		started, ended := make(chan struct{}), make(chan time.Time, 1)
		exec := topologytest.NewExecutor(func(ctx context.Context, work topology.Work, obs topology.Observer) topology.Result {
			<-started
			var data []byte
			for i := range 200_000 {
				data = fmt.Appendf(data, "line %d\n", i)
			}
			res := writes(data)(ctx, work, obs)
			ended <- time.Now()
			return res
		})
		dir := t.TempDir()
		r := start(t, agent.Config{Client: h, SpoolDir: dir, SpoolLimit: limit, Executor: exec})
		h.Submit("job_1", quickSpec)
		await(t, h, "the acknowledgement", func() bool { return h.jobs["job_1"].Acked })
		h.do(func() { h.down = true })
		begin := time.Now()
		close(started)
		if took := (<-ended).Sub(begin); took > time.Minute {
			t.Errorf("the job took %v", took)
		}
		if size := spoolBytes(t, dir); size > limit+chunkSlack {
			t.Errorf("%d bytes in the spool", size)
		}
		pass(time.Hour)
		h.do(func() { h.down = false })
		j := settled(t, h, "job_1")
		pass(time.Minute)
		log := string(h.Log("job_1", 1))
		if !strings.HasPrefix(log, "line 0\nline 1\n") || !strings.HasSuffix(log, "line 199998\nline 199999\n") {
			t.Errorf("the log begins with %.40q and ends with %q", log, log[max(0, len(log)-40):])
		}
		raw := h.Job("job_1").Logs[1].String()
		if n := len(raw); j.Results[0].LogBytes != int64(n) || n < limit*3/4 || n > limit+chunkSlack {
			t.Errorf("log_bytes %d, the hub has %d of %d that may be kept", j.Results[0].LogBytes, n, limit)
		}
		if n := strings.Count(raw, "bytes of the log are missing here"); n != 1 {
			t.Errorf("%d lines tell of what is missing", n)
		}
		wantEmptySpool(t, dir)
		r.kill()
	})
}

// chunkSlack is what a log may have more than the limit of what waits: what was sent before.
const chunkSlack = 512 << 10

func TestCancelEndsAJobThatWaitsForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub()
		slowLog(h, nil)
		r := start(t, agent.Config{Client: h, SpoolLimit: 64 << 10, Executor: topologytest.NewExecutor(writes(make([]byte, 1<<20)))})
		h.Submit("job_1", quickSpec)
		pass(time.Minute)
		h.do(func() { h.jobs["job_1"].Cancel = "enough" })
		begin := time.Now()
		if j := settled(t, h, "job_1"); j.Results[0].Status != "canceled" || time.Since(begin) > time.Minute {
			t.Errorf("result %+v after %v", j.Results[0], time.Since(begin))
		}
		r.kill()
	})
}

func TestRefusedLogDoesNotHoldTheJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub()
		h.Before = func(_ context.Context, tool string, _ any) error {
			if tool == "log" {
				return &mcp.Error{Code: mcp.CodeNotFound, Message: "no such log"}
			}
			return nil
		}
		dir := t.TempDir()
		r := start(t, agent.Config{Client: h, SpoolDir: dir, SpoolLimit: 64 << 10, Executor: topologytest.NewExecutor(writes(make([]byte, 1<<20)))})
		h.Submit("job_1", quickSpec)
		if j := settled(t, h, "job_1"); j.Results[0].Status != "succeeded" {
			t.Errorf("result %+v", j.Results[0])
		}
		synctest.Wait()
		wantEmptySpool(t, dir)
		r.kill()
	})
}
