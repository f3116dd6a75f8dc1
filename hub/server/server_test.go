package server

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/mcp/mcpclient"
	"github.com/runnerhub/runnerhub/pairing"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// running is a hub under test.
type running struct {
	url    string
	said   *bytes.Buffer // its standard output, complete once done is closed
	stop   context.CancelCauseFunc
	done   chan error
	data   string
	stdout *io.PipeWriter
}

// boot runs a hub on a free port; it is stopped with the test.
func boot(t testing.TB, change func(*Settings)) *running {
	t.Helper()
	s := Defaults()
	s.Addr, s.Data = "127.0.0.1:0", t.TempDir()
	if change != nil {
		change(&s)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	r, w := io.Pipe()
	h := &running{said: &bytes.Buffer{}, stop: cancel, done: make(chan error, 1), data: s.Data, stdout: w}
	go func() {
		err := Run(ctx, s, w, slog.New(slog.NewTextHandler(t.Output(), nil)))
		w.Close()
		h.done <- err
	}()
	lines := bufio.NewReader(io.TeeReader(r, h.said))
	for {
		line, err := lines.ReadString('\n')
		if url, ok := strings.CutPrefix(strings.TrimSpace(line), "runnerhub listening on "); ok {
			h.url = url
			break
		}
		if err != nil {
			t.Fatalf("the hub did not come up: %v", <-h.done)
		}
	}
	go io.Copy(io.Discard, lines) //nolint:errcheck // until the hub ends
	t.Cleanup(func() {
		cancel(errors.New("the test is over"))
		if err := <-h.done; err != nil {
			t.Errorf("the hub ended with: %v", err)
		}
		h.done <- nil
	})
	return h
}

func (h *running) key(t testing.TB) string {
	t.Helper()
	key, err := os.ReadFile(filepath.Join(h.data, "admin.key"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(key))
}

func (h *running) client(t testing.TB, token string) *mcpclient.Client {
	t.Helper()
	c, err := mcpclient.New(mcpclient.Config{URL: h.url, Token: func() string { return token }, Retry: mcpclient.NoRetry})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// pair makes a runner and returns its token.
func (h *running) pair(t testing.TB) string {
	t.Helper()
	people := h.client(t, h.key(t))
	invited, err := people.PairRunner(t.Context(), mcp.PairRunnerArgs{Label: "box"})
	if err != nil {
		t.Fatal(err)
	}
	public, private := pairing.NewKey()
	done, err := people.RedeemPairing(t.Context(), mcp.RedeemPairingArgs{
		PairingToken: invited.PairingToken, PublicKey: public, Signature: pairing.Sign(private, mcp.RedeemMessage(invited.PairingToken)),
		Machine: mcp.Machine{Hostname: "box", OS: "linux", Arch: "amd64"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return done.Token
}

func TestFirstStartMakesAnAdmin(t *testing.T) {
	t.Parallel()
	h := boot(t, nil)
	key := h.key(t)
	if strings.Contains(h.said.String(), key) {
		t.Error("the key is on standard output")
	}
	if !strings.Contains(h.said.String(), filepath.Join(h.data, "admin.key")) {
		t.Errorf("standard output does not say where the key is: %s", h.said)
	}
	info, err := os.Stat(filepath.Join(h.data, "admin.key"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("admin.key: %v, mode %v, want 0600", err, info.Mode())
	}
	who, err := h.client(t, key).Whoami(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if who.Login != "admin" || !who.Admin || len(who.Workspaces) != 1 || who.Workspaces[0] != (mcp.WorkspaceRole{Slug: "default", Role: "admin"}) {
		t.Errorf("the admin is %+v", who)
	}
	_, err = h.client(t, key[:len(key)-1]+"~").Whoami(t.Context())
	if e, ok := errors.AsType[*mcp.Error](err); !ok || e.Code != mcp.CodeUnauthenticated {
		t.Errorf("a mistyped key: %v", err)
	}
}

func TestSecondStartChangesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := boot(t, func(s *Settings) { s.Data = dir })
	key := first.key(t)
	first.stop(errors.New("restart"))
	if err := <-first.done; err != nil {
		t.Fatal(err)
	}
	first.done <- nil
	second := boot(t, func(s *Settings) { s.Data = dir })
	if got := second.key(t); got != key {
		t.Error("the restart made another key")
	}
	if _, err := second.client(t, key).Whoami(t.Context()); err != nil {
		t.Errorf("the first key after a restart: %v", err)
	}
	if strings.Contains(second.said.String(), "admin.key") {
		t.Errorf("the restart claims to have made a key: %s", second.said)
	}
}

// A crash between the two writes of the first start leaves admin.key.new and a store that knows it.
func TestFirstStartSurvivesACrash(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := boot(t, func(s *Settings) { s.Data = dir })
	key := first.key(t)
	first.stop(errors.New("restart"))
	if err := <-first.done; err != nil {
		t.Fatal(err)
	}
	first.done <- nil
	if err := os.Rename(filepath.Join(dir, "admin.key"), filepath.Join(dir, "admin.key.new")); err != nil {
		t.Fatal(err)
	}
	second := boot(t, func(s *Settings) { s.Data = dir })
	if second.key(t) != key {
		t.Error("the key is not the one that the store knows")
	}
}

func TestDrainAnswersHeldCallsAtOnce(t *testing.T) {
	t.Parallel()
	h := boot(t, nil)
	runner := h.client(t, h.pair(t))
	if _, err := runner.LeaseJob(t.Context(), mcp.LeaseJobArgs{RequestID: "warm-up", Protocol: mcp.Protocol}); err != nil {
		t.Fatal(err)
	}
	answer := make(chan error, 1)
	go func() {
		_, err := runner.LeaseJob(context.Background(), mcp.LeaseJobArgs{RequestID: "held", Protocol: mcp.Protocol, WaitMS: mcp.MaxWait})
		answer <- err
	}()
	h.awaitHeld(t)
	begun := time.Now()
	h.stop(errors.New("SIGTERM"))
	err := <-answer
	if e, ok := errors.AsType[*mcp.Error](err); !ok || e.Code != mcp.CodeDraining || !e.Retryable {
		t.Errorf("the held call was answered with %v, want draining", err)
	}
	if err := <-h.done; err != nil {
		t.Errorf("the hub ended with: %v", err)
	}
	h.done <- nil
	if took := time.Since(begun); took > mcp.MaxWait*time.Millisecond {
		t.Errorf("the drain waited %s for the held call", took)
	}
}

// awaitHeld waits until the hub holds a lease call: its runner is online only once it has polled.
func (h *running) awaitHeld(t *testing.T) {
	t.Helper()
	people := h.client(t, h.key(t))
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for range tick.C {
		who, err := people.Whoami(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if who.RunnersOnline > 0 {
			return
		}
	}
}

func TestProbes(t *testing.T) {
	t.Parallel()
	h := boot(t, nil)
	for path, want := range map[string]int{"/healthz": 200, "/readyz": 200, "/nothing": 404} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("%s answers %d, want %d", path, res.StatusCode, want)
		}
	}
	http.DefaultClient.CloseIdleConnections()
}

func TestAStoreServesOneHub(t *testing.T) {
	t.Parallel()
	h := boot(t, nil)
	s := Defaults()
	s.Addr, s.Data = "127.0.0.1:0", h.data
	err := Run(t.Context(), s, io.Discard, slog.New(slog.DiscardHandler))
	if hub.CodeOf(err) != hub.Conflict {
		t.Fatalf("a second hub on the file: %v, want a conflict", err)
	}
}

func TestAdminCommandsWorkBesideAHub(t *testing.T) {
	t.Parallel()
	h := boot(t, nil)
	admin := func(args ...string) (stdout, stderr string, code int) {
		var out, errs bytes.Buffer
		code = Execute(t.Context(), append(args, "--data", h.data), &out, &errs, func(string) (string, bool) { return "", false })
		return out.String(), errs.String(), code
	}
	for _, args := range [][]string{
		{"admin", "create-user", "ada"},
		{"admin", "create-workspace", "team"},
		{"admin", "add-member", "--workspace", "team", "--user", "ada", "--role", "admin"},
		{"migrate", "status"},
		{"migrate", "up"},
	} {
		if out, errs, code := admin(args...); code != 0 {
			t.Fatalf("%v: exit code %d\n%s%s", args, code, out, errs)
		}
	}
	key, _, code := admin("admin", "create-key", "--user", "ada")
	if code != 0 || strings.Count(key, "\n") != 1 {
		t.Fatalf("create-key: exit code %d, standard output %q, want the key alone", code, key)
	}
	who, err := h.client(t, strings.TrimSpace(key)).Whoami(t.Context())
	if err != nil || who.Login != "ada" || len(who.Workspaces) != 1 || who.Workspaces[0].Role != "admin" {
		t.Errorf("whoami with the new key: %+v, %v", who, err)
	}
	for want, args := range map[string][]string{
		"taken":      {"admin", "create-user", "ada"},
		"nobody":     {"admin", "create-key", "--user", "nobody"},
		"Ada":        {"admin", "create-user", "Ada"},
		"boss":       {"admin", "add-member", "--workspace", "team", "--user", "ada", "--role", "boss"},
		"--database": {"admin", "create-user", "eve", "--database", "mysql://x"},
	} {
		if _, errs, code := admin(args...); code == 0 || !strings.Contains(errs, want) {
			t.Errorf("%v: exit code %d, says %q, want an error about %s", args, code, errs, want)
		}
	}
}

// Several hubs that start at once on one empty database make one admin, and serve the same jobs.
func TestHubsOnOneDatabase(t *testing.T) {
	t.Parallel()
	url := freshDatabase(t)
	hubs := make([]*running, 3)
	var wg sync.WaitGroup
	for i := range hubs {
		wg.Go(func() { hubs[i] = boot(t, func(s *Settings) { s.Database = url }) })
	}
	wg.Wait()
	var first *running
	for _, h := range hubs {
		if _, err := os.Stat(filepath.Join(h.data, "admin.key")); err == nil {
			if first != nil {
				t.Fatal("two hubs made an admin")
			}
			first = h
		}
	}
	if first == nil {
		t.Fatal("no hub made an admin")
	}
	// A lease held on one hub gets the job that another one took.
	token := first.pair(t)
	leased := make(chan mcp.LeaseJobResult, 1)
	go func() {
		res, err := hubs[1].client(t, token).LeaseJob(t.Context(), mcp.LeaseJobArgs{
			RequestID: "r", WaitMS: mcp.MaxWait, Protocol: mcp.Protocol, Capabilities: []string{"docker"}, OS: "linux", Arch: "amd64",
		})
		if err != nil {
			t.Error(err)
		}
		leased <- res
	}()
	key := first.key(t)
	job, err := hubs[2].client(t, key).SubmitJob(t.Context(), mcp.SubmitJobArgs{JobRequest: mcp.JobRequest{Spec: []byte(`"image: x"`)}})
	if err != nil {
		t.Fatal(err)
	}
	if res := <-leased; res.Lease == nil || res.Lease.JobID != job.Job.ID {
		t.Errorf("the held lease got %+v, want %s", res.Lease, job.Job.ID)
	}
}
