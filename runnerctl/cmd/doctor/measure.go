package doctor

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/runnerhub/runnerhub/runnerctl/cmdutil"
	"github.com/runnerhub/runnerhub/topology"
)

// measureWithin bounds one measurement, the pull of its image included.
const measureWithin = 2 * time.Minute

// The limits that are measured with. The script's hunger is far beyond each.
const (
	someMemory = 32 << 20
	somePids   = 32
	someCPU    = 0.25
)

// Each script ends with 0 where the limit does not hold.
const (
	eatMemory = "tail /dev/zero"
	fork      = "i=0; while [ $i -lt 100 ]; do sleep 20 & i=$((i+1)); done"
	// A quota that holds shows in the kernel's own count of throttled periods, whatever else the machine is busy with.
	burn = `end=$(( $(date +%s) + 2 )); while [ $(date +%s) -lt $end ]; do :; done
for f in /sys/fs/cgroup/cpu.stat /sys/fs/cgroup/cpu/cpu.stat /sys/fs/cgroup/cpu,cpuacct/cpu.stat; do
	if [ -r $f ]; then grep nr_throttled $f; exit 0; fi
done
exit 3`
	resolve = "nslookup probe || getent hosts probe"
)

// measure runs small jobs, as the hub's would be run, and looks whether what is promised of them holds.
func (x *examination) measure(ctx context.Context, e topology.Executor) {
	image := x.o.Image
	first, _ := x.run(ctx, e, &topology.Spec{Image: image, Command: []string{"true"}})
	if f := first.Failure; f != nil && f.Class == topology.ClassImagePull && image == defaultImage {
		// Jobs may do well without a registry: their images can be here already.
		x.warn("container", "runnerctl doctor --image IMAGE", "nothing is measured, since there is no %s here and it cannot be pulled; name an image that is here and has a shell: %s", image, why(first))
		return
	}
	if first.Status != topology.Succeeded {
		x.fail("container", "runnerctl doctor --image IMAGE", "a container of %s does not run, so that nothing is measured: %s", image, why(first))
		return
	}
	x.ok("container", "one of %s ran in %s", image, first.Usage.Wall.Round(time.Millisecond))

	memory, _ := x.run(ctx, e, &topology.Spec{Image: image, Command: shell(eatMemory), Resources: topology.Resources{Memory: someMemory}})
	x.holds("memory", "swapoff -a, or enable the memory controller of cgroups", memory.Failure != nil && memory.Failure.Class == topology.ClassOOM,
		"a process that takes more than 32MiB is killed", memory)

	pids, _ := x.run(ctx, e, &topology.Spec{Image: image, Command: shell(fork), Resources: topology.Resources{Pids: somePids}})
	x.holds("pids", "enable the pids controller of cgroups", pids.Status == topology.Failed && pids.Failure.Class == topology.ClassScript,
		"a job of at most 32 processes gets no more", pids)

	cpu, said := x.run(ctx, e, &topology.Spec{
		Image: image, Resources: topology.Resources{CPUs: someCPU}, Steps: []topology.Step{{Name: "burn", Run: burn}},
	})
	throttled, err := throttledPeriods(said)
	x.holds("cpus", "enable the cpu controller of cgroups", err == nil && throttled > 0,
		fmt.Sprintf("a job of a quarter of a core was held back %d times in 2 s", throttled), cpu)

	names, said := x.run(ctx, e, &topology.Spec{
		Image: image, Network: topology.NetworkOpen, Command: shell(resolve),
		Services: map[string]topology.Service{"probe": {Image: image, Command: []string{"sleep", "60"}}},
	})
	if names.Status == topology.Succeeded {
		x.ok("dns", "a job finds its services by their names")
	} else {
		x.fail("dns", "sudo systemctl restart docker", "a job does not find a service by its name: %s %s", why(names), strings.TrimSpace(said))
	}
}

// holds notes whether a limit was kept.
func (x *examination) holds(name, mend string, holds bool, text string, r topology.Result) {
	if holds {
		x.ok(name, "the limit holds: %s", text)
		return
	}
	x.warn(name, mend, "the limit does not hold: %s", why(r))
}

// run executes one job and returns what it wrote.
func (x *examination) run(ctx context.Context, e topology.Executor, spec *topology.Spec) (topology.Result, string) {
	spec.Timeout = topology.Duration(measureWithin)
	spec.Grace = topology.Duration(time.Second)
	if spec.Network == "" {
		spec.Network = topology.NetworkNone
	}
	id := cmdutil.NewMeasurementID(time.Now())
	o := &listener{}
	r := e.Run(ctx, topology.Work{
		Identity: topology.Identity{Hub: id, Runner: id, Job: id, Attempt: 1, Epoch: 1}, Spec: spec,
	}, o)
	return r, o.String()
}

func shell(script string) []string { return []string{"/bin/sh", "-c", script} }

func why(r topology.Result) string {
	if r.Failure != nil {
		return r.Failure.Message
	}
	return "the job " + string(r.Status)
}

// throttledPeriods reads the kernel's count, "nr_throttled N".
func throttledPeriods(said string) (int, error) {
	for line := range strings.Lines(said) {
		if n, ok := strings.CutPrefix(strings.TrimSpace(line), "nr_throttled "); ok {
			return strconv.Atoi(n)
		}
	}
	return 0, errNotRun
}

// listener keeps what a job writes.
type listener struct {
	mu sync.Mutex
	b  strings.Builder
}

// Phase is of no interest.
func (*listener) Phase(topology.Phase, string) {}

// Log keeps the job's own output.
func (l *listener) Log(r topology.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.Service == "" && r.Stream != topology.System && l.b.Len() < 64<<10 {
		l.b.Write(r.Data)
	}
	return nil
}

func (l *listener) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
