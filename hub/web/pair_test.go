package web_test

import (
	"context"
	"crypto/ed25519"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/api"
	"github.com/runnerhub/runnerhub/hub/enroll"
	"github.com/runnerhub/runnerhub/hub/web"
)

// waitingMachine is a roster in which one machine waits to be paired.
type waitingMachine struct {
	api.Roster
	mu       sync.Mutex
	state    hub.PairingState
	label    string
	attempts int
}

const code = "BCDF-GHJK"

func (m *waitingMachine) view() enroll.View {
	return enroll.View{
		Pairing: hub.Pairing{
			ID: "prq_1", State: m.state, Hostname: "lab-7 <b>bold</b>", OS: "linux", Arch: "arm64", Version: "1.2.3", Address: "192.0.2.44",
			Label: "lab-7", Workspace: "default", PublicKey: make(ed25519.PublicKey, 32), ExpiresAt: time.Unix(9*60+5, 0),
		},
		Fingerprint: "SHA256:abcdefghijklmnopqrstuvwxyz0123456789ABCDEFG",
	}
}

func (m *waitingMachine) Find(_ context.Context, _ hub.Principal, typed string) (enroll.View, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.attempts++
	if typed != code {
		return enroll.View{}, hub.Errorf(hub.NotFound, "no machine is waiting with that code").WithHint("compare it with what `runnerctl pair` shows")
	}
	return m.view(), nil
}

func (m *waitingMachine) Decide(_ context.Context, p hub.Principal, d enroll.Decision) (enroll.View, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if p.User.ID == "usr_bob" {
		return enroll.View{}, hub.Errorf(hub.PermissionDenied, "only an admin of default may pair or unpair its runners").WithHint("ask one of its admins")
	}
	m.state, m.label = hub.PairingDenied, d.Label
	if d.Approve {
		m.state = hub.PairingApproved
	}
	return m.view(), nil
}

func pairingDoor(t *testing.T, m *waitingMachine) string {
	t.Helper()
	d := open(t, nil) // for its log and fakes
	ops := api.Operations(api.Services{Jobs: d.jobs, Roster: m})
	s := httptest.NewServer(web.New(web.Options{Operations: ops, Auth: fakeAuth{}, Log: discard(), Logs: d.jobs, MCP: http.NotFoundHandler()}))
	t.Cleanup(s.Close)
	return s.URL
}

// One browser for all of it: to start one takes longer than the rest.
func TestPages(t *testing.T) {
	t.Parallel()
	b := browser(t)
	t.Run("a person approves a machine", func(t *testing.T) { personApproves(b, t) })
	t.Run("a person denies a machine", func(t *testing.T) { personDenies(b, t) })
	t.Run("what is wrong is told", func(t *testing.T) { wrongIsTold(b, t) })
	t.Run("small and dark screens", func(t *testing.T) { pagesFit(b, t) })
}

func personApproves(b context.Context, t *testing.T) {
	t.Helper()
	m := &waitingMachine{state: hub.PairingPending}
	url := pairingDoor(t, m)
	ctx, console := tab(b, t)
	var prefilled, address, storage, cookies, table string
	var boxes int
	run(ctx, t,
		chromedp.Navigate(url+"/pair#code="+code),
		chromedp.WaitVisible("#ask"),
		into(&prefilled, chromedp.Value("#code")),
		into(&address, chromedp.Location()),
		chromedp.SendKeys("#key", adaToken),
		chromedp.Click("#look"),
		chromedp.WaitVisible("#decide"),
		into(&table, chromedp.Text("#decide dl")),
		into(&boxes, chromedp.Evaluate[int]("document.querySelectorAll('#hostname b').length")),
		into(&storage, chromedp.Evaluate[string]("JSON.stringify([localStorage.length, sessionStorage.length])")),
		into(&cookies, chromedp.Evaluate[string]("document.cookie")),
		put("#label", "bench-1"),
		chromedp.Click("#approve"),
		chromedp.WaitVisible("#done"),
	)
	if prefilled != code || strings.Contains(address, "code") {
		t.Errorf("the code is %q, the address %q", prefilled, address)
	}
	for _, want := range []string{"lab-7 <b>bold</b>", "linux arm64", "1.2.3", "192.0.2.44", "SHA256:abcdef", "default", code, "9:0"} {
		if !strings.Contains(table, want) {
			t.Errorf("the page does not show %q: %s", want, table)
		}
	}
	if boxes != 0 || storage != "[0,0]" || cookies != "" {
		t.Errorf("markup %d, storage %s, cookies %q", boxes, storage, cookies)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.state != hub.PairingApproved || m.label != "bench-1" {
		t.Errorf("the machine is %s, labelled %q", m.state, m.label)
	}
	if console.String() != "" {
		t.Errorf("the console has %s", console)
	}
}

func personDenies(b context.Context, t *testing.T) {
	t.Helper()
	m := &waitingMachine{state: hub.PairingPending}
	url := pairingDoor(t, m)
	ctx, _ := tab(b, t)
	var title string
	run(ctx, t,
		chromedp.Navigate(url+"/pair"),
		chromedp.SendKeys("#code", strings.ToLower(code)),
		chromedp.SendKeys("#key", adaToken+"\n"),
		chromedp.WaitVisible("#decide"),
		chromedp.Click("#deny"),
		chromedp.WaitVisible("#done"),
		into(&title, chromedp.Text("#done-title")),
	)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.state != hub.PairingDenied || title != "Denied" {
		t.Errorf("the machine is %s, the page says %q", m.state, title)
	}
}

func wrongIsTold(b context.Context, t *testing.T) {
	t.Helper()
	m := &waitingMachine{state: hub.PairingPending}
	url := pairingDoor(t, m)
	ctx, _ := tab(b, t)
	fill := func(code, key string) step {
		return chromedp.Steps(
			chromedp.WaitVisible("#ask"), put("#code", code), put("#key", key), chromedp.Click("#look"))
	}
	alert := func(want string) step {
		return until(`!document.getElementById("alert").hidden && document.getElementById("alert").textContent.includes(` + "`" + want + "`)")
	}
	invalid := func(id string) step {
		return until(`document.activeElement.id === "` + id + `" && document.activeElement.getAttribute("aria-invalid") === "true"`)
	}
	run(ctx, t,
		chromedp.Navigate(url+"/pair"),
		fill("", ""), alert("Enter the code."), invalid("code"),
		fill(code, ""), alert("Enter your API key."), invalid("key"),
		fill(code, "ak_wrong"), alert("No user of this hub has that API key."), invalid("key"),
		fill("ZZZZ-ZZZZ", adaToken), alert("No machine is waiting with that code."), invalid("code"),
		fill(code, bobToken), chromedp.WaitVisible("#decide"), chromedp.Click("#approve"),
		alert("Only an admin of default may pair or unpair its runners."),
		chromedp.Click("#back"), chromedp.WaitVisible("#ask"),
	)
	m.mu.Lock()
	m.state = hub.PairingRedeemed
	m.mu.Unlock()
	run(ctx, t, fill(code, adaToken), alert("This pairing is redeemed."))
}
