package runnerctl_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/runnerhub/runnerhub/runnerctl/cmd/doctor"
	"github.com/runnerhub/runnerhub/runnerctl/cmdutil"
	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/docker"
	"github.com/runnerhub/runnerhub/topology/topologytest"
)

// realEngine gives commands the Docker engine that make test-setup starts.
func realEngine(f *cmdutil.Factory) {
	f.Now = time.Now // which is compared with the hub's
	f.NewExecutor = func(ctx context.Context) (topology.Executor, error) { return docker.New(ctx, docker.Options{}) }
	f.SurveyEngine = func(ctx context.Context) topology.Survey { return docker.SurveyEngine(ctx, docker.Options{}) }
}

// findings are checks by their names; where there are several of one name, the worst.
func findings(t *testing.T, checks []doctor.Check) map[string]doctor.Check {
	t.Helper()
	rank := map[string]int{doctor.OK: 1, doctor.Warn: 2, doctor.Fail: 3}
	out := map[string]doctor.Check{}
	for _, c := range checks {
		if rank[c.State] == 0 || c.Text == "" || c.State == doctor.OK && c.Mend != "" {
			t.Errorf("no check: %+v", c)
		}
		if rank[c.State] > rank[out[c.Name].State] {
			out[c.Name] = c
		}
	}
	return out
}

// On a machine where all is well every limit is measured, and holds.
func TestDoctorMeasuresOnTheEngine(t *testing.T) {
	t.Parallel()
	m, h := onHub(t)
	m.ok("pair", "--label", "box", "--hub", h.URL)
	r := m.start("", realEngine, "doctor", "--json", "--image", "runnerhub/busybox:local").wait()
	found := findings(t, decode[[]doctor.Check](t, r.stdout))
	for name, says := range map[string]string{
		"socket": "is used", "api": "1.41 or later", "engine": "docker", "container": "ran in", "memory": "the limit holds",
		"pids": "the limit holds", "cpus": "held back", "dns": "finds its services", "keyring": "the test's keyring",
		"policy": "the default", "hub": h.URL, "proxy": "none", "clock": "agrees", "runner": "paired as box",
	} {
		if c := found[name]; c.State != doctor.OK || !strings.Contains(c.Text, says) {
			t.Errorf("%s: %+v, want %q", name, c, says)
		}
	}
	for _, name := range []string{"disk", "images", "registry"} { // whose state is the machine's
		if found[name].State == "" {
			t.Errorf("nothing is said of %s", name)
		}
	}
}

// hungry is an engine that keeps no limit and resolves no name.
func hungry(_ context.Context, w topology.Work, obs topology.Observer) topology.Result {
	zero, one := 0, 1
	if len(w.Spec.Services) > 0 {
		topologytest.Log(obs, "can't resolve 'probe'")
		return topology.Result{Status: topology.Failed, ExitCode: &one, Failure: &topology.Failure{Class: topology.ClassScript, Message: "The job exited with code 1."}}
	}
	if len(w.Spec.Steps) > 0 {
		topologytest.Log(obs, "nr_throttled 0")
	}
	return topology.Result{Status: topology.Succeeded, ExitCode: &zero}
}

