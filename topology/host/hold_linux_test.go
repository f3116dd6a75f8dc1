package host_test

import (
	"context"
	"strings"
	"testing"

	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/host"
	"github.com/runnerhub/runnerhub/topology/topologytest"
)

// A failed job can be looked into: in its folder, whether its command has ended or its shell still waits.
func TestHold(t *testing.T) {
	t.Parallel()
	const script = "echo left > file; exit 3"
	for name, spec := range map[string]*topology.Spec{
		"command": {Command: []string{"sh", "-c", script}},
		"steps":   {Steps: []topology.Step{{Name: "a", Run: script}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			word := "word" + topology.NewTag()
			executor := newExecutor(t, host.Options{})
			var in topology.Inside
			var out strings.Builder
			work := topology.Work{Identity: identity(), Spec: spec, Enter: func(i topology.Inside) { in = i }}
			work.Hold = func(ctx context.Context, _ topology.Result) {
				exit, err := in.Exec(ctx, "", topology.ExecSpec{
					Argv: []string{"sh", "-c", "cat file; cat; pwd; " + daemons(word)[2] + "\nexit 5"}, WorkingDir: "/workspace", Stdin: []byte("given\n"),
				}, func(_ topology.Stream, data []byte) { out.Write(data) })
				if err != nil || exit.Code != 5 {
					t.Errorf("%+v, %v", exit, err)
				}
			}
			r := executor.Run(t.Context(), work, &topologytest.Observer{})
			wantClass(t, r, topology.ClassScript, "3")
			if !strings.HasPrefix(out.String(), "left\ngiven\n/") || !strings.HasSuffix(out.String(), "/workspace\n") {
				t.Errorf("%q", out.String())
			}
			if err := executor.Close(t.Context()); err != nil {
				t.Error(err)
			}
			noneAlive(t, word)
		})
	}
}
