package attempt

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"

	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/topologytest"
)

func TestIdleTimeout(t *testing.T) {
	minute := topology.Duration(time.Minute)
	tests := map[string]struct {
		spec topology.Spec
		want string
		took time.Duration
	}{
		"silent command":     {topology.Spec{Command: command("hang")}, "timed_out timeout SIGTERM", time.Minute},
		"silent step":        {topology.Spec{Steps: []topology.Step{{Name: "a", Run: "ok"}, {Name: "b", Run: "hang"}}}, "timed_out timeout SIGTERM", time.Minute},
		"talks all the time": {topology.Spec{Command: command("talks")}, "succeeded", 295 * time.Second},
		"stops to talk":      {topology.Spec{Command: command("fades")}, "timed_out timeout SIGTERM", 160 * time.Second},
		"a service talks on": {topology.Spec{Command: command("hang"), Services: map[string]topology.Service{
			"db": {Image: topologytest.FakeImage, Command: command("talks on")},
		}}, "timed_out timeout SIGTERM", time.Minute},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *bench) {
				talk := func(times int, after func(*topologytest.FakeProcess) int) topologytest.Program {
					return func(p *topologytest.FakeProcess) int {
						for range times {
							select {
							case <-time.After(50 * time.Second):
								_, _ = fmt.Fprintln(p.Stdout, "working")
							case <-p.Killed:
								return 137
							}
						}
						return after(p)
					}
				}
				b.fake.AddProgram("talks", talk(5, func(*topologytest.FakeProcess) int {
					time.Sleep(45 * time.Second) // virtual time
					return 0
				}))
				b.fake.AddProgram("talks on", talk(1000, func(*topologytest.FakeProcess) int { return 0 }))
				b.fake.AddProgram("fades", talk(2, func(p *topologytest.FakeProcess) int { <-p.Signals; return 143 }))
				tt.spec.IdleTimeout = minute
				begin := time.Now()
				r := b.run(b.Context(), &tt.spec)
				b.want(r, tt.want)
				if took := time.Since(begin); took != tt.took {
					b.Errorf("took %s, want %s", took, tt.took)
				}
				if r.Failure != nil && r.Failure.Message != "The job wrote nothing for 1m0s (idle_timeout)." {
					b.Errorf("message %q", r.Failure.Message)
				}
			})
		})
	}
}

// TestHeldUpIsNotIdle has an observer that takes nothing for longer than the idle timeout.
func TestHeldUpIsNotIdle(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.fake.AddProgram("floods", func(p *topologytest.FakeProcess) int {
			_, _ = p.Stdout.Write(bytes.Repeat([]byte("0123456789abcde\n"), 8<<20)) // 128 MiB
			return 0
		})
		held := false
		b.obs.OnLog = func(topology.Record) error {
			if !held {
				held = true
				time.Sleep(10 * time.Minute) // virtual time
			}
			return nil
		}
		b.want(b.run(b.Context(), &topology.Spec{Command: command("floods"), IdleTimeout: topology.Duration(time.Minute)}), "succeeded")
	})
}

func TestDiskLimit(t *testing.T) {
	limit := topology.Resources{Disk: 1 << 30}
	db := func(r topology.Resources) map[string]topology.Service {
		return map[string]topology.Service{"db": {Image: topologytest.FakeImage, Command: command("stubborn"), Resources: r}}
	}
	tests := map[string]struct {
		spec  topology.Spec
		part  string
		want  string
		words string
		took  time.Duration // at most
	}{
		"the job":             {topology.Spec{Command: command("stubborn"), Resources: limit}, "-job", "failed disk_full SIGKILL", "The job wrote 2GiB to disk, over its limit of 1GiB.", time.Second},
		"a step":              {topology.Spec{Steps: []topology.Step{{Name: "a", Run: "stubborn"}}, Resources: limit}, "-job", "failed disk_full SIGKILL", "The job wrote 2GiB", time.Second},
		"a service":           {topology.Spec{Command: command("stubborn"), Services: db(limit)}, "-svc-db", "failed disk_full SIGKILL db", "The service db wrote 2GiB to disk, over its limit of 1GiB.", time.Second},
		"seen at its end":     {topology.Spec{Command: command("ok"), Resources: limit}, "-job", "failed disk_full", "over its limit", 0},
		"somebody else":       {topology.Spec{Command: command("ok"), Resources: limit}, "-other", "succeeded", "", 0},
		"no limit, no matter": {topology.Spec{Command: command("ok"), Services: db(topology.Resources{})}, "-job", "succeeded", "", 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *bench) {
				b.fake.SetDisk(tt.part, 2<<30)
				begin := time.Now()
				r := b.run(b.Context(), &tt.spec)
				b.want(r, tt.want)
				if r.Failure != nil && !strings.Contains(r.Failure.Message, tt.words) {
					b.Errorf("message %q", r.Failure.Message)
				}
				if took := time.Since(begin); took > tt.took {
					b.Errorf("took %s: there is no grace for who fills the disk", took)
				}
				if tt.part == "-job" && tt.spec.Resources.Disk > 0 && r.Usage.DiskPeak != 2<<30 {
					b.Errorf("usage %+v", r.Usage)
				}
			})
		})
	}
}

