package runnerctl_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/runnerhub/runnerhub/runnerctl/cmd/status"
	"github.com/runnerhub/runnerhub/runnerctl/cmdutil"
	"github.com/runnerhub/runnerhub/topology/topologytest"
)

func TestStatus(t *testing.T) {
	t.Parallel()
	m, h := signedIn(t)
	m.with(h.AdminKey(t), "pair", "--api-key-stdin", "--label", "box")
	m.env[cmdutil.EnvHub] = h.URL
	matchesGolden(t, "status.txt", m.ok("status"), h)
	matchesGolden(t, "status.json", m.ok("status", "--json"), h)
	m.ok("runners", "revoke", "box")
	s := decode[status.Status](t, m.ok("status", "--json"))
	if len(s.Profiles) != 1 || s.Profiles[0].Running != "revoked" {
		t.Errorf("after it was revoked: %+v", s)
	}
}

func TestStatusOfWhatIsBroken(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	if got := m.ok("status"); !strings.Contains(got, "none; start with") {
		t.Errorf("nothing yet: %q", got)
	}
	hang := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hang }))
	t.Cleanup(s.Close)
	t.Cleanup(func() { close(hang) })
	m.write("config/profiles.json", `{"profiles": {
		"hangs": {"hub": "`+s.URL+`", "storage": "keyring", "runner_id": "rnr-1", "label": "a\u001b[2J", "owner": "o", "login": "ada"},
		"hangs-too": {"hub": "`+s.URL+`", "storage": "file"},
		"refuses": {"hub": "http://127.0.0.1:1", "storage": "keyring"}}}`)
	m.executor = &topologytest.Executor{ProbeErr: http.ErrServerClosed}
	got := decode[status.Status](t, m.ok("status", "--json"))
	if got.Engine.Error == "" || len(got.Profiles) != 3 {
		t.Fatalf("%+v", got)
	}
	for i, says := range []string{"no answer within", "no answer within", "refused"} {
		if p := got.Profiles[i]; p.Reachable || !strings.Contains(p.Error, says) {
			t.Errorf("%s: %+v, want an error about %q", p.Profile, p, says)
		}
	}
	if p := got.Profiles[0]; p.SignedIn || !strings.Contains(p.TokenError, "gone from the test's keyring") {
		t.Errorf("a credential that is gone: %+v", p)
	}
	if text := m.ok("status"); strings.Contains(text, "\x1b") || !strings.Contains(text, "plain file") {
		t.Errorf("%q", text)
	}
}
