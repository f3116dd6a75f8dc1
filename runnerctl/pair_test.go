package runnerctl_test

import (
	"errors"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/runnerhub/runnerhub/hub/server/servertest"
	"github.com/runnerhub/runnerhub/mcp"
)

var userCode = regexp.MustCompile(`[B-Z]{4}-[B-Z]{4}`)

// decide is what the person at the browser does.
func decide(t *testing.T, h *servertest.Hub, g *going, approve bool) {
	t.Helper()
	g.awaits(t, "Waiting for approval")
	code := userCode.FindString(g.err.String())
	if _, err := h.Client(t, h.AdminKey(t)).DecidePairing(t.Context(), mcp.DecidePairingArgs{UserCode: code, Approve: approve}); err != nil {
		t.Fatalf("decide on %q: %v", code, err)
	}
}

func TestPairByCode(t *testing.T) {
	t.Parallel()
	h := servertest.Start(t, nil)
	m := newMachine(t)
	g := m.start("", nil, "pair", "--hub", h.URL, "--label", "box")
	decide(t, h, g, true)
	r := g.wait()
	if r.code != 0 || !strings.Contains(r.stdout, "Paired as box (rnr-") {
		t.Fatalf("%+v", r)
	}
	matchesGolden(t, "pair.txt", userCode.ReplaceAllString(regexp.MustCompile(`SHA256:\S+`).ReplaceAllString(r.stderr, "SHA256:X"), "CODE")+r.stdout, h)
	if r := m.run("pair", "--hub", h.URL); r.code != mcp.ExitConflict || !strings.Contains(r.stderr, "unpair") {
		t.Errorf("pair twice: %+v", r)
	}
	if got := m.ok("unpair"); !strings.Contains(got, "Unpaired box") {
		t.Errorf("unpair: %q", got)
	}
	if len(m.keyring.secrets) != 0 {
		t.Errorf("the keyring still holds %v", len(m.keyring.secrets))
	}
}

func TestPairDenied(t *testing.T) {
	t.Parallel()
	h := servertest.Start(t, nil)
	m := newMachine(t)
	g := m.start("", nil, "pair", "--hub", h.URL)
	decide(t, h, g, false)
	if r := g.wait(); r.code != mcp.ExitAuth || !strings.Contains(r.stderr, "denied") {
		t.Errorf("%+v", r)
	}
	if len(m.keyring.secrets) != 0 {
		t.Error("something was stored")
	}
}

func TestPairInterrupted(t *testing.T) {
	t.Parallel()
	h := servertest.Start(t, nil)
	g := newMachine(t).start("", nil, "pair", "--hub", h.URL)
	g.awaits(t, "Waiting for approval")
	g.signal <- struct{}{}
	if r := g.wait(); r.code != mcp.ExitInterrupted {
		t.Errorf("%+v", r)
	}
}

func TestPairWithATokenOrAKey(t *testing.T) {
	t.Parallel()
	h := servertest.Start(t, nil)
	invited, err := h.Client(t, h.AdminKey(t)).PairRunner(t.Context(), mcp.PairRunnerArgs{Label: "invited"})
	if err != nil {
		t.Fatal(err)
	}
	m := newMachine(t)
	for _, tc := range []struct {
		stdin string
		args  []string
		code  int
		says  string
	}{
		{"", []string{"--token-stdin"}, mcp.ExitUsage, "standard input"},
		{"pair_nonsense", []string{"--token-stdin"}, mcp.ExitAuth, "pair_"},
		{"", []string{"--labels", "gpu"}, mcp.ExitUsage, "--labels"},
		{h.AdminKey(t), []string{"--api-key-stdin", "--workspace", "nowhere"}, mcp.ExitNotFound, "nowhere"},
		{invited.PairingToken, []string{"--token-stdin"}, 0, "Paired as invited"},
		{h.AdminKey(t), []string{"--api-key-stdin", "--profile", "team", "--workspace", "default", "--labels", "gpu,big", "--label", "lab"}, 0, "for the members of default"},
	} {
		r := m.with(tc.stdin, append([]string{"pair", "--hub", h.URL}, tc.args...)...)
		if r.code != tc.code || !strings.Contains(r.stdout+r.stderr, tc.says) {
			t.Errorf("%v: %+v, want code %d and %q", tc.args, r, tc.code, tc.says)
		}
	}
}

