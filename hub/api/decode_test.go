package api_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/runnerhub/runnerhub/hub/api"
	"github.com/runnerhub/runnerhub/hub/dispatch"
	"github.com/runnerhub/runnerhub/mcp"
)

func TestWrongArgumentsAreToldInWords(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 200)
	proof := `"job_id":"job_1","attempt":1,"lease_epoch":1,"lease_token":"lse_1"`
	for name, tc := range map[string]struct {
		tool, args, want string
	}{
		"unknown field":         {mcp.ToolGetJob, `{"job_id":"job_1","verbose":true}`, "verbose is not a known field; known are job_id"},
		"misspelt field":        {mcp.ToolWaitJob, `{"job_id":"job_1","curser":"x"}`, "curser is not a known field; did you mean cursor?"},
		"other case":            {mcp.ToolGetJob, `{"Job_ID":"job_1","job_id":"job_1"}`, "Job_ID is not a known field; did you mean job_id?"},
		"no fields at all":      {mcp.ToolWhoami, `{"x":1}`, "x is not a known field; there are none here"},
		"missing field":         {mcp.ToolGetJob, ``, "job_id is required"},
		"null for a required":   {mcp.ToolGetJob, `{"job_id":null}`, "job_id must be a string, not null"},
		"empty required":        {mcp.ToolGetJob, `{"job_id":""}`, "job_id must not be empty"},
		"text for a number":     {mcp.ToolListJobs, `{"limit":"20"}`, "limit must be an integer, not a string"},
		"fraction":              {mcp.ToolListJobs, `{"limit":2.5}`, "limit must be an integer, not a number"},
		"number for text":       {mcp.ToolGetJob, `{"job_id":7}`, "job_id must be a string, not an integer"},
		"list for spec":         {mcp.ToolSubmitJob, `{"spec":[]}`, "spec must be a string or an object, not an array"},
		"over a limit":          {mcp.ToolWaitJob, `{"job_id":"job_1","wait_ms":25001}`, "wait_ms must be between 0 and 25000, not 25001"},
		"under a limit":         {mcp.ToolListJobs, `{"limit":0}`, "limit must be between 1 and 100, not 0"},
		"priority":              {mcp.ToolSubmitJob, `{"spec":"image: x","priority":101}`, "priority must be between -100 and 100, not 101"},
		"too long":              {mcp.ToolCancelJob, `{"job_id":"job_1","reason":"` + long + `x"}`, "reason has 201 bytes; at most 200 are allowed"},
		"unknown word":          {mcp.ToolListJobs, `{"state":"done"}`, `state must be one of active, queued`},
		"not JSON":              {mcp.ToolGetJob, `{"job_id":`, "the arguments are not JSON: they end in the middle"},
		"two values":            {mcp.ToolGetJob, `{"job_id":"job_1"} {}`, "the arguments are not JSON: something follows the object"},
		"no object":             {mcp.ToolGetJob, `["job_1"]`, "must be an object, not an array"},
		"no time":               {mcp.ToolListJobs, `{"since":"yesterday"}`, "since must be a time such as"},
		"number beyond int64":   {mcp.ToolHeartbeatJob, `{"job_id":"job_1","attempt":1,"lease_epoch":99999999999999999999,"lease_token":"t","phase":"running"}`, "lease_epoch"},
		"nested in a list":      {mcp.ToolSubmitJobResult, `{` + proof + `,"result":{"status":"failed","steps":[{"name":"a","status":"meh","duration_ms":1}],"usage":{"cpu_ms":1,"memory_peak_bytes":1,"wall_ms":1},"leaks":{"containers":0,"networks":0,"volumes":0}}}`, "result.steps[0].status must be one of"},
		"too many in a list":    {mcp.ToolPairRunner, `{"labels":[` + strings.Repeat(`"a",`, 20) + `"a"]}`, "labels has 21 items; at most 20 are allowed"},
		"wrong thing in a list": {mcp.ToolPairRunner, `{"labels":["a",1]}`, "labels[1] must be a string, not an integer"},
		"very long name":        {mcp.ToolGetJob, `{"job_id":"job_1","` + strings.Repeat("y", 5000) + `":1}`, "is not a known field; known are job_id"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := person
			if tc.tool == mcp.ToolHeartbeatJob || tc.tool == mcp.ToolSubmitJobResult {
				p = runner
			}
			s := api.Services{Jobs: &fakeJobs{}, Roster: &fakeRoster{}}
			_, _, f := call[any](t, s, tc.tool, p, tc.args)
			if f == nil {
				t.Fatal("it was accepted")
			}
			if f.Code != mcp.CodeInvalidArgument || !strings.Contains(f.Message, tc.want) {
				t.Errorf("got %s: %s\nwant %s", f.Code, f.Message, tc.want)
			}
			if len(f.Message) > 400 {
				t.Errorf("the message has %d bytes", len(f.Message))
			}
		})
	}
}