// TestFullDiskIsToldFromAFullTmpfs has a job end with the words of a write that found no room.
func TestFullDiskIsToldFromAFullTmpfs(t *testing.T) {
	tests := map[string]struct {
		free, used, limit int64
		want, words       string
	}{
		"the machine's":        {1 << 20, 0, 0, "failed disk_full", "The machine's disk is full."},
		"nobody knows":         {-1, 0, 0, "failed disk_full", "The machine's disk is full."},
		"a tmpfs":              {100 << 30, 0, 0, "failed script", "which has 100GiB left: a tmpfs"},
		"its own limit's":      {100 << 30, 1020 << 20, 1 << 30, "failed disk_full", "The job ran out of its 1GiB of disk."},
		"a tmpfs, and a limit": {100 << 30, 1 << 20, 1 << 30, "failed script", "a tmpfs"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *bench) {
				b.fake.AddProgram("writes", func(p *topologytest.FakeProcess) int {
					_, _ = fmt.Fprintln(p.Stderr, "cp: error writing 'big': No space left on device")
					return 1
				})
				b.fake.SetFree(tt.free)
				b.fake.SetDisk("-job", tt.used)
				r := b.run(b.Context(), &topology.Spec{Command: command("writes"), Resources: topology.Resources{Disk: tt.limit}})
				b.want(r, tt.want)
				if !strings.Contains(r.Failure.Message+r.Failure.Hint, tt.words) || *r.ExitCode != 1 {
					b.Errorf("%+v", r.Failure)
				}
			})
		})
	}
}

func TestServiceOutOfMemory(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.fake.AddProgram("greedy", func(p *topologytest.FakeProcess) int {
			time.Sleep(time.Second) // virtual time
			p.OOM = true
			return 137
		})
		r := b.run(b.Context(), &topology.Spec{Command: command("hang"), Services: map[string]topology.Service{
			"db": {Image: topologytest.FakeImage, Command: command("greedy"), Resources: topology.Resources{Memory: 64 << 20}},
		}})
		b.want(r, "failed oom SIGTERM db")
		if !strings.Contains(r.Failure.Message, "The service db ran out of its 64MiB of memory") {
			b.Errorf("%q", r.Failure.Message)
		}
	})
}

