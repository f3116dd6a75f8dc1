package mcpserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	mcpgo "github.com/mark3labs/mcp-go/mcp"

	"github.com/runnerhub/runnerhub/hub/api"
	"github.com/runnerhub/runnerhub/hub/dispatch"
	"github.com/runnerhub/runnerhub/mcp"
)

// eras are a client of the newest revision, one with a handshake, and one from
// before structured content.
var eras = []string{mcpgo.ProtocolVersion20260728, "2025-11-25", "2025-03-26"}

func connect(t *testing.T, url, token, version string) *client.Client {
	t.Helper()
	inner, err := transport.NewStreamableHTTP(url,
		transport.WithHTTPBasicClient(&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}),
		transport.WithHTTPHeaders(map[string]string{"Authorization": "Bearer " + token}))
	if err != nil {
		t.Fatal(err)
	}
	c := client.NewClient(inner, client.WithProtocolVersion(version))
	t.Cleanup(func() { _ = c.Close() })
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	var req mcpgo.InitializeRequest
	req.Params.ProtocolVersion = version
	req.Params.ClientInfo = mcpgo.Implementation{Name: "test", Version: "1"}
	res, err := c.Initialize(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(res.Instructions, "submit_job") || res.ServerInfo.Name != "runnerhub" {
		t.Errorf("the server introduces itself as %+v", res)
	}
	return c
}

func callTool(t *testing.T, c *client.Client, name string, args any) (*mcpgo.CallToolResult, error) {
	t.Helper()
	var req mcpgo.CallToolRequest
	req.Params.Name, req.Params.Arguments = name, args
	return c.CallTool(t.Context(), req)
}

func TestEachTokenSeesItsToolsOnly(t *testing.T) {
	t.Parallel()
	url := serve(t, &fakeJobs{})
	for token, audience := range map[string]api.Audience{personToken: api.People, runnerToken: api.Runner} {
		for _, era := range eras {
			t.Run(string(audience)+" "+era, func(t *testing.T) {
				t.Parallel()
				c := connect(t, url, token, era)
				list, err := c.ListTools(t.Context(), mcpgo.ListToolsRequest{})
				if err != nil {
					t.Fatal(err)
				}
				var have, want []string
				for _, tool := range list.Tools {
					have = append(have, tool.Name)
				}
				for _, o := range api.Operations(api.Services{}) {
					if o.HTTPOnly {
						continue
					}
					if o.Audience == audience {
						want = append(want, o.Name)
						continue
					}
					// What is not listed cannot be called either, and looks as if it did not exist.
					got, err := callTool(t, c, o.Name, map[string]any{})
					if err != nil || !got.IsError || got.Meta.AdditionalFields["message"] != "tool not found: "+o.Name {
						t.Errorf("%s answers %+v, %v", o.Name, got, err)
					}
				}
				slices.Sort(want)
				if !slices.Equal(have, want) {
					t.Errorf("sees %v, want %v", have, want)
				}
			})
		}
	}
}

func TestResultIsStructuredWithALineOfText(t *testing.T) {
	t.Parallel()
	url := serve(t, &fakeJobs{})
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			res, err := callTool(t, connect(t, url, personToken, era), mcp.ToolGetJob, map[string]any{"job_id": "job_1"})
			if err != nil || res.IsError {
				t.Fatalf("%+v, %v", res, err)
			}
			raw, err := json.Marshal(res.StructuredContent)
			if err != nil {
				t.Fatal(err)
			}
			var out mcp.GetJobResult
			if err := json.Unmarshal(raw, &out); err != nil || out.Job.ID != "job_1" {
				t.Errorf("structured content is %s", raw)
			}
			texts := textOf(t, res)
			if texts[0] != "job_1: queued. Next: wait_job with follow=end." {
				t.Errorf("text is %q", texts)
			}
			old := era < "2025-06-18"
			if old != (len(texts) == 2) || (old && !strings.Contains(texts[1], `"id":"job_1"`)) {
				t.Errorf("texts are %q", texts)
			}
		})
	}
}

func textOf(t *testing.T, res *mcpgo.CallToolResult) []string {
	t.Helper()
	var out []string
	for _, c := range res.Content {
		text, ok := c.(mcpgo.TextContent)
		if !ok {
			t.Fatalf("content is %T", c)
		}
		out = append(out, text.Text)
	}
	return out
}

func TestErrorHasCodeAndNoStructuredContent(t *testing.T) {
	t.Parallel()
	const secret = "postgres://hub:hunter2@db"
	url := serve(t, &fakeJobs{get: func(context.Context, string) (dispatch.JobView, error) {
		return dispatch.JobView{}, errors.New(secret)
	}})
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			c := connect(t, url, personToken, era)
			res, err := callTool(t, c, mcp.ToolSubmitJob, map[string]any{"spec": "steps: []"})
			if err != nil || !res.IsError || res.StructuredContent != nil {
				t.Fatalf("%+v, %v", res, err)
			}
			meta := res.Meta.AdditionalFields
			if meta["code"] != "invalid_argument" || meta["retryable"] != false || meta["hint"] != "correct it and call check_job" {
				t.Errorf("_meta is %v", meta)
			}
			if text := textOf(t, res)[0]; !strings.Contains(text, "invalid_argument: the spec has a fault\nHint: correct it and call check_job\nDetails: ") ||
				!strings.Contains(text, `"field":"image"`) {
				t.Errorf("text is %q", text)
			}
			res, err = callTool(t, c, mcp.ToolGetJob, map[string]any{"job_id": "job_1"})
			if err != nil || !res.IsError || res.Meta.AdditionalFields["code"] != "internal" {
				t.Fatalf("%+v, %v", res, err)
			}
			if all := strings.Join(textOf(t, res), "\n"); strings.Contains(all, "hunter2") {
				t.Errorf("the client sees %q", all)
			}
			res, err = callTool(t, c, mcp.ToolWaitJob, map[string]any{"job_id": "job_1"}) // the fake has none: a panic
			if err != nil || !res.IsError || res.Meta.AdditionalFields["code"] != "internal" {
				t.Fatalf("%+v, %v", res, err)
			}
			res, err = callTool(t, c, mcp.ToolGetJob, map[string]any{"job": "job_1"})
			if err != nil || !res.IsError || !strings.Contains(textOf(t, res)[0], "did you mean job_id?") {
				t.Fatalf("%+v, %v", res, err)
			}
		})
	}
}

func TestRunnerLeasesOverBothEras(t *testing.T) {
	t.Parallel()
	url := serve(t, &fakeJobs{})
	for _, era := range eras {
		res, err := callTool(t, connect(t, url, runnerToken, era), mcp.ToolLeaseJob, map[string]any{"request_id": "r", "protocol": 1})
		if err != nil || res.IsError {
			t.Fatalf("%s: %+v, %v", era, res, err)
		}
		if text := textOf(t, res)[0]; !strings.Contains(text, "job_1") || strings.Contains(text, "lse_1") {
			t.Errorf("%s: text is %q", era, text)
		}
	}
}