func TestDoctorFindsWhatIsBroken(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	late := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", m.begun.Add(-time.Hour).UTC().Format(http.TimeFormat))
		_, _ = w.Write([]byte(`{"status":"ok"}`))
	}))
	t.Cleanup(late.Close)
	m.write("config/profiles.json", `{"profiles": {
		"away": {"hub": "http://127.0.0.1:1", "storage": "keyring", "runner_id": "rnr-1", "label": "a", "owner": "o"},
		"late": {"hub": "`+late.URL+`", "storage": "keyring", "runner_id": "rnr-2", "label": "b", "owner": "o"}}}`)
	m.write("config/policy.yaml", "privilege: true\n")
	m.keyring.broken = errors.New("it is locked")
	m.executor = topologytest.NewExecutor(hungry)
	survey := topology.Survey{
		API: "1.43", OldestAPI: "1.41", LogIns: []topology.LogIn{{Registry: "ghcr.io", Err: errors.New("the helper is gone")}},
		Endpoints: []topology.SurveyedEndpoint{
			{Host: "unix:///run/a.sock", Source: "the usual place", Err: errors.New("no such file")},
			{Host: "unix:///run/b.sock", Source: "rootless Docker", Used: true},
		},
	}
	examined := func(args ...string) ran {
		return m.start("", func(f *cmdutil.Factory) {
			f.SurveyEngine = func(context.Context) topology.Survey { return survey }
		}, append([]string{"doctor"}, args...)...).wait()
	}
	r := examined("--json")
	if r.code != 1 {
		t.Errorf("exit code %d: %s", r.code, r.stderr)
	}
	found := findings(t, decode[[]doctor.Check](t, r.stdout))
	for name, want := range map[string]doctor.Check{
		"memory":   {State: doctor.Warn, Text: "the limit does not hold"},
		"pids":     {State: doctor.Warn, Text: "the limit does not hold"},
		"cpus":     {State: doctor.Warn, Text: "the limit does not hold"},
		"dns":      {State: doctor.Fail, Text: "can't resolve 'probe'"},
		"registry": {State: doctor.Warn, Text: "the helper is gone", Mend: "docker login ghcr.io"},
		"policy":   {State: doctor.Fail, Text: "line 1, column 1: privilege", Mend: "runnerctl policy edit"},
		"keyring":  {State: doctor.Warn, Text: "it is locked", Mend: "--insecure-storage"},
		"hub":      {State: doctor.Fail, Text: "http://127.0.0.1:1 (profile away) is not in reach", Mend: "curl -v http://127.0.0.1:1/healthz"},
		"clock":    {State: doctor.Fail, Text: "it is 1h0m0s off", Mend: "set-ntp"},
		"runner":   {State: doctor.Fail, Text: "it is locked", Mend: "runnerctl pair"},
	} {
		if c := found[name]; c.State != want.State || !strings.Contains(c.Text, want.Text) || !strings.Contains(c.Mend, want.Mend) {
			t.Errorf("%s: %+v, want %+v", name, c, want)
		}
	}
	if text := examined().stdout; !strings.Contains(text, "socket    unix:///run/b.sock is used: the first that answers (rootless Docker)") ||
		!strings.Contains(text, "ok    socket    unix:///run/a.sock is not used (the usual place): no such file") ||
		!strings.Contains(text, "\n                mend it: runnerctl policy edit\n") {
		t.Errorf("in words:\n%s", text)
	}
	// Without an engine nothing is measured.
	survey = topology.Survey{Endpoints: []topology.SurveyedEndpoint{{Host: "tcp://nowhere", Source: "DOCKER_HOST", Chosen: true, Err: errors.New("refused")}}}
	found = findings(t, decode[[]doctor.Check](t, examined("--json").stdout))
	if c := found["socket"]; c.State != doctor.Fail || !strings.Contains(c.Text, "no other is tried") || !strings.Contains(c.Mend, "unset DOCKER_HOST") {
		t.Errorf("%+v", c)
	}
	if found["engine"].State != doctor.Fail || found["memory"].State != "" {
		t.Errorf("%+v", found)
	}
	survey = topology.Survey{Err: errors.New("no such context")}
	if found = findings(t, decode[[]doctor.Check](t, examined("--json").stdout)); found["engine"].State != doctor.Fail || found["engine"].Mend != "docker context use default" {
		t.Errorf("%+v", found)
	}
}

// What a machine does without is no fault: a keyring where a file was chosen, a registry where images are there.
func TestDoctorLeavesAloneWhatIsNotUsed(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.keyring.broken = errors.New("there is none")
	pull := &topology.Failure{Class: topology.ClassImagePull, Message: "no registry is in reach"}
	m.executor = topologytest.NewExecutor(func(context.Context, topology.Work, topology.Observer) topology.Result {
		return topology.Result{Status: topology.Failed, Failure: pull}
	})
	examined := func(profiles string, args ...string) (map[string]doctor.Check, int) {
		t.Helper()
		m.write("config/profiles.json", profiles)
		r := m.start("", func(f *cmdutil.Factory) {
			f.SurveyEngine = func(context.Context) topology.Survey {
				return topology.Survey{API: "1.43", OldestAPI: "1.41", Endpoints: []topology.SurveyedEndpoint{{Host: "unix:///run/a.sock", Used: true}}}
			}
		}, append([]string{"doctor", "--json"}, args...)...).wait()
		return findings(t, decode[[]doctor.Check](t, r.stdout)), r.code
	}
	const file = `{"hub": "http://127.0.0.1:1", "storage": "file", "runner_id": "rnr-1", "label": "a", "owner": "o"}`
	const locked = `{"hub": "http://127.0.0.1:1", "storage": "keyring", "runner_id": "rnr-2", "label": "b", "owner": "o"}`
	found, _ := examined(`{"profiles": {"a": ` + file + `}}`)
	if c := found["keyring"]; c.State != doctor.OK || !strings.Contains(c.Text, "credentials.json") || c.Mend != "" {
		t.Errorf("with all in a file: %+v", c)
	}
	found, _ = examined(`{"profiles": {"a": ` + file + `, "b": ` + locked + `}}`)
	if c := found["keyring"]; c.State != doctor.Warn {
		t.Errorf("with one in the keyring: %+v", c)
	}
	found, code := examined(`{"profiles": {}}`)
	if c := found["container"]; code != 0 || c.State != doctor.Warn || !strings.Contains(c.Text, "name an image that is here") || !strings.Contains(c.Mend, "--image") {
		t.Errorf("without a registry: exit code %d, %+v", code, c)
	}
	if c := found["keyring"]; c.State != doctor.Warn {
		t.Errorf("before anything was chosen: %+v", c)
	}
	found, code = examined(`{"profiles": {}}`, "--image", "acme/app")
	if c := found["container"]; code != 1 || c.State != doctor.Fail {
		t.Errorf("an image that was named: exit code %d, %+v", code, c)
	}
	pull.Class = topology.ClassInternal
	if found, code = examined(`{"profiles": {}}`); code != 1 || found["container"].State != doctor.Fail {
		t.Errorf("an engine that runs nothing: exit code %d, %+v", code, found["container"])
	}
}
