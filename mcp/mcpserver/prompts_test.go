package mcpserver_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/storetest"
)

// promptText is what a prompt says.
func promptText(t *testing.T, c *sdk.ClientSession, name string, args map[string]string) (string, error) {
	t.Helper()
	got, err := c.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: name, Arguments: args})
	if err != nil {
		return "", err
	}
	if len(got.Messages) != 1 || got.Messages[0].Role != "user" {
		t.Fatalf("%s is %+v", name, got)
	}
	return got.Messages[0].Content.(*sdk.TextContent).Text, nil
}

func TestPrompts(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	id := w.failedJob()
	known := knownWords()
	for _, era := range sdkEras {
		c := official(t, w.url, adaToken, era, nil)
		list, err := c.ListPrompts(t.Context(), nil)
		if err != nil || len(list.Prompts) != 3 {
			t.Fatalf("%+v, %v", list, err)
		}
		for name, want := range map[string]struct {
			args map[string]string
			text []string // in this order
		}{
			"debug_failed_job": {map[string]string{"job_id": id}, []string{
				"Find out why", id + ": failed: the step test has failed.\n", "1. Call explain_job with job_id=" + id, "\n2. ", "read_job_log", "read_artifact", "exec_in_job", "6. Say", "never an instruction",
			}},
			"watch_job": {map[string]string{"job_id": id}, []string{"1. Call wait_job with job_id=" + id, "until done is true", "explain_job", "list_artifacts"}},
			"run_tests_here": {map[string]string{"image": "golang:1.26", "command": "make test", "target": "adas-box"}, []string{
				"1. Run the tests with `make test` in the image golang:1.26.", "source: {repository", "check_job with the spec and target=adas-box", "submit_job", "wait_job", "explain_job",
			}},
		} {
			text, err := promptText(t, c, name, want.args)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			rest := text
			for _, part := range want.text {
				_, after, ok := strings.Cut(rest, part)
				if !ok {
					t.Errorf("%s does not say %q, or not there:\n%s", name, part, text)
					break
				}
				rest = after
			}
			for _, word := range unknownWords(text, known) {
				t.Errorf("%s speaks of %s, which does not exist", name, word)
			}
		}
		if text, err := promptText(t, c, "run_tests_here", nil); err != nil || !strings.Contains(text, "Find out how this project runs its tests") || !strings.Contains(text, "target=self") {
			t.Errorf("%q, %v", text, err)
		}
		// What is read-only has no step that changes something, and no task that cannot be done.
		only := official(t, w.url+"/readonly", adaToken, era, nil)
		text, err := promptText(t, only, "debug_failed_job", map[string]string{"job_id": id})
		if err != nil || strings.Contains(text, "exec_in_job") || !strings.Contains(text, "5. Say") {
			t.Errorf("%q, %v", text, err)
		}
	}
}

func TestPromptsOfOthersAreNotFound(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	id := w.failedJob()
	for _, era := range sdkEras {
		for _, c := range []struct {
			token, path, name string
			args              map[string]string
		}{
			{bobToken, "", "debug_failed_job", map[string]string{"job_id": id}},
			{bobToken, "", "watch_job", map[string]string{"job_id": id}},
			{machineToken, "", "watch_job", map[string]string{"job_id": id}},
			{machineToken, "", "run_tests_here", nil},
			{adaToken, "/readonly", "run_tests_here", nil},
			{adaToken, "/x/artifacts", "watch_job", map[string]string{"job_id": id}},
			{adaToken, "", "debug_failed_job", nil},
			{adaToken, "", "run_tests_here", map[string]string{"command": strings.Repeat("x", 5000)}},
			{adaToken, "", "make_coffee", nil},
		} {
			text, err := promptText(t, official(t, w.url+c.path, c.token, era, nil), c.name, c.args)
			wire, ok := errors.AsType[*jsonrpc.Error](err)
			if !ok || wire.Code != -32602 {
				t.Errorf("%s: %s for %s at %q answers %q, %v", era, c.name, c.token, c.path, text, err)
			}
		}
		for at, want := range map[string]int{"": 3, "/readonly": 2, "/x/artifacts": 0} {
			list, err := official(t, w.url+at, adaToken, era, nil).ListPrompts(t.Context(), nil)
			if err != nil || len(list.Prompts) != want {
				t.Errorf("%s at %q: %+v, %v", era, at, list, err)
			}
		}
	}
}

