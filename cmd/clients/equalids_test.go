//go:build clients

package clients_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"github.com/runnerhub/runnerhub/mcp"
)

// TestCallersWithEqualRequestIDs has two people call one hub with the same request ids, as clients do that count from one. What one of
// them does to a call, by a notification or by leaving, is nothing to the other's call of that id.
func TestCallersWithEqualRequestIDs(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	ada, bob := h.key, h.newcomer(t, "bob")
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		for name, meddle := range map[string]func(t *testing.T, his *raw){
			"the other cancels that id": func(t *testing.T, his *raw) {
				his.notify(t, `{"requestId":7%s}`)
			},
			"the other leaves": func(t *testing.T, his *raw) {
				ctx, leave := context.WithCancel(t.Context())
				gone := his.waits(ctx, t)
				leave()
				if got := <-gone; got.err == nil {
					t.Errorf("who left got %s", got.body)
				}
			},
		} {
			t.Run(revision+" "+name, func(t *testing.T) {
				t.Parallel()
				hers := &raw{front: newFront(t, h, ""), key: ada, revision: revision}
				his := &raw{front: newFront(t, h, ""), key: bob, revision: revision}
				hers.submit(t)
				his.submit(t)
				answer := hers.waits(t.Context(), t)
				meddle(t, his)
				his.do(t, mcp.ToolGetJob, fmt.Sprintf(`{"job_id":%q}`, his.job))
				select {
				case got := <-answer:
					t.Fatalf("the wait that nobody touched has ended: %s, %v", got.body, got.err)
				default:
				}
				hers.do(t, mcp.ToolCancelJob, fmt.Sprintf(`{"job_id":%q}`, hers.job))
				got := <-answer
				if got.err != nil || !strings.Contains(got.body, `"id":7`) || !strings.Contains(got.body, `"job_id":"`+hers.job+`"`) || !strings.Contains(got.body, `"state":"canceled"`) {
					t.Errorf("her wait answers %s, %v", got.body, got.err)
				}
				if state := his.do(t, mcp.ToolGetJob, fmt.Sprintf(`{"job_id":%q}`, his.job)); !strings.Contains(state, `"state":"queued"`) {
					t.Errorf("his job: %s", state)
				}
			})
		}
	}
}

// newcomer makes a person, and returns a key of theirs.
func (h *hub) newcomer(t *testing.T, login string) string {
	t.Helper()
	for _, args := range [][]string{{"create-user", login}, {"add-member", "--workspace", "default", "--user", login}} {
		if out, err := exec.CommandContext(t.Context(), "runnerhub", append(append([]string{"admin"}, args...), "--data", h.data)...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", args, err, out)
		}
	}
	out, err := exec.CommandContext(t.Context(), "runnerhub", "admin", "create-key", "--user", login, "--data", h.data).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// raw is a caller without an SDK, all of whose requests have the id 7.
type raw struct {
	front         *front
	key, revision string
	job, cursor   string // once it is submitted
}

// heard is the answer to a request.
type heard struct {
	body string
	err  error
}

const modernMeta = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},` +
	`"io.modelcontextprotocol/clientCapabilities":{}}`

func (r *raw) meta() string {
	if r.revision == "2026-07-28" {
		return modernMeta
	}
	return ""
}

func (r *raw) request(ctx context.Context, method, name, message string) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.front.url+"/mcp", strings.NewReader(message))
	if err != nil {
		return nil, err
	}
	for header, value := range map[string]string{
		"Authorization": "Bearer " + r.key, "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": r.revision, "Mcp-Method": method, "Mcp-Name": name,
	} {
		if value != "" {
			req.Header.Set(header, value)
		}
	}
	return req, nil
}

func (r *raw) send(ctx context.Context, method, name, message string) heard {
	req, err := r.request(ctx, method, name, message)
	if err != nil {
		return heard{err: err}
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return heard{err: err}
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode >= 300 {
		err = fmt.Errorf("the hub answers %s", res.Status)
	}
	return heard{string(body), err}
}

// message is a call of a tool.
func (r *raw) message(tool, args string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":%q,"arguments":%s%s}}`, tool, args, r.meta())
}

func (r *raw) call(ctx context.Context, tool, args string) heard {
	return r.send(ctx, "tools/call", tool, r.message(tool, args))
}

// do calls a tool, which must succeed.
func (r *raw) do(t *testing.T, tool, args string) string {
	t.Helper()
	got := r.call(t.Context(), tool, args)
	if got.err != nil || strings.Contains(got.body, `"isError":true`) || !strings.Contains(got.body, `"structuredContent"`) {
		t.Fatalf("%s: %s, %v", tool, got.body, got.err)
	}
	return got.body
}

// submit submits the caller's job, and reads how far it is.
func (r *raw) submit(t *testing.T) {
	t.Helper()
	r.job = after(t, r.do(t, mcp.ToolSubmitJob, `{"spec":{"image":"busybox","command":["true"]}}`), `"job":{"id":"`)
	r.cursor = after(t, r.do(t, mcp.ToolWaitJob, fmt.Sprintf(`{"job_id":%q}`, r.job)), `"next_cursor":"`)
}

// waits waits for the job's end, which the hub holds when this returns.
func (r *raw) waits(ctx context.Context, t *testing.T) <-chan heard {
	t.Helper()
	answer := make(chan heard, 1)
	args := fmt.Sprintf(`{"job_id":%q,"cursor":%q,"wait_ms":%d,"follow":"end"}`, r.job, r.cursor, mcp.MaxWait)
	call := r.front.catch(mcp.ToolWaitJob, passes)
	go func() { answer <- r.call(ctx, mcp.ToolWaitJob, args) }()
	<-call.held
	r.do(t, mcp.ToolGetJob, fmt.Sprintf(`{"job_id":%q}`, r.job)) // came after it
	return answer
}

// notify tells the hub that a call is canceled, as a client does that gives it up.
func (r *raw) notify(t *testing.T, params string) {
	t.Helper()
	got := r.send(t.Context(), "notifications/cancelled", "", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":`+fmt.Sprintf(params, r.meta())+`}`)
	if got.err != nil || got.body != "" {
		t.Errorf("the cancellation answers %q, %v", got.body, got.err)
	}
}

// after is the text that follows some words, up to the next quote.
func after(t *testing.T, text, words string) string {
	t.Helper()
	_, rest, found := strings.Cut(text, words)
	value, _, closed := strings.Cut(rest, `"`)
	if !found || !closed {
		t.Fatalf("no %s in %s", words, text)
	}
	return value
}
