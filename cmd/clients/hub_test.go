//go:build clients

package clients_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/mcp/mcpclient"
	"github.com/runnerhub/runnerhub/pairing"
)

// hub is a process of runnerhub on its embedded store.
type hub struct {
	url  string
	key  string // of its admin
	data string // its folder
}

func startHub(t *testing.T) *hub {
	t.Helper()
	data := t.TempDir()
	url := launch(t, nil, "runnerhub listening on ", "runnerhub", "serve", "--addr", "127.0.0.1:0", "--data", data)
	key, err := os.ReadFile(filepath.Join(data, "admin.key"))
	if err != nil {
		t.Fatal(err)
	}
	return &hub{url: url, key: strings.TrimSpace(string(key)), data: data}
}

// startRunner pairs this machine with the hub and runs jobs for it, as many at once as there are slots.
func startRunner(t *testing.T, h *hub, slots string) {
	t.Helper()
	home := t.TempDir()
	env := append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home+"/config", "XDG_STATE_HOME="+home+"/state",
		"DBUS_SESSION_BUS_ADDRESS=unix:path="+home+"/no-bus", "RUNNERCTL_HUB="+h.url, "RUNNERCTL_API_KEY="+h.key)
	pair := exec.CommandContext(t.Context(), "runnerctl", "pair", "--label", "box", "--insecure-storage")
	pair.Env = env
	if out, err := pair.CombinedOutput(); err != nil {
		t.Fatalf("pair: %v\n%s", err, out)
	}
	launch(t, env, "ready to run jobs", "runnerctl", "run", "--slots", slots)
}

// launch starts a program that ends with the test, and returns what follows the words of its first line that has them.
func launch(t *testing.T, env []string, words, program string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(context.Background(), program, args...) // which is asked to end, and not killed
	said := &transcript{seen: make(chan string, 1), words: words}
	cmd.Env, cmd.Stdout, cmd.Stderr = env, said, said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // an error says that it has ended
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("%s ended with %v", program, err)
			}
		case <-time.After(patience):
			_ = cmd.Process.Kill()
			t.Errorf("%s does not end", program)
		}
		if t.Failed() {
			t.Logf("%s said:\n%s", program, said)
		}
	})
	select {
	case rest := <-said.seen:
		return rest
	case err := <-ended:
		ended <- err
		t.Fatalf("%s ended with %v", program, err)
	case <-time.After(patience):
		t.Fatalf("%s did not say %q", program, words)
	}
	return ""
}

// transcript keeps what a program says.
type transcript struct {
	mu    sync.Mutex
	text  bytes.Buffer
	words string
	seen  chan string // what follows the words, once
	done  bool
}

func (s *transcript) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text.Write(p)
	whole := s.text.Bytes()[:bytes.LastIndexByte(s.text.Bytes(), '\n')+1]
	for line := range bytes.Lines(whole) {
		if _, rest, found := strings.Cut(string(bytes.TrimSpace(line)), s.words); found && !s.done {
			s.done = true
			s.seen <- rest
		}
	}
	return len(p), nil
}

func (s *transcript) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// witness looks at the hub without the client under test.
func (h *hub) witness(t *testing.T) *mcpclient.Client {
	t.Helper()
	c, err := mcpclient.New(mcpclient.Config{URL: h.url, Token: func() string { return h.key }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// pair makes a runner of the admin's that never runs anything, and returns its token.
func (h *hub) pair(t *testing.T) string {
	t.Helper()
	c := h.witness(t)
	invited, err := c.PairRunner(t.Context(), mcp.PairRunnerArgs{Label: "token"})
	if err != nil {
		t.Fatal(err)
	}
	public, private := pairing.NewKey()
	done, err := c.RedeemPairing(t.Context(), mcp.RedeemPairingArgs{
		PairingToken: invited.PairingToken, PublicKey: public, Signature: pairing.Sign(private, mcp.RedeemMessage(invited.PairingToken)),
		Machine: mcp.Machine{Hostname: "token", OS: "linux", Arch: "amd64"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return done.Token
}