// A runner whose token cannot be kept would be one that nobody can be.
func TestPairIsUndoneWhereTheTokenCannotBeKept(t *testing.T) {
	t.Parallel()
	m, h := onHub(t)
	delete(m.env, "RUNNERCTL_API_KEY")
	g := m.start("", nil, "pair", "--label", "box")
	g.awaits(t, "Waiting for approval")
	m.keyring.mu.Lock()
	m.keyring.broken = errors.New("locked")
	m.keyring.mu.Unlock()
	decide(t, h, g, true)
	if r := g.wait(); r.code != mcp.ExitUnavailable {
		t.Errorf("%+v", r)
	}
	runners, err := h.Client(t, h.AdminKey(t)).ListRunners(t.Context(), mcp.ListRunnersArgs{})
	if err != nil || len(runners.Runners) != 0 {
		t.Errorf("runners: %+v, %v", runners, err)
	}
}

func TestTwoPairingsAtOnceLeaveOneRunner(t *testing.T) {
	t.Parallel()
	m, h := onHub(t)
	var wg sync.WaitGroup
	codes := make([]int, 3)
	for i := range codes {
		wg.Go(func() { codes[i] = m.run("pair").code })
	}
	wg.Wait()
	won := 0
	for _, c := range codes {
		if c == 0 {
			won++
		} else if c != mcp.ExitConflict {
			t.Errorf("exit code %d", c)
		}
	}
	runners, err := h.Client(t, h.AdminKey(t)).ListRunners(t.Context(), mcp.ListRunnersArgs{})
	if err != nil || len(runners.Runners) != 1 || won != 1 {
		t.Errorf("%d won, runners: %+v, %v", won, runners, err)
	}
	m.ok("unpair") // with the token of the one that is left
}

func TestUnpairWithoutTheHub(t *testing.T) {
	t.Parallel()
	m, h := onHub(t)
	m.ok("pair", "--label", "box")
	if err := h.Stop(); err != nil {
		t.Fatal(err)
	}
	if r := m.run("unpair"); r.code != mcp.ExitUnavailable || !strings.Contains(r.stderr, "--local") {
		t.Errorf("unpair from a hub that is away: %+v", r)
	}
	if r := m.run("unpair", "--local"); r.code != 0 || !strings.Contains(r.stderr, "runners revoke") {
		t.Errorf("unpair --local: %+v", r)
	}
}

func TestRevoke(t *testing.T) {
	t.Parallel()
	m, _ := onHub(t)
	m.ok("pair", "--label", "box")
	if got := m.ok("runners", "revoke", "box"); !strings.Contains(got, "its token is dead") {
		t.Errorf("revoke: %q", got)
	}
	if r := m.run("run"); r.code != mcp.ExitAuth || !strings.Contains(r.stderr, "unpaired") {
		t.Errorf("run after it was revoked: %+v", r)
	}
	m.ok("unpair") // the hub knows the token no more, which is what unpair wants
	if r := m.run("runners"); r.stdout != "" || !strings.Contains(r.stderr, "runnerctl pair") {
		t.Errorf("no runners: %+v", r)
	}
	if list := decode[[]mcp.Runner](t, m.ok("runners", "--include-revoked", "--json")); len(list) != 1 || list[0].Status != "revoked" {
		t.Errorf("--include-revoked: %+v", list)
	}
	if r := m.run("runners", "revoke", "nothing"); r.code != mcp.ExitNotFound {
		t.Errorf("revoke of nothing: %+v", r)
	}
}
