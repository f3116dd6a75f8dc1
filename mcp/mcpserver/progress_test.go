package mcpserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/mcp"
)

// told is a client's progress so far, which tests wait for.
type told struct {
	mu      sync.Mutex
	heard   []*sdk.ProgressNotificationParams
	changed chan struct{}
}

func newTold() *told { return &told{changed: make(chan struct{}, 100)} }

func (d *told) options() *sdk.ClientOptions {
	return &sdk.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
		d.mu.Lock()
		d.heard = append(d.heard, r.Params)
		d.mu.Unlock()
		d.changed <- struct{}{}
	}}
}

// await returns once a message that holds text was heard.
func (d *told) await(t *testing.T, text string) {
	t.Helper()
	for {
		d.mu.Lock()
		for _, p := range d.heard {
			if strings.Contains(p.Message, text) {
				d.mu.Unlock()
				return
			}
		}
		d.mu.Unlock()
		select {
		case <-d.changed:
		case <-t.Context().Done():
			t.Fatalf("%q was never told", text)
		}
	}
}

// waiting is a call in the background.
type waiting chan error

func wait(ctx context.Context, c *sdk.ClientSession, token any, tool string, args map[string]any, check func(*sdk.CallToolResult) error) waiting {
	done := make(waiting, 1)
	params := &sdk.CallToolParams{Name: tool, Arguments: args}
	params.SetProgressToken(token)
	go func() {
		res, err := c.CallTool(ctx, params)
		if err == nil && check != nil {
			err = check(res)
		}
		done <- err
	}()
	return done
}

func ended(state string) func(*sdk.CallToolResult) error {
	return func(res *sdk.CallToolResult) error {
		raw, err := json.Marshal(res.StructuredContent)
		if err == nil && (res.IsError || !strings.Contains(string(raw), `"state":"`+state+`"`)) {
			err = fmt.Errorf("answers %s, %+v", raw, res.Content)
		}
		return err
	}
}

// A client that asked for progress hears what happens while its call waits, under its own token, and then the answer.
func TestProgressOfAWait(t *testing.T) {
	t.Parallel()
	for _, era := range sdkEras {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			w := newTown(t)
			id := w.submit(adaToken, twoSteps)
			d, other := newTold(), newTold()
			c, second := official(t, w.url, adaToken, era, d.options()), official(t, w.url, adaToken, era, other.options())
			args := map[string]any{"job_id": id, "follow": "end", "wait_ms": 25_000}
			done := wait(t.Context(), c, "mine", mcp.ToolWaitJob, args, ended("succeeded"))
			quiet := wait(t.Context(), second, "theirs", mcp.ToolGetJob, map[string]any{"job_id": id}, ended("queued"))
			if err := <-quiet; err != nil {
				t.Error(err)
			}
			d.await(t, "queued")
			a := w.take()
			a.step("running", "test")
			a.write("test", "one", "two")
			d.await(t, "running, step 2/2 test, 2 log lines")
			a.end("")
			if err := <-done; err != nil {
				t.Error(err)
			}
			last := 0.0
			for _, p := range d.heard {
				if p.ProgressToken != "mine" || p.Progress <= last || p.Total != 0 {
					t.Errorf("%+v after %v", p, last)
				}
				last = p.Progress
			}
			if len(other.heard) != 0 {
				t.Errorf("a call that does not wait told %+v", other.heard)
			}
		})
	}
}

func TestProgressOfASubmit(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	for _, era := range sdkEras {
		d := newTold()
		done := wait(t.Context(), official(t, w.url, adaToken, era, d.options()), 7, mcp.ToolSubmitJob, map[string]any{"spec": twoSteps, "wait_ms": 25_000}, ended("failed"))
		d.await(t, "queued")
		a := w.take()
		a.step("pulling", "")
		d.await(t, "pulling")
		a.end(hub.ClassScript)
		if err := <-done; err != nil {
			t.Errorf("%s: %v", era, err)
		}
	}
}

// Who leaves ends its wait, and neither the job nor anybody else's wait.
func TestLeavingAStreamEndsTheWaitAlone(t *testing.T) {
	t.Parallel()
	for _, era := range sdkEras {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			w := newTown(t)
			id := w.submit(adaToken, twoSteps)
			args := map[string]any{"job_id": id, "follow": "end", "wait_ms": 25_000}
			leaver, stayer := newTold(), newTold()
			ctx, leave := context.WithCancel(t.Context())
			left := wait(ctx, official(t, w.url, adaToken, era, leaver.options()), 1, mcp.ToolWaitJob, args, nil)
			stays := wait(t.Context(), official(t, w.url, adaToken, era, stayer.options()), 1, mcp.ToolWaitJob, args, ended("succeeded"))
			leaver.await(t, "queued")
			stayer.await(t, "queued")
			leave()
			if err := <-left; err == nil {
				t.Error("a call that was left has an answer")
			}
			a := w.take()
			a.write("test", "on")
			stayer.await(t, "1 log line")
			a.end("")
			if err := <-stays; err != nil {
				t.Error(err)
			}
		})
	}
}

// Without a token, or for who reads no streams, the answer is one piece of JSON, as it always was.
func TestWithoutAskingThereIsNoStream(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	id := w.submit(adaToken, twoSteps)
	w.take()
	for name, c := range map[string]struct{ accept, meta string }{
		"no token":   {"application/json, text/event-stream", `{}`},
		"no streams": {"application/json", `{"progressToken":1}`},
	} {
		message := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait_job","arguments":{"job_id":%q,"follow":"end","wait_ms":50},"_meta":%s}}`, id, c.meta)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.url, strings.NewReader(message))
		if err != nil {
			t.Fatal(err)
		}
		for k, v := range map[string]string{
			"Authorization": "Bearer " + adaToken, "Content-Type": "application/json", "Accept": c.accept, "Mcp-Protocol-Version": "2025-11-25",
		} {
			req.Header.Set(k, v)
		}
		req.Close = true
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || res.Header.Get("Content-Type") != "application/json" || !json.Valid(body) {
			t.Errorf("%s: %s %s, %v", name, res.Header.Get("Content-Type"), body, err)
		}
	}
}
