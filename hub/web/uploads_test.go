package web_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/api"
	"github.com/runnerhub/runnerhub/hub/dispatch"
	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/pairing"
)

// A line that breaks under a body is no fault of the sender's: where it hears the answer it tries again.
func TestABodyThatBreaksOffIsToBeSentAgain(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	p, err := h.accounts.Authenticate(t.Context(), h.admin, "127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	digest := sha256.Sum256([]byte("never sent whole"))
	ticket, err := h.jobs.Announce(t.Context(), p, dispatch.UploadRequest{Kind: hub.UploadSource, Owner: hub.UserOwner(p.User.ID), Size: 1 << 20, Digest: digest[:]})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{api.UploadPath(ticket.Token), api.LogPath(pairing.New(pairing.Capability))} {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(h.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := fmt.Fprintf(conn, "PUT %s?offset=0 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\nonly this", path); err != nil {
			t.Fatal(err)
		}
		if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		var got mcp.Error
		if err := json.NewDecoder(resp.Body).Decode(&got); err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != http.StatusServiceUnavailable || got.Code != mcp.CodeUnavailable || !got.Retryable {
			t.Errorf("%s: %d, %+v", path, resp.StatusCode, got)
		}
	}
}

// An upload over the wire, by the client that runners and people have: in several parts, after one whose answer got lost.
func TestUploadOverTheWire(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	p, err := h.accounts.Authenticate(t.Context(), h.admin, "127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	data := bytes.Repeat([]byte("some bytes "), 1<<20) // 11 MiB: three parts
	digest := sha256.Sum256(data)
	announce := dispatch.UploadRequest{Kind: hub.UploadSource, Owner: hub.UserOwner(p.User.ID), Size: int64(len(data)), Digest: digest[:]}
	ticket, err := h.jobs.Announce(t.Context(), p, announce)
	if err != nil {
		t.Fatal(err)
	}
	c := h.client(t, h.admin)
	wire := mcp.UploadTicket{UploadURL: h.url + api.UploadPath(ticket.Token)}
	if got, err := c.PutUpload(t.Context(), wire.UploadURL, 0, data[:1<<20]); err != nil || got.NextOffset != 1<<20 {
		t.Fatalf("%+v, %v", got, err)
	}
	var seen []int64
	if err := c.Upload(t.Context(), wire, bytes.NewReader(data), int64(len(data)), func(n int64) { seen = append(seen, n) }); err != nil {
		t.Fatal(err)
	}
	if len(seen) < 2 || seen[0] <= 1<<20 {
		t.Errorf("progress was %v", seen)
	}
	if again, err := h.jobs.Announce(t.Context(), p, announce); err != nil || again.Blob == nil {
		t.Errorf("the bytes are not there: %+v, %v", again, err)
	}
	if strings.Contains(h.log.String(), ticket.Token) {
		t.Error("the capability is in the log")
	}
	for path, want := range map[string]int{
		api.UploadPath(pairing.New(pairing.Capability)) + "?offset=0": http.StatusNotFound,
		api.UploadPath("nothing") + "?offset=0":                       http.StatusNotFound,
		api.UploadPath(ticket.Token):                                  http.StatusBadRequest,
		api.UploadPath(ticket.Token) + "?offset=-1":                   http.StatusBadRequest,
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, h.url+path, strings.NewReader("x"))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s: %d, want %d", path, resp.StatusCode, want)
		}
	}
}