// A runner of a newer release tells more than this hub knows, wherever in its arguments. It is heard all the same.
func TestWhatANewerRunnerTellsIsLeftOut(t *testing.T) {
	t.Parallel()
	proof := `"job_id":"job_1","attempt":1,"lease_epoch":1,"lease_token":"lse_1","weather":"fine"`
	for tool, args := range map[string]string{
		mcp.ToolLeaseJob:     `{"request_id":"r","protocol":1,"weather":"fine","status":{"text":"","level":"ok","icon":"x"}}`,
		mcp.ToolHeartbeatJob: `{` + proof + `,"phase":"running"}`,
		mcp.ToolSubmitJobResult: `{` + proof + `,"result":{"status":"succeeded","trace":{"id":"x"},"usage":{"cpu_ms":1,"memory_peak_bytes":1,"wall_ms":1,"gpu":1},
			"steps":[{"name":"a","status":"succeeded","duration_ms":1,"retries":2}],"leaks":{"containers":0,"networks":0,"volumes":0,"images":0}}}`,
		mcp.ToolFailJob:    `{` + proof + `,"class":"internal","message":"it broke"}`,
		mcp.ToolReleaseJob: `{` + proof + `}`,
	} {
		// The use cases of this table are not there: what is looked at is that the arguments are taken.
		if _, _, f := call[any](t, api.Services{Jobs: &fakeJobs{}}, tool, runner, args); f != nil && f.Code == mcp.CodeInvalidArgument {
			t.Errorf("%s: %s", tool, f.Message)
		}
	}
}

func TestAllFaultsAreToldAtOnce(t *testing.T) {
	t.Parallel()
	_, _, f := call[any](t, api.Services{Jobs: &fakeJobs{}}, mcp.ToolWaitJob, person, `{"wait_ms":-1,"follow":"forever","x":1}`)
	problems, ok := f.Details["fields"].([]api.Problem)
	if !ok || len(problems) != 4 {
		t.Fatalf("details are %+v", f.Details)
	}
	if !strings.Contains(f.Message, "(and 3 more, see details)") {
		t.Errorf("message is %q", f.Message)
	}
}

func TestSpecComesAsTextOrObject(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ args, want string }{
		"yaml":                       {`{"spec":"image: alpine\nsteps: []\n"}`, "image: alpine\nsteps: []\n"},
		"object":                     {`{"spec":{"image":"alpine","n":9007199254740993}}`, `{"image":"alpine","n":9007199254740993}`},
		"null for an optional field": {`{"spec":"a","target":null,"wait_ms":null}`, "a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got dispatch.SubmitRequest
			jobs := &fakeJobs{submit: func(r dispatch.SubmitRequest) (dispatch.SubmitResult, error) {
				got = r
				return dispatch.SubmitResult{}, nil
			}}
			if _, _, f := call[any](t, api.Services{Jobs: jobs}, mcp.ToolSubmitJob, person, tc.args); f != nil {
				t.Fatal(f)
			}
			if string(got.Spec) != tc.want {
				t.Errorf("spec is %q, want %q", got.Spec, tc.want)
			}
		})
	}
}

func FuzzArguments(f *testing.F) {
	f.Add(`{"spec":"a","priority":1}`)
	f.Add(`{"spec":{"a":[1,2,{"b":null}]},"workspace":"\ud800"}`)
	f.Add(`[]`)
	f.Fuzz(func(t *testing.T, args string) {
		jobs := &fakeJobs{submit: func(dispatch.SubmitRequest) (dispatch.SubmitResult, error) { return dispatch.SubmitResult{}, nil }}
		_, _, fault := call[any](t, api.Services{Jobs: jobs}, mcp.ToolSubmitJob, person, args)
		if fault != nil && fault.Code != mcp.CodeInvalidArgument {
			t.Fatalf("%q: %v", args, fault)
		}
		if fault == nil && !json.Valid([]byte(args)) {
			t.Fatalf("%q was accepted", args)
		}
	})
}
