package server_test

import (
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
	"github.com/runnerhub/runnerhub/hub/server"
	"github.com/runnerhub/runnerhub/hub/server/servertest"
	"github.com/runnerhub/runnerhub/mcp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestFirstStartMakesAnAdmin(t *testing.T) {
	t.Parallel()
	h := servertest.Start(t, nil)
	key := h.AdminKey(t)
	if strings.Contains(h.Said(), key) {
		t.Error("the key is on standard output")
	}
	if !strings.Contains(h.Said(), filepath.Join(h.Data, "admin.key")) {
		t.Errorf("standard output does not say where the key is: %s", h.Said())
	}
	info, err := os.Stat(filepath.Join(h.Data, "admin.key"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("admin.key: %v, mode %v, want 0600", err, info.Mode())
	}
	who, err := h.Client(t, key).Whoami(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if who.Login != "admin" || !who.Admin || len(who.Workspaces) != 1 || who.Workspaces[0] != (mcp.WorkspaceRole{Slug: "default", Role: "admin"}) {
		t.Errorf("the admin is %+v", who)
	}
	_, err = h.Client(t, key[:len(key)-1]+"~").Whoami(t.Context())
	if e, ok := errors.AsType[*mcp.Error](err); !ok || e.Code != mcp.CodeUnauthenticated {
		t.Errorf("a mistyped key: %v", err)
	}
}

func TestSecondStartChangesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := servertest.Start(t, func(s *server.Settings) { s.Data = dir })
	key := first.AdminKey(t)
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	second := servertest.Start(t, func(s *server.Settings) { s.Data = dir })
	if got := second.AdminKey(t); got != key {
		t.Error("the restart made another key")
	}
	if _, err := second.Client(t, key).Whoami(t.Context()); err != nil {
		t.Errorf("the first key after a restart: %v", err)
	}
	if strings.Contains(second.Said(), "admin.key") {
		t.Errorf("the restart claims to have made a key: %s", second.Said())
	}
}

// A crash between the two writes of the first start leaves admin.key.new and a store that knows it.
func TestFirstStartSurvivesACrash(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := servertest.Start(t, func(s *server.Settings) { s.Data = dir })
	key := first.AdminKey(t)
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "admin.key"), filepath.Join(dir, "admin.key.new")); err != nil {
		t.Fatal(err)
	}
	second := servertest.Start(t, func(s *server.Settings) { s.Data = dir })
	if second.AdminKey(t) != key {
		t.Error("the key is not the one that the store knows")
	}
}

func TestDrainAnswersHeldCallsAtOnce(t *testing.T) {
	t.Parallel()
	h := servertest.Start(t, nil)
	runner := h.Client(t, h.Pair(t, "box"))
	if _, err := runner.LeaseJob(t.Context(), mcp.LeaseJobArgs{RequestID: "warm-up", Protocol: mcp.Protocol}); err != nil {
		t.Fatal(err)
	}
	answer := make(chan error, 1)
	go func() {
		_, err := runner.LeaseJob(context.Background(), mcp.LeaseJobArgs{RequestID: "held", Protocol: mcp.Protocol, WaitMS: mcp.MaxWait})
		answer <- err
	}()
	awaitHeld(t, h)
	begun := time.Now()
	h.Signal()
	err := <-answer
	if e, ok := errors.AsType[*mcp.Error](err); !ok || e.Code != mcp.CodeDraining || !e.Retryable {
		t.Errorf("the held call was answered with %v, want draining", err)
	}
	if err := h.Stop(); err != nil {
		t.Errorf("the hub ended with: %v", err)
	}
	if took := time.Since(begun); took > mcp.MaxWait*time.Millisecond {
		t.Errorf("the drain waited %s for the held call", took)
	}
}

// awaitHeld waits until the hub holds a lease call: its runner is online only once it has polled.
func awaitHeld(t *testing.T, h *servertest.Hub) {
	t.Helper()
	people := h.Client(t, h.AdminKey(t))
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
	h := servertest.Start(t, nil)
	for path, want := range map[string]int{"/healthz": 200, "/readyz": 200, "/nothing": 404} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.URL+path, nil)
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
	h := servertest.Start(t, nil)
	s := server.Defaults()
	s.Addr, s.Data = "127.0.0.1:0", h.Data
	err := server.Run(t.Context(), s, io.Discard, slog.New(slog.DiscardHandler))
	if hub.CodeOf(err) != hub.Conflict {
		t.Fatalf("a second hub on the file: %v, want a conflict", err)
	}
}

