package runnerctl_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/runnerhub/runnerhub/runnerctl/cmd/gc"
	"github.com/runnerhub/runnerhub/runnerctl/cmdutil"
	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/topologytest"
)

// leftoversOf is one of each resource of a runner's job, and a ready network.
func leftoversOf(runner string) topology.Snapshot {
	id := topology.Identity{Hub: "hub", Runner: runner, Job: "job_1", Attempt: 1, Epoch: 1}
	return topology.Snapshot{
		Containers: []topology.ObservedContainer{{Name: "c-" + runner, Labels: id.Labels(topology.RoleJob), Networks: []string{"n-" + runner}}},
		Networks: []topology.ObservedNetwork{
			{Name: "n-" + runner, Labels: id.Labels(topology.RoleNetwork)}, {Name: "ready-" + runner, Labels: topology.PoolLabels("hub", runner)},
		},
		Volumes: []topology.ObservedVolume{{Name: "v-" + runner, Labels: id.Labels(topology.RoleWorkspace)}},
	}
}

// TestGC has leftovers of a runner that was unpaired, of one that runs, and of
// somebody else's.
func TestGC(t *testing.T) {
	t.Parallel()
	m, _ := onHub(t)
	first := topologytest.NewExecutor(nil)
	m.executor = first
	m.ok("pair", "--label", "box")
	m.with(spec, "submit", "-")
	m.ok("run", "--once")
	unpaired := first.Runs()[0].Identity.Runner
	m.ok("unpair")

	m.ok("pair", "--label", "box-again")
	started := make(chan topology.Identity, 1)
	m.executor = topologytest.NewExecutor(topologytest.Until(started, nil))
	m.runner()
	m.with(spec, "submit", "-")
	running := (<-started).Runner

	engine := &topologytest.Executor{}
	for _, runner := range []string{unpaired, running, "rnr-stranger"} {
		s := leftoversOf(runner)
		engine.Seen.Containers = append(engine.Seen.Containers, s.Containers...)
		engine.Seen.Networks = append(engine.Seen.Networks, s.Networks...)
		engine.Seen.Volumes = append(engine.Seen.Volumes, s.Volumes...)
	}
	all := engine.Seen.Count().Total()
	m.executor = engine
	want := []string{"c-" + unpaired, "n-" + unpaired, "ready-" + unpaired, "v-" + unpaired}
	for _, flag := range []string{"--dry-run", ""} {
		r := decode[gc.Report](t, m.ok(strings.Fields("gc --json "+flag)...))
		var names []string
		for _, item := range r.Removed {
			names = append(names, item.Name)
		}
		if slices.Sort(names); !slices.Equal(names, want) || len(r.Kept) != all-len(want) || r.DryRun != (flag != "") {
			t.Errorf("%q: removed %v, want %v; kept %+v", flag, names, want, r.Kept)
		}
		if flag != "" && engine.Seen.Count().Total() != all {
			t.Error("a dry run has removed something")
		}
	}
	if left := engine.Seen.Count().Total(); left != all-len(want) {
		t.Errorf("%d of %d are left", left, all)
	}
	if got := m.ok("gc"); !strings.Contains(got, "Nothing to remove") {
		t.Errorf("%q", got)
	}
}

// TestGCAfterDoctor has a doctor that was killed, and one that may still run.
func TestGCAfterDoctor(t *testing.T) {
	t.Parallel()
	m, _ := onHub(t)
	killed, busy := cmdutil.NewMeasurementID(time.Now().Add(-61*time.Minute)), cmdutil.NewMeasurementID(time.Now().Add(-50*time.Minute))
	engine := &topologytest.Executor{}
	for _, id := range []string{killed, busy, "doctor-x-y", "doctor-1"} { // the last two are nobody's
		s := leftoversOf(id)
		engine.Seen.Containers = append(engine.Seen.Containers, s.Containers...)
		engine.Seen.Networks = append(engine.Seen.Networks, s.Networks...)
		engine.Seen.Volumes = append(engine.Seen.Volumes, s.Volumes...)
	}
	m.executor = engine
	r := decode[gc.Report](t, m.ok("gc", "--json"))
	for _, item := range r.Removed {
		if item.Runner != killed {
			t.Errorf("removed %+v", item)
		}
	}
	if each := leftoversOf("x").Count().Total(); len(r.Removed) != each || len(r.Kept) != 3*each {
		t.Errorf("removed %+v, kept %+v", r.Removed, r.Kept)
	}
}

// TestGCSparesWhatCanBeTakenUp has a runner killed under a job.
func TestGCSparesWhatCanBeTakenUp(t *testing.T) {
	t.Parallel()
	m, _ := onHub(t)
	started := make(chan topology.Identity, 1)
	m.executor = topologytest.NewExecutor(topologytest.Until(started, nil))
	m.ok("pair", "--label", "box")
	m.runner()
	m.with(spec, "submit", "-")
	id := <-started
	// What a kill would leave is what is there now: another machine has a copy of it.
	other := m.copy()
	s := leftoversOf(id.Runner)
	for i := range s.Containers {
		s.Containers[i].Labels = id.Labels(topology.RoleJob)
	}
	s.Networks[0].Labels, s.Volumes[0].Labels = id.Labels(topology.RoleNetwork), id.Labels(topology.RoleWorkspace)
	other.executor = &topologytest.Executor{Seen: s}
	r := decode[gc.Report](t, other.ok("gc", "--json"))
	if len(r.Removed) != 1 || r.Removed[0].Name != "ready-"+id.Runner || len(r.Kept) != 3 {
		t.Errorf("%+v", r)
	}
}
