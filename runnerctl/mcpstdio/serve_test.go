package mcpstdio_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/runnerctl/mcpstdio"
)

func TestWhatIsNoMessageIsRefusedAndTheRestGoesOn(t *testing.T) {
	t.Parallel()
	c := newHub(t, nil).client(t)
	for line, want := range map[string]struct {
		code int
		id   any
	}{
		`{"jsonrpc":`:                         {-32700, nil},
		`hello`:                               {-32700, nil},
		`[]`:                                  {-32600, nil},
		`3`:                                   {-32600, nil},
		`{"jsonrpc":"2.0","id":1,"method":3}`: {-32600, 1.0},
		`{"jsonrpc":"2.0","id":2}`:            {-32600, 2.0},
		`{"jsonrpc":"2.0","id":{},"method":"ping"}`:    {-32600, nil},
		`{"jsonrpc":"2.0","id":null,"method":"ping"}`:  {-32600, nil},
		`"` + strings.Repeat("x", mcpstdio.MaxLine):    {-32600, nil},
		strings.Repeat(" x ", mcpstdio.MaxLine):        {-32600, nil},
		`{"a":"` + strings.Repeat("x", 1<<20) + "\"}}": {-32700, nil},
	} {
		c.say(line)
		if got := c.hearsError(); got.Error.Code != want.code || got.ID != want.id {
			t.Errorf("%.40q… is answered with %+v, want code %d for id %v", line, got, want.code, want.id)
		}
	}
	c.say("\r\n  \n{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"ping\"}\r")
	c.wants(`{"jsonrpc":"2.0","id":"a","result":{}}`)
	c.say(`{"jsonrpc":"2.0","id":"x","result":{}}`) // an answer to nothing
	c.ends()
}

// The longest line that is allowed arrives whole.
func TestLongLine(t *testing.T) {
	t.Parallel()
	var got atomic.Int64
	h := newHub(t, func(_ http.ResponseWriter, r *http.Request, _ asked) bool { got.Store(r.ContentLength); return false })
	c := h.client(t)
	const head, tail = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"x":"`, `"}}`
	c.say(head + strings.Repeat("x", mcpstdio.MaxLine-len(head)-len(tail)) + tail)
	c.wants(`{"jsonrpc":"2.0","id":1,"result":{}}`)
	if got.Load() != mcpstdio.MaxLine {
		t.Errorf("%d bytes arrived, want %d", got.Load(), mcpstdio.MaxLine)
	}
	c.ends()
}

func TestRequestsRunAtOnce(t *testing.T) {
	t.Parallel()
	held := make(chan struct{})
	h := newHub(t, func(_ http.ResponseWriter, _ *http.Request, m asked) bool {
		if m.Method == "tools/call" {
			<-held
		}
		return false
	})
	c := h.client(t)
	c.say(`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`)
	c.say(`{"jsonrpc":"2.0","id":2,"method":"ping"}`)
	c.wants(`{"jsonrpc":"2.0","id":2,"result":{}}`)
	close(held)
	c.wants(`{"jsonrpc":"2.0","id":1,"result":{}}`)
	c.ends()
}

// A canceled request is closed towards the hub and not answered; another one with the same id may follow.
func TestCancel(t *testing.T) {
	t.Parallel()
	held, left := make(chan struct{}), make(chan struct{})
	h := newHub(t, func(_ http.ResponseWriter, r *http.Request, m asked) bool {
		if m.Method == "notifications/cancelled" {
			t.Error("the hub got the cancellation, which could be taken for another caller's")
		}
		if m.Method != "tools/call" {
			return false
		}
		close(held)
		<-r.Context().Done()
		close(left)
		return true
	})
	c := h.client(t)
	c.say(`{"jsonrpc":"2.0","id":"a","method":"tools/call"}`)
	<-held
	c.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`) // of nothing
	c.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"\u0061"}}`)
	<-left
	c.say(`{"jsonrpc":"2.0","id":"a","method":"ping"}`)
	c.wants(`{"jsonrpc":"2.0","id":"a","result":{}}`)
	c.ends()
	if c.notes.String() != "" {
		t.Errorf("a cancellation is no error, but it was noted: %s", c.notes)
	}
}

func TestTheEndOfInputLetsCallsEnd(t *testing.T) {
	t.Parallel()
	held, free := make(chan struct{}), make(chan struct{})
	h := newHub(t, func(http.ResponseWriter, *http.Request, asked) bool { close(held); <-free; return false })
	c := h.client(t)
	c.say(`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`)
	<-held
	_ = c.in.Close()
	close(free)
	c.wants(`{"jsonrpc":"2.0","id":1,"result":{}}`)
	c.returns()
}

func TestASignalEndsCalls(t *testing.T) {
	t.Parallel()
	held := make(chan struct{})
	h := newHub(t, func(_ http.ResponseWriter, r *http.Request, _ asked) bool {
		close(held)
		<-r.Context().Done()
		return true
	})
	c := h.client(t)
	c.say(`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`)
	<-held
	c.stop()
	c.returns()
}

func TestProgressComesInOrderBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	h := newHub(t, func(w http.ResponseWriter, _ *http.Request, m asked) bool {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 3 {
			_, _ = fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\ndata: \"method\":\"notifications/progress\",\"params\":{\"progress\":%d}}\n\n", i)
		}
		_, _ = fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{}}\n\n", m.ID)
		return true
	})
	c := h.client(t)
	c.say(`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`)
	for i := range 3 {
		c.wants(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":%d}}`, i))
	}
	c.wants(`{"jsonrpc":"2.0","id":1,"result":{}}`)
	c.ends()
}

