package dispatch_test

import (
	"slices"
	"testing"
	"time"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/storetest"
)

// goal is the median within which a held lease is to receive a job.
const goal = 20 * time.Millisecond

// onBothStores runs a benchmark on each kind of store.
func onBothStores(b *testing.B, f func(bench)) {
	b.Helper()
	b.Run("sqlite", func(b *testing.B) {
		s := openSQLite(b)
		f(bench{backend{b, func() hub.Store { return s }}, b})
	})
	b.Run("postgres", func(b *testing.B) {
		u := newDatabase(b)
		f(bench{backend{b, func() hub.Store { return openPostgres(b, u) }}, b})
	})
}

// bench is a backend of a benchmark.
type bench struct {
	backend
	b *testing.B
}

func median(ds []time.Duration) time.Duration {
	slices.Sort(ds)
	return ds[len(ds)/2]
}

// BenchmarkHandOff measures from a submit's start to the lease in the hands of a
// runner that waits, against the goal (1 is just met) and against the bare writes of the two transitions.
func BenchmarkHandOff(b *testing.B) {
	onBothStores(b, func(b bench) {
		w := newWorld(b.backend, withPolicy(func(p *hub.Policy) { p.MaxRunning = 0 }))
		w.run(w.s)
		m := w.machine(self(w.ann))
		var handed, bare []time.Duration
		for range max(b.b.N, 100) {
			c := w.call(m)
			start := time.Now()
			w.submit()
			got, err := get(w, c.ch)
			w.must(err)
			handed = append(handed, time.Since(start))
			m.begin(got.Lease)
			m.settle(success(got.Lease))

			start = time.Now()
			p := w.bareJob()
			w.bareLease(p, m.p.Runner)
			bare = append(bare, time.Since(start))
		}
		took := median(handed)
		b.b.ReportMetric(float64(took)/float64(goal), "of-goal")
		b.b.ReportMetric(float64(took)/float64(median(bare)), "x-bare-writes")
		b.b.ReportMetric(0, "ns/op")
	})
}

// BenchmarkJob measures a whole job through the use cases against its bare writes.
func BenchmarkJob(b *testing.B) {
	onBothStores(b, func(b bench) {
		w := newWorld(b.backend, withPolicy(func(p *hub.Policy) { p.MaxRunning = 0 }))
		m := w.machine(self(w.ann))
		var ours, bare []time.Duration
		for range max(b.b.N, 100) {
			start := time.Now()
			w.submit()
			l := m.take()
			m.begin(l)
			m.settle(success(l))
			ours = append(ours, time.Since(start))

			start = time.Now()
			p := w.bareJob()
			d, proof := w.bareLease(p, m.p.Runner)
			now := w.clock.now()
			d, err := hub.Heartbeat(d.Job, p.Payload, proof, "running", "test", "", now, w.policy)
			w.must(err)
			w.bareApply(d)
			d, err = hub.Settle(d.Job, p.Payload, proof, hub.Report{State: hub.JobSucceeded, Digest: []byte("d"), Result: []byte(`{}`)}, now)
			w.must(err)
			w.bareApply(d)
			bare = append(bare, time.Since(start))
		}
		b.b.ReportMetric(float64(median(ours))/float64(median(bare)), "x-bare-writes")
		b.b.ReportMetric(0, "ns/op")
	})
}

func (w *world) bareJob() hub.EnqueueParams {
	p := storetest.NewJob("user:usr_bare", "")
	p.Payload.Requires = []string{"docker"}
	_, _, err := w.store.Enqueue(w.ctx, p)
	w.must(err)
	return p
}

func (w *world) bareLease(p hub.EnqueueParams, r hub.Runner) (hub.Decision, hub.Proof) {
	r.Owner, r.Presence = p.Job.Owner, presence()
	nonce := p.Job.ID
	d, err := hub.Lease(p.Job, p.Payload, hub.LeaseGrant{
		Runner: r, RequestID: "r", Digest: hub.Digest(nonce), LogDigest: hub.Digest("log" + nonce),
	}, w.clock.now(), w.policy)
	w.must(err)
	w.bareApply(d)
	return d, hub.Proof{Attempt: 1, Epoch: 1, Nonce: nonce}
}

func (w *world) bareApply(d hub.Decision) {
	w.must(w.store.Apply(w.ctx, hub.Change{Decision: d, Event: storetest.NewEvent(d.Action)}))
}
