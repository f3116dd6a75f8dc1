package host_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/host"
	"github.com/runnerhub/runnerhub/topology/topologytest"
)

// victimVariable makes the test's own program a runner that is to be killed: it names its folder.
const victimVariable = "RUNNERHUB_TEST_VICTIM"

// victimJob is what it runs, by the name of its folder.
func victimJob(dir string) topology.Work {
	word := filepath.Base(filepath.Dir(dir))
	return topology.Work{
		Identity: topology.Identity{Hub: "hub", Runner: "rnr", Job: "job_" + word, Attempt: 1, Epoch: 1},
		Spec:     &topology.Spec{Command: []string{"sh", "-c", strings.Join(daemons(word), "\n") + "\necho ready; sleep 1000"}},
		Save:     func(data []byte) error { return os.WriteFile(dir+".checkpoint", data, 0o600) },
	}
}

func victim(dir string) {
	executor, err := host.New(host.Options{Dir: dir, User: asJobUser})
	if err != nil {
		panic(err)
	}
	obs := &topologytest.Observer{OnLog: func(r topology.Record) error {
		_, err := os.Stdout.Write(r.Data)
		return err
	}}
	executor.Run(context.Background(), victimJob(dir), obs)
}

// A runner that is killed leaves nothing that runs, at the latest when it is started again, and says what it knows
// of the job.
func TestRunnerIsKilled(t *testing.T) {
	t.Parallel()
	for name, alone := range map[string]bool{"alone": true, "with its supervisors": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := stateDir(t)
			dir = filepath.Join(filepath.Dir(dir), "word"+topology.NewTag(), "host")
			if err := os.Mkdir(filepath.Dir(dir), 0o711); err != nil {
				t.Fatal(err)
			}
			work := victimJob(dir)
			killVictim(t, dir, alone)
			word := filepath.Base(filepath.Dir(dir))
			if alone { // the supervisor sees to it
				await(t, func() bool { return len(alive(t, word)) == 0 })
			}
			executor := newExecutor(t, host.Options{Dir: dir})
			seen, err := executor.Survey(t.Context())
			if err != nil || len(seen.Containers) != 1 || topology.IdentityOf(seen.Containers[0].Labels) != work.Identity {
				t.Fatalf("seen %+v, %v", seen, err)
			}
			found, err := executor.Sweep(t.Context(), "hub", "rnr", []topology.Identity{work.Identity})
			if err != nil || found.Total() != 0 {
				t.Errorf("the sweep found %+v, %v", found, err)
			}
			checkpoint, err := os.ReadFile(dir + ".checkpoint")
			if err != nil {
				t.Fatal(err)
			}
			r := executor.Adopt(t.Context(), work, topology.Resume{Checkpoint: checkpoint}, &topologytest.Observer{})
			wantClass(t, r, topology.ClassRunnerLost, "killed")
			if err := executor.Close(t.Context()); err != nil {
				t.Error(err)
			}
			noneAlive(t, word)
		})
	}
}

// What nobody takes up is swept.
func TestSweep(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(filepath.Dir(stateDir(t)), "word"+topology.NewTag(), "host")
	if err := os.Mkdir(filepath.Dir(dir), 0o711); err != nil {
		t.Fatal(err)
	}
	killVictim(t, dir, false)
	executor := newExecutor(t, host.Options{Dir: dir})
	if found, err := executor.Sweep(t.Context(), "hub", "another", nil); err != nil || found.Total() != 0 {
		t.Errorf("another runner's: %+v, %v", found, err)
	}
	if found, err := executor.Sweep(t.Context(), "hub", "rnr", nil); err != nil || found.Containers != 1 {
		t.Errorf("%+v, %v", found, err)
	}
	noneAlive(t, filepath.Base(filepath.Dir(dir)))
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

// killVictim starts a runner, waits until its job runs, and kills it. Not alone means with its supervisors, which have
// no time to clean up.
func killVictim(t *testing.T, dir string, alone bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
	cmd.Env = append(os.Environ(), victimVariable+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() && lines.Text() != "ready" {
	}
	await(t, func() bool { // the runner says so when it has told the job's start
		data, err := os.ReadFile(dir + ".checkpoint")
		return err == nil && strings.Contains(string(data), `"Started":true`)
	})
	var supervisors []int
	if !alone {
		supervisors = children(t, cmd.Process.Pid)
		if len(supervisors) != 1 {
			t.Fatalf("supervisors %v", supervisors)
		}
	}
	for _, pid := range supervisors {
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for _, pid := range supervisors {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	_ = cmd.Wait() // it was killed
}

// children lists the processes that a process has started.
func children(t *testing.T, parent int) (found []int) {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, stat := range stats {
		data, err := os.ReadFile(stat)
		if err != nil {
			continue
		}
		fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
		if fields[1] == fmt.Sprint(parent) {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(stat)))
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, pid)
		}
	}
	return found
}

// await waits until something has come true.
func await(t *testing.T, ready func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(time.Minute); !ready(); {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("it never came true")
		}
	}
}
