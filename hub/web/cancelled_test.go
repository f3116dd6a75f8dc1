package web_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/dispatch"
)

// modern makes a request one of the newest revision, which has no handshake.
func modern(r *http.Request) {
	r.Header.Set("Mcp-Protocol-Version", "2026-07-28")
}

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`

// Clients number their calls from one. One caller's cancel of call 1 must not end
// another caller's call 1, in neither era and however it is written.
func TestOneCallersCancelDoesNotEndAnothersCall(t *testing.T) {
	t.Parallel()
	for name, era := range map[string]struct {
		params string
		change []func(*http.Request)
	}{
		"2025-11-25": {`"name":"get_job","arguments":{"job_id":"job_1"}`, []func(*http.Request){header("Mcp-Protocol-Version", "2025-11-25")}},
		"2026-07-28": {`"name":"get_job","arguments":{"job_id":"job_1"},` + modernMeta, []func(*http.Request){modern, header("Mcp-Method", "tools/call"), header("Mcp-Name", "get_job")}},
	} {
		for variant, cancel := range map[string]string{
			"plain":          `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1%s}}`,
			"with an id":     `{"jsonrpc":"2.0","id":2,"method":"notifications/cancelled","params":{"requestId":1%s}}`,
			"null id":        `{"jsonrpc":"2.0","id":null,"method":"notifications/cancelled","params":{"requestId":1%s}}`,
			"other case":     `{"jsonrpc":"2.0","METHOD":"notifications/cancelled","params":{"requestId":1%s}}`,
			"said twice":     `{"jsonrpc":"2.0","method":"notifications/progress","Method":"notifications/cancelled","params":{"requestId":1%s}}`,
			"escaped":        `{"jsonrpc":"2.0","m\u0065thod":"notifications\/cancelle\u0064","params":{"requestId":1%s}}`,
			"white space":    " \n\t{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1%s}}",
			"batch":          `[{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1%s}}]`,
			"mixed batch":    ` [{"jsonrpc":"2.0","id":9,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1%s}}]`,
			"invalid answer": `{"jsonrpc":"2.0","result":{},"method":"notifications/cancelled","params":{"requestId":1%s}}`,
		} {
			t.Run(name+" "+variant, func(t *testing.T) {
				t.Parallel()
				d := open(t, nil)
				entered, release := make(chan struct{}), make(chan struct{})
				d.jobs.get = func(ctx context.Context, id string) (dispatch.JobView, error) {
					close(entered)
					select {
					case <-ctx.Done():
						return dispatch.JobView{}, ctx.Err()
					case <-release:
						return dispatch.JobView{Job: hub.Job{ID: id, State: hub.JobQueued}, Payload: hub.JobPayload{Spec: []byte(`{}`)}}, nil
					}
				}
				got := make(chan answer, 1)
				go func() {
					got <- d.send(t, "POST", "/mcp", adaToken, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{%s}}`, era.params), era.change...)
				}()
				<-entered
				meta := ""
				if name == "2026-07-28" {
					meta = "," + modernMeta
				}
				change := append([]func(*http.Request){}, era.change...)
				change = append(change, header("Mcp-Method", "notifications/cancelled"), func(r *http.Request) { r.Header.Del("Mcp-Name") })
				res := d.send(t, "POST", "/mcp", bobToken, fmt.Sprintf(cancel, meta), change...)
				want := 202
				if variant == "mixed batch" {
					want = 400
				}
				if res.status != want || (want == 202 && res.body != "") {
					t.Errorf("the cancel answers %d %s", res.status, res.body)
				}
				close(release)
				a := <-got
				if a.status != 200 || !strings.Contains(a.body, `"id":"job_1"`) || strings.Contains(a.body, `"isError":true`) {
					t.Errorf("the other caller's call answers %d %s", a.status, a.body)
				}
			})
		}
	}
}

// Without the rule a cancel does end somebody else's call: if this fails, mcp-go
// has learned to tell callers apart and the rule may go.
func TestDroppingCancelsIsStillNeeded(t *testing.T) {
	t.Parallel()
	d := open(t, nil)
	entered := make(chan struct{})
	d.jobs.get = func(ctx context.Context, _ string) (dispatch.JobView, error) {
		close(entered)
		<-ctx.Done()
		return dispatch.JobView{}, ctx.Err()
	}
	bare := bareMCP(t, d)
	got := make(chan answer, 1)
	go func() {
		got <- bare.send(t, "POST", "/", "", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_job","arguments":{"job_id":"job_1"}}}`)
	}()
	<-entered
	bare.send(t, "POST", "/", "", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	if a := <-got; strings.Contains(a.body, `"id":"job_1"`) {
		t.Errorf("the call was not cancelled: %d %s", a.status, a.body)
	}
}