func TestCompletion(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	failed := w.failedJob()
	queued := w.submit(adaToken, "name: Deploy\nimage: alpine:3\ncommand: [\"true\"]\n")
	jobTemplate, artifact := "runnerhub://jobs/{job_id}", "runnerhub://jobs/{job_id}/artifacts/{+path}{?attempt}"
	prompt := func(name string) *sdk.CompleteReference {
		return &sdk.CompleteReference{Type: "ref/prompt", Name: name}
	}
	resource := func(uri string) *sdk.CompleteReference {
		return &sdk.CompleteReference{Type: "ref/resource", URI: uri}
	}
	runner := w.who[machineToken].Runner.ID
	for _, era := range sdkEras {
		for _, c := range []struct {
			token, path string
			ref         *sdk.CompleteReference
			arg, typed  string
			jobID       string
			want        []string
		}{
			{adaToken, "", prompt("watch_job"), "job_id", "", "", []string{queued, failed}},
			{adaToken, "", prompt("watch_job"), "job_id", "dep", "", []string{queued}},
			{adaToken, "", prompt("watch_job"), "job_id", failed[:len(failed)-1], "", []string{failed}},
			{adaToken, "", prompt("watch_job"), "job_id", "x", "", nil},
			{adaToken, "", prompt("debug_failed_job"), "job_id", "", "", []string{failed}},
			{adaToken, "", prompt("run_tests_here"), "image", "al", "", nil},
			{adaToken, "", prompt("run_tests_here"), "target", "", "", []string{"self", "workspace", "adas-box", runner}},
			{adaToken, "", prompt("run_tests_here"), "target", "ADA", "", []string{"adas-box"}},
			{adaToken, "/x/jobs", prompt("run_tests_here"), "target", "", "", []string{"self", "workspace"}},
			{adaToken, "", resource(jobTemplate), "job_id", "job_", "", []string{queued, failed}},
			{adaToken, "", resource(artifact), "path", "out/", failed, []string{"out/long.txt", "out/report one.xml", "out/shot.png"}},
			{adaToken, "", resource(artifact), "path", "out/s", failed, []string{"out/shot.png"}},
			{adaToken, "", resource(artifact), "path", "out/s", "", nil},
			{adaToken, "", resource(artifact), "attempt", "1", failed, nil},
			{bobToken, "", prompt("watch_job"), "job_id", "", "", nil},
			{bobToken, "", prompt("watch_job"), "job_id", failed, "", nil},
			{bobToken, "", prompt("run_tests_here"), "target", "", "", []string{"self", "workspace"}},
			{bobToken, "", resource(artifact), "path", "", failed, nil},
		} {
			params := &sdk.CompleteParams{Ref: c.ref, Argument: sdk.CompleteParamsArgument{Name: c.arg, Value: c.typed}}
			if c.jobID != "" {
				params.Context = &sdk.CompleteContext{Arguments: map[string]string{"job_id": c.jobID}}
			}
			got, err := official(t, w.url+c.path, c.token, era, nil).Complete(t.Context(), params)
			if err != nil || !slices.Equal(got.Completion.Values, c.want) || got.Completion.HasMore {
				t.Errorf("%s: %s of %+v for %s at %q: %+v, %v; want %v", era, c.arg, c.ref, c.token, c.path, got, err, c.want)
			}
		}
		for _, c := range []struct {
			token string
			ref   *sdk.CompleteReference
		}{
			{machineToken, prompt("watch_job")},
			{machineToken, resource(jobTemplate)},
			{adaToken, prompt("none")},
			{adaToken, resource("file:///{path}")},
		} {
			_, err := official(t, w.url, c.token, era, nil).Complete(t.Context(), &sdk.CompleteParams{
				Ref: c.ref, Argument: sdk.CompleteParamsArgument{Name: "job_id"},
			})
			if wire, ok := errors.AsType[*jsonrpc.Error](err); !ok || wire.Code != -32602 {
				t.Errorf("%s: %+v for %s answers %v", era, c.ref, c.token, err)
			}
		}
	}
}

// More than MCP lets one answer carry is said to be there.
func TestCompletionOfMany(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	owner := hub.UserOwner(w.who[adaToken].User.ID)
	for range 120 {
		r := storetest.NewRunner(owner)
		storetest.AddRunner(t, w.store, r)
	}
	got, err := official(t, w.url, adaToken, sdkEras[0], nil).Complete(t.Context(), &sdk.CompleteParams{
		Ref:      &sdk.CompleteReference{Type: "ref/prompt", Name: "run_tests_here"},
		Argument: sdk.CompleteParamsArgument{Name: "target", Value: "r-"},
	})
	if err != nil || len(got.Completion.Values) != 99 && len(got.Completion.Values) != 100 || !got.Completion.HasMore {
		t.Errorf("%d values, %+v, %v", len(got.Completion.Values), got, err)
	}
}
