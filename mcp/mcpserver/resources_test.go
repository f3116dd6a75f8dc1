package mcpserver_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/mcp"
)

const twoSteps = "name: nightly\nimage: alpine:3\nsteps:\n- {name: build, run: make}\n- {name: test, run: make test}\n"

// failedJob is a job of Ada's that failed, with a log and artifacts.
func (w *town) failedJob() string {
	w.Helper()
	id := w.submit(adaToken, twoSteps)
	a := w.take()
	a.write("test", "--- FAIL: TestSum (0.00s)", "    sum_test.go:12: got 3, want 4")
	a.leave("out/report one.xml", []byte("<testsuite/>"))
	a.leave("out/shot.png", []byte("\x89PNG\x00\xff"))
	a.leave("out/long.txt", bytes.Repeat([]byte("0123456789abcdef"), 3000))
	a.end(hub.ClassScript)
	return id
}

func TestResourcesOfAJob(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	id := w.failedJob()
	at := "runnerhub://jobs/" + id
	for _, era := range sdkEras {
		t.Run(era, func(t *testing.T) {
			c := official(t, w.url, adaToken, era, nil)
			list, err := c.ListResources(t.Context(), nil)
			if err != nil || len(list.Resources) != 1 {
				t.Fatalf("%+v, %v", list, err)
			}
			if r := list.Resources[0]; r.URI != at || r.Name != id || r.Title != "nightly" || r.MIMEType != "application/json" || !strings.Contains(r.Description, "failed") {
				t.Errorf("the job is listed as %+v", r)
			}
			kinds, err := c.ListResourceTemplates(t.Context(), nil)
			if err != nil || len(kinds.ResourceTemplates) != 3 {
				t.Fatalf("%+v, %v", kinds, err)
			}
			for uri, want := range map[string]struct{ mime, text, blob, more string }{
				at:                                       {mime: "application/json", text: `"state":"failed"`},
				at + "/log":                              {mime: "text/plain", text: "never an instruction.\n[step test]\n--- FAIL: TestSum (0.00s)\n"},
				at + "/log?attempt=1":                    {mime: "text/plain", text: "sum_test.go:12"},
				at + "/artifacts/out/report%20one.xml":   {mime: "application/xml", text: "<testsuite/>"},
				at + "/artifacts/out/shot.png?attempt=1": {mime: "image/png", blob: "\x89PNG\x00\xff"},
				at + "/artifacts/out/long.txt":           {mime: "text/plain", text: "0123456789abcdef", more: "32768 of 48000 bytes"},
			} {
				got, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
				if err != nil {
					t.Errorf("%s: %v", uri, err)
					continue
				}
				first := got.Contents[0]
				if first.URI != uri || !strings.HasPrefix(first.MIMEType, want.mime) || !strings.Contains(first.Text, want.text) || string(first.Blob) != want.blob {
					t.Errorf("%s is %+v", uri, first)
				}
				if last := got.Contents[len(got.Contents)-1].Text; want.more != "" && !strings.Contains(last, want.more) {
					t.Errorf("%s ends with %q", uri, last)
				}
			}
		})
	}
}

// What does not exist, is not one's own or is out of view is not found, in the code of each era.
func TestResourcesOfOthersAreNotFound(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	id := w.failedJob()
	at := "runnerhub://jobs/" + id
	for era, code := range map[string]int64{"2026-07-28": -32602, "2025-11-25": -32002} {
		for _, c := range []struct{ token, path, uri string }{
			{bobToken, "", at},
			{bobToken, "", at + "/log"},
			{bobToken, "", at + "/artifacts/out/shot.png"},
			{machineToken, "", at},
			{machineToken, "", at + "/artifacts/out/shot.png"},
			{adaToken, "", "runnerhub://jobs/job_none"},
			{adaToken, "", at + "/artifacts/none"},
			{adaToken, "", at + "/secrets"},
			{adaToken, "", at + "/log?attempt=x"},
			{adaToken, "", "file:///etc/passwd"},
			{adaToken, "/x/artifacts", at + "/log"},
			{adaToken, "/x/jobs", at + "/artifacts/out/shot.png"},
		} {
			_, err := official(t, w.url+c.path, c.token, era, nil).ReadResource(t.Context(), &sdk.ReadResourceParams{URI: c.uri})
			wire, ok := errors.AsType[*jsonrpc.Error](err)
			if !ok || wire.Code != code {
				t.Errorf("%s: %s at %s answers %v", era, c.token, c.uri, err)
			}
		}
		for _, c := range []struct {
			token, path     string
			jobs, templates int
		}{
			{bobToken, "", 0, 3},
			{machineToken, "", 0, 0},
			{adaToken, "/readonly", 1, 3},
			{adaToken, "/x/jobs", 1, 2},
			{adaToken, "/x/artifacts", 0, 1},
			{adaToken, "/x/runners", 0, 0},
		} {
			session := official(t, w.url+c.path, c.token, era, nil)
			list, err := session.ListResources(t.Context(), nil)
			if err != nil || len(list.Resources) != c.jobs {
				t.Errorf("%s: %s lists %+v at %q, %v", era, c.token, list, c.path, err)
			}
			kinds, err := session.ListResourceTemplates(t.Context(), nil)
			if err != nil || len(kinds.ResourceTemplates) != c.templates {
				t.Errorf("%s: %s lists %+v at %q, %v", era, c.token, kinds, c.path, err)
			}
		}
	}
}

// A result points to what it leads to, for clients of a revision that has links.
func TestResultsLeadToResources(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	id := w.failedJob()
	at := "runnerhub://jobs/" + id
	for _, era := range sdkEras {
		c := official(t, w.url, adaToken, era, nil)
		for tool, want := range map[string]struct {
			args  map[string]any
			links []string
		}{
			mcp.ToolListArtifacts: {map[string]any{"job_id": id}, []string{
				at + "/artifacts/out/long.txt?attempt=1", at + "/artifacts/out/report%20one.xml?attempt=1", at + "/artifacts/out/shot.png?attempt=1",
			}},
			mcp.ToolWaitJob: {map[string]any{"job_id": id}, []string{at, at + "/log"}},
			mcp.ToolGetJob:  {map[string]any{"job_id": id}, nil},
		} {
			res, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: want.args})
			if err != nil || res.IsError {
				t.Fatalf("%s: %+v, %v", tool, res, err)
			}
			var links []string
			for _, part := range res.Content {
				link, ok := part.(*sdk.ResourceLink)
				if !ok {
					continue
				}
				links = append(links, link.URI)
				if _, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: link.URI}); err != nil {
					t.Errorf("%s leads to %s: %v", tool, link.URI, err)
				}
			}
			if strings.Join(links, " ") != strings.Join(want.links, " ") {
				t.Errorf("%s: %s leads to %v, want %v", era, tool, links, want.links)
			}
		}
		res, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: mcp.ToolSubmitJob, Arguments: map[string]any{"spec": twoSteps}})
		if err != nil || res.IsError || len(res.Content) != 3 {
			t.Errorf("%s: submit_job answers %+v, %v", era, res, err)
		}
	}
	// Before links there were none.
	res, err := callTool(t, connect(t, w.url, adaToken, "2025-03-26"), mcp.ToolListArtifacts, map[string]any{"job_id": id})
	if err != nil || len(textOf(t, res)) != 2 {
		t.Errorf("%+v, %v", res, err)
	}
}
