package docker_test

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/attempt"
	"github.com/runnerhub/runnerhub/topology/docker"
	"github.com/runnerhub/runnerhub/topology/topologytest"
)

const owner = "user:usr_1"

// counting is a service that may stay. It counts its visitors in a volume, and tells each
// of them on port 7000 which one it is.
func counting() topology.Service {
	return topology.Service{
		Image: busybox, Reuse: true,
		Command: sh(`touch /up; while n=$(cat /data/n 2>/dev/null || echo 0); do n=$((n+1)); echo "visit $n" | nc -l -p 7000 >/dev/null; echo $n >/data/n; echo "served $n"; done`),
		Volumes: []topology.Mount{{Type: topology.MountVolume, Source: "data", Target: "/data"}},
		Healthcheck: &topology.Healthcheck{
			Test: []string{"CMD-SHELL", "test -e /up && test ! -e /sick"}, Interval: topology.Duration(50 * time.Millisecond),
		},
	}
}

// visit visits the service db, which may have another visitor to wait for.
const visit = `visit() { until nc -w 5 db 7000 </dev/null 2>/dev/null | grep visit; do :; done; }; `

func visiting(script string) *topology.Spec {
	return &topology.Spec{
		Image: busybox, Command: sh(visit + script), Volumes: map[string]topology.Volume{"data": {}},
		Services: map[string]topology.Service{"db": counting()},
	}
}

// warmLab runs jobs of one runner that keeps services.
type warmLab struct {
	*testing.T
	id topology.Identity
	e  *attempt.Executor
	n  int
}

func newWarmLab(t *testing.T) *warmLab {
	t.Helper()
	l := &warmLab{T: t, id: identity(t)}
	l.e = newExecutor(t, l.id.Hub, docker.Options{Options: attempt.Options{WarmFor: time.Hour}})
	return l
}

// job runs one, and wants it to have found the service warm or not.
func (l *warmLab) job(owner string, spec *topology.Spec, warm bool) *topologytest.Observer {
	l.Helper()
	l.n++
	id := l.id
	id.Job += "-" + itoa(l.n)
	obs := &topologytest.Observer{}
	r := l.e.Run(l.Context(), topology.Work{Identity: id, Owner: owner, Spec: spec}, obs)
	wantResult(l, r, "succeeded 0")
	if got := len(r.Warm) == 1; got != warm {
		l.Errorf("job %d: warm %v, want %v; %s", l.n, r.Warm, warm, obs.Text(topology.System, ""))
	}
	return obs
}

// member is the container of the only set that there is.
func (l *warmLab) member() string {
	l.Helper()
	engine := l.engine()
	seen, err := engine.Observe(l.Context(), topology.Filter{Hub: l.id.Hub})
	if err != nil {
		l.Fatal(err)
	}
	found := ""
	for _, c := range seen.Containers {
		if c.Labels[topology.LabelRole] == topology.RoleWarm {
			if found != "" {
				l.Fatalf("there are %s and %s", found, c.Name)
			}
			found = c.Name
		}
	}
	return found
}

func (l *warmLab) engine() *docker.Engine {
	l.Helper()
	engine, err := docker.Connect(l.Context(), docker.Options{})
	if err != nil {
		l.Fatal(err)
	}
	l.Cleanup(func() { _ = engine.Close() })
	return engine
}

// TestServiceStaysBetweenJobs has jobs find what those before them wrote, on open and on
// restricted networks, and each of them hear only what was said while it ran.
func TestServiceStaysBetweenJobs(t *testing.T) {
	t.Parallel()
	for _, mode := range []topology.NetworkMode{topology.NetworkOpen, topology.NetworkRestricted} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			l := newWarmLab(t)
			look, seen := "nc -w 1 192.0.2.1 80 </dev/null 2>/dev/null || echo no way out; ", "no way out\n"
			if mode == topology.NetworkOpen {
				look, seen = `ip route get 169.254.169.254 | awk '{print $1; exit}'; `, "local\n"
			}
			first := visiting("visit; visit")
			first.Network = mode
			obs := l.job(owner, first, false)
			if got := obs.Text(topology.Stdout, ""); got != "visit 1\nvisit 2\n" {
				t.Errorf("the first job got %q", got)
			}
			second := visiting(look + "visit; visit; nslookup job >/dev/null && nslookup db-1 >/dev/null && echo names")
			second.Network = mode
			obs = l.job(owner, second, true)
			if got, want := obs.Text(topology.Stdout, ""), seen+"visit 3\nvisit 4\nnames\n"; got != want {
				t.Errorf("the second job got %q, want %q; %s", got, want, obs.Text(topology.Stderr, ""))
			}
			if got := obs.Text(topology.Stdout, "db"); !strings.Contains(got, "served 3\n") || strings.Contains(got, "served 1\n") {
				t.Errorf("the second job's service said %q", got)
			}
		})
	}
}

