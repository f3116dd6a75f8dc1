package mcpstdio_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/runnerhub/runnerhub/mcp"
)

const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`

// Whoever is not signed in is told so in the answer, and need not start the client again after signing in.
func TestSigningInWhileTheClientRuns(t *testing.T) {
	t.Parallel()
	h := newHub(t, nil)
	var signedIn atomic.Bool
	c := start(t, func() (string, string, error) {
		if !signedIn.Load() {
			return "", "", &mcp.Error{Code: mcp.CodeUnauthenticated, Message: "not signed in", Hint: "sign in with `runnerctl login`"}
		}
		return h.URL, "ak_key", nil
	})
	c.say(`{"jsonrpc":"2.0","id":1,"method":"initialize"}`)
	if a := c.hearsError(); a.ID != 1.0 || a.Error.Code != -32603 || a.Error.Data.Code != mcp.CodeUnauthenticated || !strings.Contains(a.Error.Message, "`runnerctl login`") {
		t.Errorf("%+v, want an error that says how to sign in", a)
	}
	if !strings.Contains(c.notes.String(), "not signed in") {
		t.Errorf("the notes say nothing of it: %q", c.notes)
	}
	signedIn.Store(true)
	c.say(ping)
	c.wants(`{"jsonrpc":"2.0","id":1,"result":{}}`)
	c.ends()
}

func TestANewKeyIsTakenUpWhenTheOldOneIsRefused(t *testing.T) {
	t.Parallel()
	var opened, done atomic.Int32
	var key, good atomic.Pointer[string]
	set := func(p *atomic.Pointer[string], s string) { p.Store(&s) }
	set(&key, "ak_one")
	set(&good, "ak_one")
	h := newHub(t, func(w http.ResponseWriter, r *http.Request, _ asked) bool {
		if r.Header.Get("Authorization") != "Bearer "+*good.Load() {
			refuse(w, mcp.CodeUnauthenticated, "the token is revoked")
			return true
		}
		done.Add(1)
		return false
	})
	c := start(t, func() (string, string, error) { opened.Add(1); return h.URL, *key.Load(), nil })
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call"}`
	for range 2 {
		c.say(call)
		c.wants(`{"jsonrpc":"2.0","id":1,"result":{}}`)
	}
	if opened.Load() != 1 {
		t.Errorf("the key was read %d times, want once", opened.Load())
	}

	set(&good, "ak_two")
	c.say(call)
	if a := c.hearsError(); a.Error.Data.Code != mcp.CodeUnauthenticated || !strings.Contains(a.Error.Message, "runnerctl login") || strings.Contains(a.Error.Message, "ak_one") {
		t.Errorf("%+v, want an error that says how to sign in again, without the key", a)
	}
	set(&key, "ak_two")
	c.say(call)
	c.wants(`{"jsonrpc":"2.0","id":1,"result":{}}`)
	if done.Load() != 3 {
		t.Errorf("%d calls were done, want 3", done.Load())
	}
	c.ends()
}

func TestAHubThatIsAwayIsAnErrorOfTheRequestAlone(t *testing.T) {
	t.Parallel()
	h := newHub(t, nil)
	var url atomic.Pointer[string]
	gone := newHub(t, nil)
	gone.Close()
	url.Store(&gone.URL)
	c := start(t, func() (string, string, error) { return *url.Load(), "ak_key", nil })
	for _, method := range []string{"initialize", "tools/call"} {
		c.say(`{"jsonrpc":"2.0","id":1,"method":"` + method + `"}`)
		if a := c.hearsError(); a.Error.Data.Code != mcp.CodeUnavailable || !a.Error.Data.Retryable || !strings.Contains(a.Error.Message, "see whether the hub runs") {
			t.Errorf("%+v, want an error that says what to look at", a)
		}
	}
	c.say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	url.Store(&h.URL)
	c.ends()
	if !strings.Contains(c.notes.String(), "notifications/initialized was not delivered") {
		t.Errorf("the notes say nothing of the notification: %q", c.notes)
	}
}
