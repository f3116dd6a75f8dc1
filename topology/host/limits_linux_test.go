package host_test

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/attempt"
	"github.com/runnerhub/runnerhub/topology/host"
)

// newExecutorOn returns an executor that uses control groups as far as there are any, or none.
func newExecutorOn(t *testing.T, groups bool) *attempt.Executor {
	t.Helper()
	if groups {
		return newExecutor(t, host.Options{})
	}
	engine, err := host.Open(stateDir(t), asJobUser)
	if err != nil {
		t.Fatal(err)
	}
	host.WithoutGroups(engine)
	executor := attempt.New(engine, attempt.Options{ReadyNetworks: -1})
	closeWith(t, executor)
	return executor
}

// A job over its limit on memory is killed and told why, whether the kernel or the runner keeps it.
func TestOutOfMemory(t *testing.T) {
	t.Parallel()
	perl := program(t, "perl")
	for name, groups := range map[string]bool{"with control groups": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			executor := newExecutorOn(t, groups)
			hog := perl + " -e '$x = \"x\" x (120 << 20); sleep 30'"
			for _, spec := range []string{"command: [sh, -c, %q]", "steps: [{run: %q}]"} {
				r, _ := run(t, executor, fmt.Sprintf(spec, hog)+"\nresources: {memory: 64MiB}")
				wantClass(t, r, topology.ClassOOM, "64MiB")
			}
			r, obs := run(t, executor, "command: [sh, -c, 'echo little']\nresources: {memory: 64MiB}")
			wantSuccess(t, r, obs)
		})
	}
}

func TestLimitsOfProcesses(t *testing.T) {
	t.Parallel()
	for name, groups := range map[string]bool{"with control groups": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, obs := run(t, newExecutorOn(t, groups), `
steps: [{run: "ulimit -n; ulimit -c; nproc"}]
ulimits: {nofile: {soft: 100, hard: 200}, core: 0}
resources: {cpus: 1}
`)
			wantSuccess(t, r, obs)
			words := strings.Fields(obs.Text(topology.Stdout, ""))
			if len(words) != 3 || words[0] != "100" || words[1] != "0" || !groups && words[2] != "1" {
				t.Errorf("%q on a machine with %d processors", words, runtime.NumCPU())
			}
		})
	}
}

// A share of a processor is kept where a control group can, and else a whole one.
func TestShareOfAProcessor(t *testing.T) {
	t.Parallel()
	most := 0.4
	if !host.HasGroup("cpu") {
		most = 1.1
	}
	r, obs := run(t, newExecutorOn(t, true), `
command: [sh, -c, "spin() { end=$(($(date +%s%N)+1000000000)); while [ $(date +%s%N) -lt $end ]; do :; done; }; spin & spin; wait"]
resources: {cpus: 0.3}
`)
	wantSuccess(t, r, obs)
	if share := float64(r.Usage.CPU) / float64(r.Usage.Wall); share > most {
		t.Errorf("it had %.2f of a processor: %+v", share, r.Usage)
	}
}

func TestDiskLimit(t *testing.T) {
	t.Parallel()
	executor := newExecutor(t, host.Options{})
	r, _ := run(t, executor, `
command: [sh, -c, "dd if=/dev/zero of=a bs=1M count=4 2>/dev/null; ln a b"]
resources: {disk: 3MiB}
`)
	wantClass(t, r, topology.ClassDiskFull, "3MiB", "wrote 4")
	r, obs := run(t, executor, `
command: [sh, -c, "dd if=/dev/zero of=a bs=1M count=4 2>/dev/null; ln a b"]
resources: {disk: 6MiB}
`)
	wantSuccess(t, r, obs)
	if r.Usage.DiskPeak < 4<<20 || r.Usage.DiskPeak > 5<<20 {
		t.Errorf("disk %s", strconv.FormatInt(r.Usage.DiskPeak, 10))
	}
}

// What a job costs beside the command itself.
func BenchmarkJob(b *testing.B) {
	executor := newExecutor(b, host.Options{})
	for b.Loop() {
		r, obs := run(b, executor, "command: ['true']")
		wantSuccess(b, r, obs)
	}
}
