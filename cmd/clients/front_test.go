//go:build clients

package clients_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// front is a way to a hub that can break: it closes the connection on which a call came.
type front struct {
	url   string
	key   string // given to requests that have none; "" leaves them alone
	proxy *httputil.ReverseProxy

	mu   sync.Mutex
	next *caught
}

// fate is what becomes of a call.
type fate int

const (
	passes      fate = iota // and the test is told
	isCut                   // when the test says so, while the hub holds it
	losesAnswer             // which the hub has given
)

// caught is one call of a tool, the next one.
type caught struct {
	tool string
	fate fate
	held chan struct{} // closed when the call is on its way to the hub
	cut  chan struct{} // closed by the test
}

func newFront(t *testing.T, h *hub, key string) *front {
	t.Helper()
	to, err := url.Parse(h.url)
	if err != nil {
		t.Fatal(err)
	}
	f := &front{key: key, proxy: &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.Host = r.In.Host // which the hub checks
		},
		FlushInterval: -1, // streams are passed on as they come
		ErrorHandler:  func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}}
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	f.url = s.URL
	return f
}

// catch decides the fate of the next call of a tool.
func (f *front) catch(tool string, what fate) *caught {
	c := &caught{tool: tool, fate: what, held: make(chan struct{}), cut: make(chan struct{})}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.next = c
	return c
}

func (f *front) take(body []byte) *caught {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.next == nil || !bytes.Contains(body, []byte(`"`+f.next.tool+`"`)) {
		return nil
	}
	c := f.next
	f.next = nil
	return c
}

func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if f.key != "" && r.Header.Get("Authorization") == "" {
		r.Header.Set("Authorization", "Bearer "+f.key)
	}
	c := f.take(body)
	if c != nil {
		close(c.held)
	}
	if c == nil || c.fate == passes {
		f.proxy.ServeHTTP(w, r)
		return
	}
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		defer func() { _ = recover() }() // the proxy's way to say that the caller has gone
		f.proxy.ServeHTTP(httptest.NewRecorder(), r)
	}()
	if c.fate == losesAnswer {
		<-answered
	} else {
		<-c.cut
	}
	panic(http.ErrAbortHandler) // closes the connection, and with the request's context the one to the hub
}

// local is the front by a name that a browser knows, as the conformance suite wants it.
func (f *front) local() string { return strings.Replace(f.url, "127.0.0.1", "localhost", 1) }