// TestServiceThatCannotBeHad has jobs come for a service that is not theirs, or no good.
func TestServiceThatCannotBeHad(t *testing.T) {
	t.Parallel()
	l := newWarmLab(t)
	l.job(owner, visiting("visit"), false)
	l.job("user:usr_2", visiting("visit | grep -qx 'visit 1'"), false)
	changed := visiting("visit | grep -qx 'visit 1'")
	db := counting()
	db.Environment = map[string]string{"X": "y"}
	changed.Services["db"] = db
	l.job(owner, changed, false)
	l.job(owner, visiting("visit | grep -qx 'visit 2'"), true)

	l = newWarmLab(t)
	l.job(owner, visiting("visit"), false)
	engine, before := l.engine(), l.member()
	if _, err := engine.Exec(t.Context(), before, topology.ExecSpec{Argv: []string{"touch", "/sick"}}, nil); err != nil {
		t.Fatal(err)
	}
	obs := l.job(owner, visiting("visit | grep -qx 'visit 1'"), false)
	if got := obs.Text(topology.System, ""); !strings.Contains(got, "not well, and start anew: the healthcheck of db exited with code 1") {
		t.Errorf("the log says %q", got)
	}
	after := l.member()
	if after == before {
		t.Errorf("%s stayed", after)
	}
	if err := engine.Signal(t.Context(), after, "SIGKILL"); err != nil {
		t.Fatal(err)
	}
	l.job(owner, visiting("visit | grep -qx 'visit 1'"), false)
}

// TestServiceOfOneJobAtATime has two jobs want a service at once, and then two more.
func TestServiceOfOneJobAtATime(t *testing.T) {
	t.Parallel()
	l := newWarmLab(t)
	for _, want := range []int{0, 2} {
		warm := make(chan int)
		for i := range 2 {
			go func() {
				id := l.id
				id.Job += itoa(want) + itoa(i)
				r := l.e.Run(t.Context(), topology.Work{Identity: id, Owner: owner, Spec: visiting("visit; sleep 0.5")}, &topologytest.Observer{})
				if r.Status != topology.Succeeded {
					t.Errorf("%+v", r.Failure)
				}
				warm <- len(r.Warm)
			}()
		}
		if got := <-warm + <-warm; got != want {
			t.Errorf("%d of two jobs found a warm service, want %d", got, want)
		}
	}
}

// TestServiceGoesInTime waits for the removal of a service that nobody wants any more.
func TestServiceGoesInTime(t *testing.T) {
	t.Parallel()
	id := identity(t)
	e := newExecutor(t, id.Hub, docker.Options{Options: attempt.Options{WarmFor: time.Millisecond}})
	r := e.Run(t.Context(), topology.Work{Identity: id, Owner: owner, Spec: visiting("visit")}, &topologytest.Observer{})
	wantResult(t, r, "succeeded 0")
	l := &warmLab{T: t, id: id}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for limit := time.Now().Add(time.Minute); l.member() != ""; <-tick.C {
		if time.Now().After(limit) {
			t.Fatal("it is still there")
		}
	}
}

// warmVictimVariable makes this test binary the runner that TestSweepOfServicesThatStay kills.
const warmVictimVariable = "RUNNERHUB_TEST_WARM_VICTIM"

// TestWarmVictim is no test of its own: it runs a job, keeps its service, and runs another
// one with it until it is killed.
func TestWarmVictim(t *testing.T) {
	var id topology.Identity
	if json.Unmarshal([]byte(os.Getenv(warmVictimVariable)), &id) != nil {
		return // an ordinary test run
	}
	e, err := docker.New(t.Context(), docker.Options{Options: attempt.Options{WarmFor: time.Hour}})
	if err != nil {
		t.Fatal(err)
	}
	obs := &topologytest.Observer{OnLog: func(r topology.Record) error {
		_, _ = os.Stdout.Write(r.Data)
		return nil
	}}
	other := visiting("visit")
	other.Services["db"] = topology.Service{Image: busybox, Command: []string{"sleep", "1000"}, Reuse: true} // idle in the end
	e.Run(t.Context(), topology.Work{Identity: id, Owner: owner, Spec: &topology.Spec{Image: busybox, Command: []string{"true"}, Services: other.Services}}, obs)
	e.Run(t.Context(), topology.Work{Identity: id, Owner: owner, Spec: visiting("visit")}, obs)
	id.Job += "-2"
	e.Run(t.Context(), topology.Work{Identity: id, Owner: owner, Spec: visiting("echo victim is ready; exec sleep 1000")}, obs)
}

// TestSweepOfServicesThatStay kills a runner that has one service idle and one in use.
func TestSweepOfServicesThatStay(t *testing.T) {
	t.Parallel()
	id := identity(t)
	if said := killVictim(t, "TestWarmVictim", warmVictimVariable, id); !strings.Contains(said, "Service db is warm") {
		t.Fatalf("the victim said %q", said)
	}

	live := id
	live.Job += "-2"
	e := newExecutor(t, id.Hub, docker.Options{})
	found, err := e.Sweep(t.Context(), id.Hub, id.Runner, []topology.Identity{live})
	if err != nil || found.Containers != 1 || found.Volumes != 0 {
		t.Errorf("beside the job the sweep found %+v, %v", found, err)
	}
	seen, err := e.Survey(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	alive := topology.Unowned(seen, func(other topology.Identity) bool { return other.Hub == id.Hub && other != live })
	if alive.Count().Containers != 0 {
		t.Errorf("gc beside the job would remove %+v", alive.Containers)
	}
	gone := topology.Unowned(seen, func(other topology.Identity) bool { return other.Hub == id.Hub })
	if got := gone.Count(); got.Containers != 2 || got.Volumes != 2 || got.Networks < 1 {
		t.Errorf("gc would remove %+v", got)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := e.Remove(ctx, gone); err != nil {
		t.Error(err)
	}
}
