package postgres

import (
	"io"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
)

// proxy stands between a store and the server and can cut connections.
type proxy struct {
	url string
	// cut says that the next answer of the server's is not passed on: its connection breaks instead.
	cut atomic.Bool
}

func newProxy(t *testing.T, target string) *proxy {
	t.Helper()
	p := &proxy{}
	p.url = between(t, target, p.serve)
	return p
}

// between listens in front of the server of a database's URL, gives each connection to serve with the server's
// address, and returns the URL that leads there.
func between(t *testing.T, target string, serve func(client net.Conn, server string)) string {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	server := u.Host
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	u.Host = l.Addr().String()
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { serve(client, server) })
		}
	})
	// Stores are closed before, since cleanups run in reverse.
	t.Cleanup(func() { l.Close(); wg.Wait() })
	return u.String()
}

func (p *proxy) serve(client net.Conn, target string) {
	defer client.Close()
	server, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer server.Close()
	var wg sync.WaitGroup
	wg.Go(func() {
		io.Copy(server, client)
		server.Close()
	})
	buf := make([]byte, 64<<10)
	for {
		n, err := server.Read(buf)
		if err != nil || p.cut.CompareAndSwap(true, false) {
			break
		}
		if _, err := client.Write(buf[:n]); err != nil {
			break
		}
	}
	client.Close()
	wg.Wait()
}
