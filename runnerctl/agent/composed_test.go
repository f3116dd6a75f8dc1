package agent_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/runnerhub/runnerhub/runnerctl/agent"
	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/topologytest"
)

// A job's Compose files are read before it runs, and what they ask of the machine is
// refused like what a spec asks.
func TestComposeFilesAreRead(t *testing.T) {
	filled := func(services map[string]topology.Service, failure *topology.Failure) agent.Compose {
		return func(_ context.Context, _ string, spec *topology.Spec) (*topology.Spec, []string, *topology.Failure) {
			out := *spec
			out.Services = services
			return &out, []string{"restart has no effect"}, failure
		}
	}
	tests := map[string]struct {
		compose agent.Compose
		want    string // status, class and words of the message
	}{
		"filled in": {filled(map[string]topology.Service{"web": {Image: "web"}}, nil), "succeeded"},
		"a failure": {filled(nil, &topology.Failure{Class: topology.ClassSource, Message: "no such file"}), "failed source no such file"},
		"too slow": {func(ctx context.Context, _ string, _ *topology.Spec) (*topology.Spec, []string, *topology.Failure) {
			<-ctx.Done()
			return nil, nil, &topology.Failure{Class: topology.ClassCanceled}
		}, "timed_out timeout Compose files were read"},
		"a demand": {filled(map[string]topology.Service{"web": {Powers: topology.Powers{Privileged: true}}}, nil),
			"failed policy_denied the service web asks to be privileged (rule privileged)"},
		"none to read it": {nil, "failed spec_invalid reads no Compose files"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := newHub()
				h.Submit("a", "image: x\ncompose: compose.yaml\ntimeout: 5s\n")
				ran := topologytest.NewExecutor(func(_ context.Context, work topology.Work, _ topology.Observer) topology.Result {
					if work.Spec.Services["web"].Image != "web" {
						t.Errorf("%+v", work.Spec)
					}
					return topology.Result{Status: topology.Succeeded}
				})
				r := start(t, agent.Config{Client: h, Executor: ran, Compose: tt.compose, Once: true})
				j := settled(t, h, "a")
				if err := r.end(); err != nil {
					t.Error(err)
				}
				if len(j.Results) != 1 {
					t.Fatalf("%+v", j)
				}
				got := j.Results[0].Status
				if f := j.Results[0].Failure; f != nil {
					got += " " + f.Class + " " + f.Message
				}
				class, words := tt.want, ""
				if parts := strings.SplitN(tt.want, " ", 3); len(parts) == 3 {
					class, words = parts[0]+" "+parts[1], parts[2]
				}
				if !strings.HasPrefix(got, class) || !strings.Contains(got, words) {
					t.Errorf("%q, want %q", got, tt.want)
				}
				if log := j.Logs[1].String(); tt.want == "succeeded" && !strings.Contains(log, "restart has no effect") {
					t.Errorf("log %q", log)
				}
			})
		})
	}
}

// What only an owner can allow is refused before anything is started.
func TestDemandsAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub()
		h.Submit("a", "image: x\nservices: {vpn: {image: y, cap_add: [NET_ADMIN]}}\n")
		r := start(t, agent.Config{Client: h})
		j := settled(t, h, "a")
		r.kill()
		f := j.Results[0].Failure
		if f == nil || f.Class != "policy_denied" || !strings.Contains(f.Message, "the service vpn asks for the capability NET_ADMIN") {
			t.Errorf("%+v", f)
		}
	})
}
