package bench

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/riverqueue/river"

	"github.com/runnerhub/runnerhub/bench/hubproc"
	"github.com/runnerhub/runnerhub/bench/load"
	"github.com/runnerhub/runnerhub/bench/report"
)

// idle is the pause before each sample. It varies, so that no timer of anybody's falls into step with it.
func idle(i int) { pause(context.Background(), time.Duration(5+i*7%11)*time.Millisecond) }

func BenchmarkIdleHandOff(b *testing.B) {
	h := hubproc.Start(b, hubproc.Postgres, newDatabase(b), nil)
	waits := newWaiting(b, h, h.Pair(1))
	began := make(chan time.Time, 1)
	c := startRiver(b, &river.Config{Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 100}}},
		&riverWorker{began: func(riverArgs) { began <- time.Now() }})

	var ours, theirs []float64
	for round := range 5 {
		got, err := waits.samples(80)
		must(b, err)
		if round == 0 {
			got = got[10:] // statements are prepared
		}
		ours = append(ours, got...)
		for i := range 12 {
			idle(i)
			start := time.Now()
			_, err := c.Insert(b.Context(), riverArgs{}, nil)
			must(b, err)
			theirs = append(theirs, (<-began).Sub(start).Seconds()*1000)
		}
	}
	mid, tail, times := median(ours), quantile(ours, 0.99), median(theirs)/median(ours)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(mid, "ms-median")
	b.ReportMetric(tail, "ms-p99")
	b.ReportMetric(times, "x-River")
	measured.Add(report.Row{
		Place: 6, What: "idle enqueue → lease held by a waiting runner, over MCP; against River's defaults",
		Measured: fmt.Sprintf("median %.1f ms, p99 %.1f ms, %.0f times faster", mid, tail, times),
		Goal:     "median at most 2 ms, p99 at most 6 ms, 30 times faster",
		Met:      mid <= 2 && tail <= 6 && times >= 30,
	})
}

// waiting is runners that hold a call each.
type waiting struct {
	hub    *hubproc.Hub
	leased chan time.Time // when a runner had a lease in its hands; its job is settled by then
	failed chan error
}

// newWaiting has the runners of some tokens wait until the benchmark ends.
func newWaiting(b *testing.B, h *hubproc.Hub, tokens []string) *waiting {
	b.Helper()
	w := &waiting{hub: h, leased: make(chan time.Time, 1), failed: make(chan error, len(tokens))}
	for i, token := range tokens {
		r := load.NewRunner(h.Addr, token, fmt.Sprintf("w%d", i))
		b.Cleanup(func() { _ = r.Close() })
		go func() { w.failed <- w.wait(r) }()
	}
	return w
}

func (w *waiting) wait(r *load.Runner) error {
	for {
		l, err := r.Lease()
		at := time.Now()
		if err != nil {
			return err
		}
		if l == nil {
			continue
		}
		if _, err := r.Settle(l); err != nil {
			return err
		}
		w.leased <- at
	}
}

// samples submits jobs one after another and returns how many milliseconds each took to reach a runner.
func (w *waiting) samples(n int) ([]float64, error) {
	producer := load.NewProducer(w.hub.Addr, w.hub.Key, spec())
	defer producer.Close()
	out := make([]float64, 0, n)
	for i := range n {
		idle(i)
		start := time.Now()
		if err := producer.Submit(); err != nil {
			return nil, err
		}
		select {
		case at := <-w.leased:
			out = append(out, at.Sub(start).Seconds()*1000)
		case err := <-w.failed:
			return nil, err
		case <-time.After(30 * time.Second):
			return nil, fmt.Errorf("sample %d: no runner got the job", i)
		}
	}
	return out, nil
}