// A service that loses a process to its limit and lives on ends the job all the same; the job's own exit code says what such
// a kill in its container means.
func TestAProcessOfAServiceOutOfMemory(t *testing.T) {
	some := topology.Resources{Memory: 64 << 20}
	for name, tt := range map[string]struct {
		job  string
		of   topology.Resources
		want string
	}{
		"the job goes on":        {"hang", some, "failed oom SIGTERM db"},
		"the job fails for that": {"fails with it", some, "failed oom db"},
		"without a limit":        {"ok", topology.Resources{}, "succeeded"},
		"the job's own process":  {"does without", topology.Resources{}, "succeeded"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *bench) {
				b.fake.AddProgram("lives on", func(p *topologytest.FakeProcess) int {
					_, _ = fmt.Fprintln(p.Stderr, "Killed")
					time.Sleep(time.Second) // virtual time
					p.KillChild()
					<-p.Killed
					return 137
				})
				b.fake.AddProgram("fails with it", func(*topologytest.FakeProcess) int {
					time.Sleep(time.Second - memoryPatience/2) // virtual time: before the engine tells
					return 1
				})
				b.fake.AddProgram("does without", func(p *topologytest.FakeProcess) int { p.KillChild(); return 0 })
				r := b.run(b.Context(), &topology.Spec{Command: command(tt.job), Resources: some, Services: map[string]topology.Service{
					"db": {Image: topologytest.FakeImage, Command: command("lives on"), Resources: tt.of},
				}})
				b.want(r, tt.want)
				if r.Failure != nil && !strings.HasPrefix(r.Failure.Message,
					"The service db ran out of its 64MiB of memory after 1s; a process of it was killed. Its last lines:\nKilled") {
					b.Errorf("%q", r.Failure.Message)
				}
			})
		})
	}
}

// An engine that breaks off is listened to again, and tells what happened meanwhile.
func TestTheEngineBreaksOffToTellOfMemory(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.fake.FailNext("WatchMemory", errors.New("the connection broke"))
		b.fake.AddProgram("lives on", func(p *topologytest.FakeProcess) int { p.KillChild(); <-p.Killed; return 137 })
		begin := time.Now()
		r := b.run(b.Context(), &topology.Spec{Command: command("hang"), Services: map[string]topology.Service{
			"db": {Image: topologytest.FakeImage, Command: command("lives on"), Resources: topology.Resources{Memory: 64 << 20}},
		}})
		b.want(r, "failed oom SIGTERM db")
		if took := time.Since(begin); took != memoryPause {
			b.Errorf("it took %s", took)
		}
	})
}

func TestPhasesAndPulledBytes(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.fake.AddRemote("remote/image", topology.Image{ID: "sha256:r", Digest: "sha256:d", OS: "linux", Arch: "amd64"})
		b.fake.AddProgram("works", func(*topologytest.FakeProcess) int {
			time.Sleep(3 * time.Second) // virtual time
			return 0
		})
		b.fake.AddProgram("ready soon", func(*topologytest.FakeProcess) int {
			time.Sleep(2 * time.Second) // virtual time
			return 0
		})
		r := b.run(b.Context(), &topology.Spec{
			Steps: []topology.Step{{Name: "a", Run: "works"}, {Name: "b", Run: "works"}},
			Services: map[string]topology.Service{"db": {
				Image: "remote/image", Command: command("hang"), Healthcheck: &topology.Healthcheck{Test: []string{"CMD", "ready soon"}},
			}},
		})
		b.want(r, "succeeded")
		if r.Phases[topology.PhaseRunning] != 6*time.Second || r.Phases[topology.PhaseStartingServices] != 2*time.Second || len(r.Phases) != 5 {
			b.Errorf("phases %v", r.Phases)
		}
		if r.Usage.Pulled != 1 || r.Images["remote/image"] != "sha256:d" || r.Images[topologytest.FakeImage] != "sha256:fake" {
			b.Errorf("usage %+v, images %v", r.Usage, r.Images)
		}
	})
}

// TestPumpSlowsDown lets a writer have its burst, then holds it to the rate and says so once.
func TestPumpSlowsDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		obs := &topologytest.Observer{}
		p := newPump(obs, "db", rate.NewLimiter(1<<20, 4<<20), noFailure(t))
		begin := time.Now()
		line := bytes.Repeat([]byte("0123456789abcde\n"), 4<<20/16)
		p.write("", topology.Stdout, line, 0)
		if took := time.Since(begin); took != 0 {
			t.Errorf("the burst took %s", took)
		}
		p.write("", topology.Stdout, line, 0)
		if took := time.Since(begin); took < 3900*time.Millisecond || took > 4100*time.Millisecond {
			t.Errorf("took %s", took)
		}
		p.close(false)
		if got := len(obs.Text(topology.Stdout, "db")); got != 8<<20 {
			t.Errorf("%d bytes", got)
		}
		if got := obs.Text(topology.System, "db"); got != "The output is slowed down to 1MiB a second; nothing is lost\n" {
			t.Errorf("%q", got)
		}
	})
}
