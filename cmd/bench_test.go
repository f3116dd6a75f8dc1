package cmd_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// BenchmarkMemory runs jobs through real programs and reports the most that each held in memory (VmHWM), in MiB
// and as a ratio to what it holds when it has just started. Linux alone tells.
func BenchmarkMemory(b *testing.B) {
	const jobs, slots = 40, 4
	dir := b.TempDir()
	build := exec.CommandContext(b.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", dir+"/", "./runnerhub", "./runnerctl")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	for b.Loop() {
		env := append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME="+dir+"/config", "XDG_STATE_HOME="+dir+"/state",
			"DBUS_SESSION_BUS_ADDRESS=unix:path="+dir+"/no-bus")
		data := filepath.Join(b.TempDir(), "hub")
		hub, url := serve(b, env, dir, data)
		key, err := os.ReadFile(filepath.Join(data, "admin.key"))
		if err != nil {
			b.Fatal(err)
		}
		env = append(env, "RUNNERCTL_HUB="+url, "RUNNERCTL_API_KEY="+strings.TrimSpace(string(key)))
		ctl := func(args ...string) string {
			cmd := exec.CommandContext(b.Context(), dir+"/runnerctl", args...)
			cmd.Env = env
			var errs bytes.Buffer
			cmd.Stderr = &errs
			out, err := cmd.Output()
			if err != nil {
				b.Fatalf("runnerctl %v: %v\n%s%s", args, err, out, &errs)
			}
			return strings.TrimSpace(string(out))
		}
		hubIdle := peak(b, hub.Process.Pid)
		ctl("pair", "--label", "bench")
		spec := filepath.Join(dir, "job.yaml")
		if err := os.WriteFile(spec, []byte("image: runnerhub/busybox:local\ncommand: [sh, -c, \"seq 1 2000\"]\n"), 0o600); err != nil {
			b.Fatal(err)
		}
		runner := exec.CommandContext(b.Context(), dir+"/runnerctl", "run", "--slots", strconv.Itoa(slots))
		runner.Env = env
		if err := runner.Start(); err != nil {
			b.Fatal(err)
		}
		ctl("logs", ctl("submit", spec), "-f") // the runner is up
		runnerIdle := peak(b, runner.Process.Pid)
		var last []string
		for range jobs {
			last = append(last, ctl("submit", spec))
		}
		for _, j := range last {
			ctl("logs", j, "-f")
		}
		hubPeak, runnerPeak := peak(b, hub.Process.Pid), peak(b, runner.Process.Pid)
		for _, cmd := range []*exec.Cmd{runner, hub} {
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				b.Fatal(err)
			}
			if err := cmd.Wait(); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(hubPeak, "hub-peak-MiB")
		b.ReportMetric(hubPeak/hubIdle, "hub-x-idle")
		b.ReportMetric(runnerPeak, "runner-peak-MiB")
		b.ReportMetric(runnerPeak/runnerIdle, "runner-x-one-job")
	}
}

func serve(b *testing.B, env []string, dir, data string) (*exec.Cmd, string) {
	b.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(b.Context()), dir+"/runnerhub", "serve", "--addr", "127.0.0.1:0", "--data", data)
	cmd.Env = env
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = cmd.Process.Kill() })
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if m := listening.FindStringSubmatch(lines.Text()); m != nil {
			return cmd, m[1]
		}
	}
	b.Fatal("the hub did not come up")
	return nil, ""
}

var vmHWM = regexp.MustCompile(`(?m)^VmHWM:\s+(\d+) kB$`)

// peak is a process's peak resident memory in MiB.
func peak(b *testing.B, pid int) float64 {
	b.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Fatal(err)
	}
	m := vmHWM.FindSubmatch(status)
	if m == nil {
		b.Fatalf("no VmHWM in\n%s", status)
	}
	kb, err := strconv.ParseFloat(string(m[1]), 64)
	if err != nil {
		b.Fatal(err)
	}
	return kb / 1024
}
