package mcpserver_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/tiktoken-go/tokenizer"

	"github.com/runnerhub/runnerhub/hub/api"
	"github.com/runnerhub/runnerhub/mcp"
)

// post sends one message of the era before the newest as a person and returns the status and body of the answer.
func post(t testing.TB, url string, header map[string]string, message string) (int, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(message))
	if err != nil {
		t.Fatal(err)
	}
	req.Close = true
	req.Header.Set("Authorization", "Bearer "+personToken)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Mcp-Protocol-Version", "2025-11-25")
	for k, v := range header {
		req.Header.Set(k, v)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, body
}

const listTools = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`

func TestToolsetsNarrowTheList(t *testing.T) {
	t.Parallel()
	url := serve(t, &fakeJobs{})
	type header = map[string]string
	for _, c := range []struct {
		name   string
		path   string
		header header
		sees   func(o api.Operation) bool
	}{
		{"all", "", nil, func(api.Operation) bool { return true }},
		{"read-only", "/readonly", nil, func(o api.Operation) bool { return o.Hints.ReadOnly }},
		{"one", "/x/artifacts", nil, func(o api.Operation) bool { return o.Toolset == api.ArtifactTools }},
		{"two", "/x/Jobs, artifacts", nil, func(o api.Operation) bool { return o.Toolset == api.JobTools || o.Toolset == api.ArtifactTools }},
		{"all by name", "/x/all", nil, func(api.Operation) bool { return true }},
		{"one read-only", "/x/jobs/readonly", nil, func(o api.Operation) bool { return o.Toolset == api.JobTools && o.Hints.ReadOnly }},
		{"by header", "", header{"X-MCP-Toolsets": "runners,admin"}, func(o api.Operation) bool { return o.Toolset == api.RunnerTools || o.Toolset == api.AdminTools }},
		{"header and path", "/x/jobs,runners", header{"X-MCP-Toolsets": "runners,admin"}, func(o api.Operation) bool { return o.Toolset == api.RunnerTools }},
		{"read-only header", "/x/jobs", header{"X-MCP-Readonly": "true"}, func(o api.Operation) bool { return o.Toolset == api.JobTools && o.Hints.ReadOnly }},
		{"a header takes nothing back", "/readonly", header{"X-MCP-Readonly": "false"}, func(o api.Operation) bool { return o.Hints.ReadOnly }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			at := url + strings.ReplaceAll(c.path, " ", "%20")
			status, body := post(t, at, c.header, listTools)
			var got struct {
				Result struct {
					Tools []struct{ Name string }
				}
			}
			if err := json.Unmarshal(body, &got); err != nil || status != http.StatusOK {
				t.Fatalf("%d %s, %v", status, body, err)
			}
			var have, want []string
			for _, tool := range got.Result.Tools {
				have = append(have, tool.Name)
			}
			for _, o := range api.Operations(api.Services{}) {
				if o.HTTPOnly || o.Audience != api.People {
					continue
				}
				if c.sees(o) || o.Name == mcp.ToolWhoami {
					want = append(want, o.Name)
					continue
				}
				status, body := post(t, at, c.header, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+o.Name+`","arguments":{}}}`)
				if status != http.StatusOK && status != http.StatusBadRequest || !bytes.Contains(body, []byte("not found")) {
					t.Errorf("%s can be called: %d %s", o.Name, status, body)
				}
			}
			slices.Sort(want)
			if !slices.Equal(have, want) {
				t.Errorf("sees %v, want %v", have, want)
			}
		})
	}
	for path, header := range map[string]header{
		"/x/job":    nil,
		"/x/,":      nil,
		"/x/all":    {"X-MCP-Toolsets": ""},
		"":          {"X-MCP-Toolsets": "everything"},
		"/readonly": {"X-MCP-Readonly": "maybe"},
	} {
		if status, body := post(t, url+path, header, listTools); status != http.StatusBadRequest || !bytes.Contains(body, []byte("invalid_argument")) {
			t.Errorf("%s %v: %d %s", path, header, status, body)
		}
	}
}

// maxListTokens is what the list of all tools may cost an agent that reads it.
const maxListTokens = 6000

func TestListOfToolsIsCheapToRead(t *testing.T) {
	t.Parallel()
	codec, err := tokenizer.Get(tokenizer.O200kBase)
	if err != nil {
		t.Fatal(err)
	}
	url := serve(t, &fakeJobs{})
	for path, limit := range map[string]int{"": maxListTokens, "/x/jobs,artifacts": 5000, "/readonly": 3500} {
		_, body := post(t, url+path, nil, listTools)
		n, err := codec.Count(string(body))
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("/mcp%s: %d tokens, %d bytes", path, n, len(body))
		if n > limit || n < limit/2 {
			t.Errorf("the list at /mcp%s has %d tokens, and may have %d", path, n, limit)
		}
	}
}
