package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/runnerhub/runnerhub/bench/report"
	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/attempt"
	"github.com/runnerhub/runnerhub/topology/docker"
	"github.com/runnerhub/runnerhub/topology/topologytest"
)

// rounds is how often each way of running a job is timed, by turns.
const rounds = 11

// machine runs jobs as a runner does, without a hub.
type machine struct {
	b       *testing.B
	exec    *attempt.Executor
	id      topology.Identity
	removed chan struct{}
	mu      sync.Mutex
	jobs    int
}

// newMachine makes one with so many slots. It is at rest when it returns: its networks are made.
func newMachine(b *testing.B, slots int, warmFor time.Duration) *machine {
	b.Helper()
	return newMachineOf(b, attempt.Options{ReadyNetworks: slots, WarmFor: warmFor})
}

func newMachineOf(b *testing.B, options attempt.Options) *machine {
	b.Helper()
	tag := topology.NewTag()
	m := &machine{b: b, removed: make(chan struct{}, 1000), id: topology.Identity{Hub: "bench-" + tag, Runner: "rnr-" + tag, Attempt: 1, Epoch: 1}}
	var err error
	options.Removed = func(topology.Identity, topology.Leaks) { m.removed <- struct{}{} }
	m.exec, err = docker.New(b.Context(), docker.Options{Options: options})
	must(b, err)
	b.Cleanup(func() { must(b, m.exec.Close(context.WithoutCancel(b.Context()))) })
	_, err = m.exec.Sweep(b.Context(), m.id.Hub, m.id.Runner, nil)
	must(b, err)
	m.rest(m.job(&topology.Spec{Image: busybox, Command: []string{"true"}}))
	return m
}

// job returns how long it takes until a job's result is known.
func (m *machine) job(spec *topology.Spec) (time.Duration, error) {
	m.mu.Lock()
	m.jobs++
	id := m.id
	id.Job = fmt.Sprintf("job_%d", m.jobs)
	m.mu.Unlock()
	begun := time.Now()
	r := m.exec.Run(m.b.Context(), topology.Work{Identity: id, Owner: "user:bench", Spec: spec}, &topologytest.Observer{})
	took := time.Since(begun)
	if r.Status != topology.Succeeded {
		return took, errors.New(r.Failure.Message)
	}
	return took, nil
}

// rest waits until a job's topology is gone.
func (m *machine) rest(took time.Duration, err error) time.Duration {
	m.b.Helper()
	must(m.b, err)
	<-m.removed
	return took
}

// busyness is what else kept the machine busy, for the log.
func busyness() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(text))
}

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1000 }

// BenchmarkTopologyJob has the same job run by the runner, by `docker run --rm` and by the bare client, by turns.
func BenchmarkTopologyJob(b *testing.B) {
	m, d := newMachine(b, 1, 0), newBare(b)
	spec := &topology.Spec{Image: busybox, Command: []string{"true"}}
	var toCLI, cost []float64
	for i := range rounds {
		var ours, cli, client time.Duration
		turns := []func(){
			func() { ours = m.rest(m.job(spec)) }, func() { cli = dockerRun(b, "true") }, func() { client = d.job("true") },
		}
		for n := range turns { // none always follows the same one
			turns[(i+n)%len(turns)]()
		}
		b.Logf("runner %.0f ms, docker run %.0f ms, client %.0f ms; load %s", milliseconds(ours), milliseconds(cli), milliseconds(client), busyness())
		toCLI = append(toCLI, float64(ours)/float64(cli))
		cost = append(cost, milliseconds(ours-client))
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(toCLI), "x-docker-run")
	b.ReportMetric(median(cost), "ms-own")
	topologies.Add(report.Row{
		Place: 1, What: "network + job against `docker run --rm`, which gets the default network",
		Measured: fmt.Sprintf("%.2f", median(toCLI)), Goal: "at most 1.2", Met: median(toCLI) <= 1.2,
	})
	topologies.Add(report.Row{
		Place: 3, What: "the runner's own cost over the bare Docker client in the same mode",
		Measured: fmt.Sprintf("%.0f ms", median(cost)), Goal: "at most 15 ms", Met: median(cost) <= 15,
	})
}

