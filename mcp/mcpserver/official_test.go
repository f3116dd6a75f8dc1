package mcpserver_test

import (
	"encoding/json"
	"net/http"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/runnerhub/runnerhub/mcp"
)

// bearerTransport sends a token with each request.
type bearerTransport struct {
	token string
	next  http.RoundTripper
}

func (b bearerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.next.RoundTrip(r)
}

// The official SDK holds results against their output schemas, and cuts itself
// off from a server that answers a cancellation with an error.
func TestOfficialClient(t *testing.T) {
	t.Parallel()
	url := serve(t, &fakeJobs{})
	for token, tc := range map[string]struct {
		tool string
		args map[string]any
	}{
		personToken: {mcp.ToolGetJob, map[string]any{"job_id": "job_1"}},
		runnerToken: {mcp.ToolLeaseJob, map[string]any{"request_id": "r", "protocol": 1}},
	} {
		t.Run(token, func(t *testing.T) {
			t.Parallel()
			c := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
			session, err := c.Connect(t.Context(), &sdk.StreamableClientTransport{
				Endpoint:   url,
				HTTPClient: &http.Client{Transport: bearerTransport{token, &http.Transport{DisableKeepAlives: true}}},
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			if err := session.Ping(t.Context(), nil); err != nil {
				t.Logf("ping: %v", err) // the newest revision has none
			}
			tools, err := session.ListTools(t.Context(), nil)
			if err != nil || len(tools.Tools) == 0 {
				t.Fatalf("%+v, %v", tools, err)
			}
			res, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: tc.tool, Arguments: tc.args})
			if err != nil || res.IsError {
				t.Fatalf("%+v, %v", res, err)
			}
			if raw, err := json.Marshal(res.StructuredContent); err != nil || len(raw) < 10 {
				t.Errorf("structured content is %s, %v", raw, err)
			}
			res, err = session.CallTool(t.Context(), &sdk.CallToolParams{Name: tc.tool, Arguments: map[string]any{"x": 1}})
			if err != nil || !res.IsError || res.StructuredContent != nil {
				t.Errorf("wrong arguments answer %+v, %v", res, err)
			}
		})
	}
}
