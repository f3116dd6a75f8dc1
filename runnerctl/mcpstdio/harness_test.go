package mcpstdio_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/mcp/mcpclient"
	"github.com/runnerhub/runnerhub/runnerctl/mcpstdio"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait of a test. It is for a machine that does much else.
const patience = time.Minute

// asked is a message as a hub sees it.
type asked struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
}

// hub answers as answer does, and with an empty result where that returns false.
type hub struct {
	*httptest.Server
	answer func(w http.ResponseWriter, r *http.Request, m asked) bool
}

func newHub(t *testing.T, answer func(w http.ResponseWriter, r *http.Request, m asked) bool) *hub {
	t.Helper()
	h := &hub{answer: answer}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		var m asked
		if err := json.Unmarshal(raw, &m); err != nil {
			t.Errorf("the hub got %q: %v", raw, err)
		}
		if h.answer == nil || !h.answer(w, r, m) {
			result(w, m.ID, `{}`)
		}
	}))
	t.Cleanup(h.Close)
	return h
}

func result(w http.ResponseWriter, id json.RawMessage, result string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, "{\"jsonrpc\":\"2.0\",\n\"id\":%s,\"result\":%s}\n", id, result) // over lines, as a hub may
}

func refuse(w http.ResponseWriter, code mcp.Code, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code.Info().HTTP)
	_ = json.NewEncoder(w).Encode(mcp.Error{Code: code, Message: message})
}

// client is an AI client with a server.
type client struct {
	t      *testing.T
	in     *io.PipeWriter
	lines  chan string
	notes  *notes
	served chan error
	stop   context.CancelFunc
}

type notes struct {
	mu   sync.Mutex
	text string
}

func (n *notes) add(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.text += fmt.Sprintf(format, args...)
}

func (n *notes) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text
}

// start runs a server for a client; open says where its hub is.
func start(t *testing.T, open func() (string, string, error)) *client {
	t.Helper()
	in, stdin := io.Pipe()
	stdout, out := io.Pipe()
	ctx, stop := context.WithCancel(t.Context())
	c := &client{t: t, in: stdin, lines: make(chan string), notes: &notes{}, served: make(chan error, 1), stop: stop}
	var read sync.WaitGroup
	read.Go(func() {
		for s := bufio.NewScanner(stdout); s.Scan(); {
			c.lines <- s.Text()
		}
		close(c.lines)
	})
	go func() {
		c.served <- mcpstdio.Serve(ctx, mcpstdio.Config{
			In: in, Out: out, Open: open, Note: c.notes.add,
			Retry: mcpclient.Retry{MaxTries: 3, Base: time.Millisecond, Cap: time.Millisecond, Within: patience},
		})
		_ = out.Close()
	}()
	t.Cleanup(func() {
		_ = stdin.Close()
		stop()
		for l := range c.lines {
			t.Errorf("nobody asked for %s", l)
		}
		read.Wait()
		_ = in.Close() // a read that stayed behind
	})
	return c
}

// of is a server whose hub is h.
func (h *hub) client(t *testing.T) *client {
	t.Helper()
	return start(t, func() (string, string, error) { return h.URL, "ak_key", nil })
}

func (c *client) say(line string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, line+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

// hears returns the next line of the server's.
func (c *client) hears() string {
	c.t.Helper()
	select {
	case l, ok := <-c.lines:
		if !ok {
			c.t.Fatalf("the server has ended; its notes: %s", c.notes)
		}
		return l
	case <-time.After(patience):
		c.t.Fatalf("no answer came; notes: %s", c.notes)
	}
	return ""
}

func (c *client) wants(line string) {
	c.t.Helper()
	if got := c.hears(); got != line {
		c.t.Errorf("heard %s\nwant  %s", got, line)
	}
}

// answer is an answer of the server's with an error.
type answer struct {
	ID    any `json:"id"`
	Error struct {
		Code    int       `json:"code"`
		Message string    `json:"message"`
		Data    mcp.Error `json:"data"`
	} `json:"error"`
}

func (c *client) hearsError() answer {
	c.t.Helper()
	var a answer
	if l := c.hears(); json.Unmarshal([]byte(l), &a) != nil || a.Error.Code == 0 || a.Error.Message == "" {
		c.t.Fatalf("heard %s, want an error", l)
	}
	return a
}

// ends closes standard input and wants the server to end in order.
func (c *client) ends() {
	c.t.Helper()
	_ = c.in.Close()
	c.returns()
}

func (c *client) returns() {
	c.t.Helper()
	select {
	case err := <-c.served:
		if err != nil {
			c.t.Errorf("the server ended with %v", err)
		}
	case <-time.After(patience):
		c.t.Fatal("the server did not end")
	}
}
