// Package servertest boots whole hubs for tests, in the test's own process.
package servertest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/runnerhub/runnerhub/hub/server"
	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/mcp/mcpclient"
	"github.com/runnerhub/runnerhub/pairing"
)

// Hub is a hub under test.
type Hub struct {
	URL  string
	Data string // its folder

	said   *bytes.Buffer // its standard output, up to the line that says where it listens
	cancel context.CancelCauseFunc
	done   chan struct{}
	err    error // once done is closed
}

// Start runs a hub on a free port, on its embedded store in a new folder unless change says otherwise. It is
// stopped with the test, which fails if the hub does not end in order.
func Start(t testing.TB, change func(*server.Settings)) *Hub {
	t.Helper()
	s := server.Defaults()
	s.Addr, s.Data = "127.0.0.1:0", t.TempDir()
	if change != nil {
		change(&s)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	r, w := io.Pipe()
	h := &Hub{Data: s.Data, said: &bytes.Buffer{}, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(h.done)
		h.err = server.Run(ctx, s, w, slog.New(slog.NewTextHandler(t.Output(), nil)))
		w.Close()
	}()
	lines := bufio.NewReader(r)
	for h.URL == "" {
		line, err := lines.ReadString('\n')
		if err != nil {
			<-h.done
			t.Fatalf("the hub did not come up: %v", h.err)
		}
		h.said.WriteString(line)
		h.URL, _ = strings.CutPrefix(strings.TrimSpace(line), "runnerhub listening on ")
		if !strings.HasPrefix(h.URL, "http") {
			h.URL = ""
		}
	}
	go io.Copy(io.Discard, lines) //nolint:errcheck // until the hub ends
	t.Cleanup(func() {
		if err := h.Stop(); err != nil {
			t.Errorf("the hub ended with: %v", err)
		}
	})
	return h
}

// Said is what the hub wrote to standard output until it listened.
func (h *Hub) Said() string { return h.said.String() }

// Signal asks the hub to drain, as a signal does, and does not wait.
func (h *Hub) Signal() { h.cancel(errors.New("the test wants it to stop")) }

// Stop drains the hub and returns what Run did. It may be called again.
func (h *Hub) Stop() error {
	h.Signal()
	<-h.done
	return h.err
}

// AdminKey is the key of the first admin, who this hub must have made.
func (h *Hub) AdminKey(t testing.TB) string {
	t.Helper()
	key, err := os.ReadFile(filepath.Join(h.Data, "admin.key"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(key))
}

// Client returns a client that does not retry; token may be "".
func (h *Hub) Client(t testing.TB, token string) *mcpclient.Client {
	t.Helper()
	c, err := mcpclient.New(mcpclient.Config{URL: h.URL, Token: func() string { return token }, Retry: mcpclient.NoRetry})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// Pair makes a runner of the admin's and returns its token.
func (h *Hub) Pair(t testing.TB, label string) string {
	t.Helper()
	people := h.Client(t, h.AdminKey(t))
	invited, err := people.PairRunner(t.Context(), mcp.PairRunnerArgs{Label: label})
	if err != nil {
		t.Fatal(err)
	}
	public, private := pairing.NewKey()
	done, err := people.RedeemPairing(t.Context(), mcp.RedeemPairingArgs{
		PairingToken: invited.PairingToken, PublicKey: public, Signature: pairing.Sign(private, mcp.RedeemMessage(invited.PairingToken)),
		Machine: mcp.Machine{Hostname: label, OS: "linux", Arch: "amd64"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return done.Token
}
