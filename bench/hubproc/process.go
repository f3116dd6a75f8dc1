package hubproc

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/mcp/mcpclient"
	"github.com/runnerhub/runnerhub/pairing"
)

// Hub is a hub that runs.
type Hub struct {
	Addr string // host:port
	Key  string // of its admin
	tb   testing.TB
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
}

// Start runs a hub until the test ends. database is a URL, or ignored for the kinds that need none.
func Start(tb testing.TB, k Kind, database string, change func(*hub.Policy)) *Hub {
	tb.Helper()
	o := order{Kind: k, Data: tb.TempDir(), Database: database, Policy: hub.DefaultPolicy()}
	if prefix := os.Getenv("RUNNERHUB_BENCH_PROFILE"); prefix != "" {
		o.Profile = prefix + strings.ReplaceAll(string(k), " ", "-")
	}
	if k == SQLite || k == Memory {
		o.Database = "sqlite://" + filepath.Join(o.Data, "hub.db")
	}
	if change != nil {
		change(&o.Policy)
	}
	h := &Hub{tb: tb}
	if err := h.start(o); err != nil {
		tb.Fatal(err)
	}
	return h
}

func (h *Hub) start(o order) error {
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	h.cmd = exec.CommandContext(context.Background(), self) // which is told to end, and not killed
	h.cmd.Env = append(os.Environ(), environment+"="+string(text))
	h.cmd.Stderr = h.tb.Output()
	if h.in, err = h.cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := h.cmd.Start(); err != nil {
		return err
	}
	h.tb.Cleanup(h.stop)
	h.out = bufio.NewReader(out)
	for h.Addr == "" {
		line, err := h.out.ReadString('\n')
		if err != nil {
			return fmt.Errorf("the hub did not come up: %w", err)
		}
		h.Addr, _ = strings.CutPrefix(strings.TrimSpace(line), "runnerhub listening on http://")
		if strings.Contains(h.Addr, " ") {
			h.Addr = ""
		}
	}
	key, err := os.ReadFile(filepath.Join(o.Data, "admin.key"))
	h.Key = strings.TrimSpace(string(key))
	return err
}

// stop drains the hub, which must end in order.
func (h *Hub) stop() {
	err := h.cmd.Process.Signal(syscall.SIGTERM)
	if err = errors.Join(err, h.cmd.Wait()); err != nil {
		h.tb.Errorf("the hub's end: %v", err)
	}
}

// Usage is the memory that the hub uses.
func (h *Hub) Usage() (u Usage, err error) {
	if _, err := io.WriteString(h.in, "memory\n"); err != nil {
		return u, err
	}
	line, err := h.out.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &u)
	}
	return u, err
}

// PID is the hub's process.
func (h *Hub) PID() int { return h.cmd.Process.Pid }

// Pair makes runners of the admin's and returns their tokens.
func (h *Hub) Pair(n int) []string {
	h.tb.Helper()
	c, err := mcpclient.New(mcpclient.Config{URL: "http://" + h.Addr, Token: func() string { return h.Key }, Retry: mcpclient.NoRetry})
	if err != nil {
		h.tb.Fatal(err)
	}
	defer c.Close()
	tokens := make([]string, n)
	for i := range tokens {
		if tokens[i], err = pair(h.tb, c, fmt.Sprintf("box-%d", i)); err != nil {
			h.tb.Fatal(err)
		}
	}
	return tokens
}

func pair(tb testing.TB, c *mcpclient.Client, label string) (string, error) {
	invited, err := c.PairRunner(tb.Context(), mcp.PairRunnerArgs{Label: label})
	if err != nil {
		return "", err
	}
	public, private := pairing.NewKey()
	done, err := c.RedeemPairing(tb.Context(), mcp.RedeemPairingArgs{
		PairingToken: invited.PairingToken, PublicKey: public, Signature: pairing.Sign(private, mcp.RedeemMessage(invited.PairingToken)),
		Machine: mcp.Machine{Hostname: label, OS: "linux", Arch: "amd64"},
	})
	return done.Token, err
}

// UntilConnections returns once the hub holds so many connections.
func (h *Hub) UntilConnections(n int, within time.Duration) error {
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for limit := time.Now().Add(within); ; <-look.C {
		files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", h.PID()))
		if err != nil {
			return err
		}
		if len(files) >= n {
			return nil
		}
		if time.Now().After(limit) {
			return fmt.Errorf("the hub has %d open files, want %d connections", len(files), n)
		}
	}
}