// BenchmarkTopologyPod has the same job run in a pod that was made ahead, and by `docker run --rm`.
func BenchmarkTopologyPod(b *testing.B) {
	m := newMachineOf(b, attempt.Options{WarmFor: time.Hour, Pods: true})
	engine, err := docker.Connect(b.Context(), docker.Options{})
	must(b, err)
	defer engine.Close()
	ready := func() { // its next pod is
		for {
			seen, err := engine.Observe(b.Context(), topology.Filter{Hub: m.id.Hub})
			must(b, err)
			for _, c := range seen.Containers {
				if c.Running {
					return
				}
			}
			pause(b.Context(), 20*time.Millisecond)
		}
	}
	spec := &topology.Spec{Image: busybox, Command: []string{"true"}}
	var ratios []float64
	for i := range rounds {
		var ours, cli time.Duration
		ready()
		turns := []func(){func() { ours = m.rest(m.job(spec)) }, func() { cli = dockerRun(b, "true") }}
		turns[i%2]()
		ready()
		turns[1-i%2]()
		b.Logf("in a pod %.0f ms, docker run %.0f ms; load %s", milliseconds(ours), milliseconds(cli), busyness())
		ratios = append(ratios, float64(ours)/float64(cli))
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(ratios), "x-docker-run")
	topologies.Add(report.Row{
		Place: 2, What: "job in a warm pod against `docker run --rm`", Measured: fmt.Sprintf("%.2f", median(ratios)), Goal: "at most 0.5", Met: median(ratios) <= 0.5,
	})
}

// database is a service that takes as long to be ready.
func database(startup string, reuse bool) *topology.Spec {
	return &topology.Spec{
		Image: busybox, Command: []string{"true"},
		Services: map[string]topology.Service{"db": {
			Image: busybox, Command: []string{"sh", "-c", "sleep " + startup + "; touch /ready; exec sleep 1000"}, Reuse: reuse,
			Healthcheck: &topology.Healthcheck{Test: []string{"CMD", "test", "-e", "/ready"}},
		}},
	}
}

// BenchmarkTopologyService has a job with a service run where the service is there from before and where it is not.
func BenchmarkTopologyService(b *testing.B) {
	m := newMachine(b, 1, time.Hour)
	for _, startup := range []string{"0", "1"} {
		m.rest(m.job(database(startup, true))) // it stays
		var ratios []float64
		for i := range rounds / 2 {
			var cold, warm time.Duration
			turns := []func(){func() { cold = m.rest(m.job(database(startup, false))) }, func() { warm = m.rest(m.job(database(startup, true))) }}
			turns[i%2]()
			turns[1-i%2]()
			b.Logf("ready after %s s: cold %.0f ms, warm %.0f ms; load %s", startup, milliseconds(cold), milliseconds(warm), busyness())
			ratios = append(ratios, float64(cold)/float64(warm))
		}
		b.ReportMetric(median(ratios), "x-warm-after-"+startup+"s")
		if startup == "1" {
			topologies.Add(report.Row{
				Place: 4, What: "service + job, the service ready a second after its start: cold against warm",
				Measured: fmt.Sprintf("%.1f times sooner", median(ratios)), Goal: "at least 3 times", Met: median(ratios) >= 3,
			})
		}
	}
	b.ReportMetric(0, "ns/op")
}

// BenchmarkTopologySlots has jobs that do nothing run by one slot and by four, and the same by as many
// `docker run --rm`: what the engine itself gains by running four at a time bounds what slots can.
func BenchmarkTopologySlots(b *testing.B) {
	one, four := newMachine(b, 1, 0), newMachine(b, 4, 0)
	const jobs = 8
	spec := &topology.Spec{Image: busybox, Command: []string{"true"}}
	rate := func(m *machine, slots int) func() (float64, error) {
		return func() (float64, error) {
			begun := time.Now()
			err := together(slots, jobs, func(int, int) error {
				_, err := m.job(spec)
				return err
			})
			for range jobs {
				<-m.removed
			}
			return jobs / time.Since(begun).Seconds(), err
		}
	}
	bare := func(width int) func() (float64, error) {
		return func() (float64, error) {
			begun := time.Now()
			err := together(width, jobs, func(int, int) error {
				_, err := tryDockerRun(b.Context(), "true")
				return err
			})
			return jobs / time.Since(begun).Seconds(), err
		}
	}
	ratio := compare(b, side{"four slots", rate(four, 4)}, side{"one slot", rate(one, 1)})
	engine := compare(b, side{"four docker run", bare(4)}, side{"one docker run", bare(1)})
	b.Logf("load %s", busyness())
	b.ReportMetric(ratio, "ratio")
	b.ReportMetric(engine, "ratio-docker-run")
	topologies.Add(report.Row{
		Place: 5, What: "jobs a second that do nothing, removal included: four slots against one",
		Measured: fmt.Sprintf("%.2f (four `docker run --rm` against one: %.2f)", ratio, engine), Goal: "at least 1.7", Met: ratio >= 1.7,
	})
}