// The client knows an answer by its own id, whatever became of it on the way.
func TestEveryRequestHasOneAnswerWithItsID(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ body, want string }{
		"no id":            {`{"jsonrpc":"2.0","error":{"code":-32601,"message":"m"}}`, `{"jsonrpc":"2.0","id":9007199254740993,"error":{"code":-32601,"message":"m"}}`},
		"a null id":        {`{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"m"}}`, `{"jsonrpc":"2.0","id":9007199254740993,"error":{"code":-1,"message":"m"}}`},
		"a rounded number": {`{"jsonrpc":"2.0","id":9007199254740992,"result":{"x":1.0}}`, `{"jsonrpc":"2.0","id":9007199254740993,"result":{"x":1.0}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHub(t, func(w http.ResponseWriter, _ *http.Request, _ asked) bool {
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = fmt.Fprintf(w, "data: %s\n\ndata: %s\n\n", tc.body, tc.body) // the second is one too many
				return true
			})
			c := h.client(t)
			c.say(`{"jsonrpc":"2.0","id":9007199254740993,"method":"tools/call"}`)
			c.wants(tc.want)
			c.ends()
		})
	}
	for name, body := range map[string]string{"nothing": "", "no answer": `{"jsonrpc":"2.0"}`, "no JSON": "<p>"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHub(t, func(w http.ResponseWriter, _ *http.Request, _ asked) bool {
				_, _ = io.WriteString(w, body)
				return true
			})
			c := h.client(t)
			c.say(`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`)
			if a := c.hearsError(); a.ID != 1.0 {
				t.Errorf("%+v, want an error for id 1", a)
			}
			c.ends()
		})
	}
}

func TestTheAgreedRevisionGoesWithWhatFollows(t *testing.T) {
	t.Parallel()
	seen := make(chan string, 3)
	h := newHub(t, func(w http.ResponseWriter, r *http.Request, m asked) bool {
		seen <- m.Method + " " + r.Header.Get("Mcp-Protocol-Version")
		if m.Method == "initialize" {
			result(w, m.ID, `{"protocolVersion":"2025-06-18"}`)
			return true
		}
		w.WriteHeader(http.StatusAccepted)
		return m.ID == nil
	})
	c := h.client(t)
	c.say(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2026-01-01"}}`)
	c.wants(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18"}}`)
	c.say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	for _, want := range []string{"initialize ", "notifications/initialized 2025-06-18"} {
		if got := <-seen; got != want {
			t.Errorf("the hub saw %q, want %q", got, want)
		}
	}
	c.ends()
}

func TestTooManyCallsAtOnceAreRefused(t *testing.T) {
	t.Parallel()
	free := make(chan struct{})
	var came sync.WaitGroup
	came.Add(mcpstdio.MaxCalls)
	h := newHub(t, func(http.ResponseWriter, *http.Request, asked) bool { came.Done(); <-free; return false })
	c := h.client(t)
	for i := range mcpstdio.MaxCalls {
		c.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call"}`, i))
	}
	came.Wait()
	c.say(`{"jsonrpc":"2.0","id":"more","method":"tools/call"}`)
	if a := c.hearsError(); a.ID != "more" || a.Error.Data.Code != mcp.CodeRateLimited {
		t.Errorf("%+v, want rate_limited", a)
	}
	close(free)
	for range mcpstdio.MaxCalls {
		c.hears()
	}
	c.ends()
}

// brokenPipe is a client that has gone.
type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestAClientThatIsGoneEndsTheServer(t *testing.T) {
	t.Parallel()
	in, stdin := io.Pipe()
	defer in.Close()
	go func() { _, _ = io.WriteString(stdin, "hello\n") }() // and never closes it
	err := mcpstdio.Serve(context.Background(), mcpstdio.Config{In: in, Out: brokenPipe{}, Note: t.Logf})
	if !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("%v, want what writing gave", err)
	}
}