func TestAdminCommandsWorkBesideAHub(t *testing.T) {
	t.Parallel()
	h := servertest.Start(t, nil)
	admin := func(args ...string) (stdout, stderr string, code int) {
		var out, errs bytes.Buffer
		code = server.Execute(t.Context(), append(args, "--data", h.Data), &out, &errs, func(string) (string, bool) { return "", false })
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
	who, err := h.Client(t, strings.TrimSpace(key)).Whoami(t.Context())
	if err != nil || who.Login != "ada" || len(who.Workspaces) != 1 || who.Workspaces[0].Role != "admin" {
		t.Errorf("whoami with the new key: %+v, %v", who, err)
	}
	narrow, _, _ := admin("admin", "create-key", "--user", "ada", "--read-only", "--toolsets", "Artifacts, jobs")
	who, err = h.Client(t, strings.TrimSpace(narrow)).Whoami(t.Context())
	if err != nil || !who.ReadOnly || who.Toolsets != "jobs,artifacts" {
		t.Errorf("whoami with a narrow key: %+v, %v", who, err)
	}
	for want, args := range map[string][]string{
		"no toolset": {"admin", "create-key", "--user", "ada", "--toolsets", ""},
		"toolset":    {"admin", "create-key", "--user", "ada", "--toolsets", "job"},
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

// Hubs that share the folder, too, must not take each other's drafts for the key.
func TestHubsThatShareTheFolderMakeOneKey(t *testing.T) {
	t.Parallel()
	url, dir := servertest.Database(t), t.TempDir()
	hubs := make([]*servertest.Hub, 3)
	var wg sync.WaitGroup
	for i := range hubs {
		wg.Go(func() { hubs[i] = servertest.Start(t, func(s *server.Settings) { s.Database, s.Data = url, dir }) })
	}
	wg.Wait()
	if who, err := hubs[0].Client(t, hubs[0].AdminKey(t)).Whoami(t.Context()); err != nil || who.Login != "admin" {
		t.Errorf("the key in the folder: %+v, %v", who, err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "admin.key.new*")); err != nil || len(left) > 0 {
		t.Errorf("drafts are left: %v, %v", left, err)
	}
}

// Several hubs that start at once on one empty database make one admin, and serve the same jobs.
func TestHubsOnOneDatabase(t *testing.T) {
	t.Parallel()
	url := servertest.Database(t)
	hubs := make([]*servertest.Hub, 3)
	var wg sync.WaitGroup
	for i := range hubs {
		wg.Go(func() { hubs[i] = servertest.Start(t, func(s *server.Settings) { s.Database = url }) })
	}
	wg.Wait()
	var first *servertest.Hub
	for _, h := range hubs {
		if _, err := os.Stat(filepath.Join(h.Data, "admin.key")); err == nil {
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
	token := first.Pair(t, "box")
	leased := make(chan mcp.LeaseJobResult, 1)
	go func() {
		res, err := hubs[1].Client(t, token).LeaseJob(t.Context(), mcp.LeaseJobArgs{
			RequestID: "r", WaitMS: mcp.MaxWait, Protocol: mcp.Protocol, Capabilities: []string{"docker"}, OS: "linux", Arch: "amd64",
		})
		if err != nil {
			t.Error(err)
		}
		leased <- res
	}()
	key := first.AdminKey(t)
	job, err := hubs[2].Client(t, key).SubmitJob(t.Context(), mcp.SubmitJobArgs{JobRequest: mcp.JobRequest{Spec: []byte(`"image: x"`)}})
	if err != nil {
		t.Fatal(err)
	}
	if res := <-leased; res.Lease == nil || res.Lease.JobID != job.Job.ID {
		t.Errorf("the held lease got %+v, want %s", res.Lease, job.Job.ID)
	}
}
