package enroll_test

import (
	"crypto/ed25519"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/enroll"
	"github.com/runnerhub/runnerhub/hub/identity"
	"github.com/runnerhub/runnerhub/hub/sqlite"
	"github.com/runnerhub/runnerhub/pairing"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a store with an admin of the workspace team, a member of it, and a stranger.
type world struct {
	store                   *sqlite.Store
	service                 *enroll.Service
	ids                     *identity.Service
	mu                      sync.Mutex
	clock                   time.Time
	drain                   chan struct{}
	admin, member, stranger hub.Principal
	key                     string
	private                 ed25519.PrivateKey
}

func (w *world) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.clock
}

func (w *world) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clock = w.clock.Add(d)
}

func newWorld(t *testing.T) *world {
	t.Helper()
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "hub.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	w := &world{store: store, clock: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), drain: make(chan struct{})}
	w.key, w.private = pairing.NewKey()
	w.service = enroll.New(store, w.now, hub.DefaultPolicy(), w.drain)
	w.ids = identity.New(store, w.now)
	if _, err := w.ids.CreateWorkspace(t.Context(), "team"); err != nil {
		t.Fatal(err)
	}
	for login, p := range map[string]*hub.Principal{"ada": &w.admin, "bob": &w.member, "eve": &w.stranger} {
		u, err := w.ids.CreateUser(t.Context(), login, false)
		if err != nil {
			t.Fatal(err)
		}
		*p = hub.Principal{Kind: hub.KindUser, User: u, Address: "192.0.2.1"}
	}
	for login, role := range map[string]hub.Role{"ada": hub.RoleAdmin, "bob": hub.RoleMember} {
		if err := w.ids.AddMember(t.Context(), "team", login, role); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

func (w *world) start(t *testing.T, workspace, label string) enroll.Started {
	t.Helper()
	s, err := w.service.Start(t.Context(), enroll.StartRequest{
		Machine: enroll.Machine{Hostname: "Laptop.local", OS: "linux", Arch: "amd64", Version: "1"}, PublicKey: w.key,
		Workspace: workspace, Label: label, Address: "192.0.2.7",
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// redeemRequest is a correct one for a request's id or a pair_ token.
func (w *world) redeemRequest(id, token string) enroll.RedeemRequest {
	message := []byte("signed: " + id + token)
	return enroll.RedeemRequest{
		PairingID: id, Token: token, PublicKey: w.key, Message: message, Signature: pairing.Sign(w.private, message),
		Machine: enroll.Machine{Hostname: "Laptop.local", OS: "linux", Arch: "amd64"},
	}
}

func wantCode(t *testing.T, err error, want hub.Code) {
	t.Helper()
	if got := hub.CodeOf(err); got != want {
		t.Errorf("got %v (%v), want %s", got, err, want)
	}
	if e, ok := err.(*hub.Error); ok && e.Hint == "" { //nolint:errorlint // the hint of the very error that the caller sees
		t.Errorf("%v has no hint", err)
	}
}

func TestAPersonApprovesAMachine(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.start(t, "", "")
	pending, err := w.service.Redeem(t.Context(), w.redeemRequest(s.Pairing.ID, ""))
	if err != nil || pending.State != hub.PairingPending || pending.Token != "" {
		t.Fatalf("before the approval: %+v, %v", pending, err)
	}
	v, err := w.service.Find(t.Context(), w.admin, strings.ToLower(s.UserCode))
	if err != nil {
		t.Fatal(err)
	}
	if v.Fingerprint != s.Fingerprint || v.Pairing.Hostname != "Laptop.local" || v.Pairing.Address != "192.0.2.7" {
		t.Errorf("the approver sees %+v", v)
	}
	if _, err := w.service.Decide(t.Context(), w.admin, enroll.Decision{UserCode: s.UserCode, Approve: true, Labels: []string{"gpu-box"}}); err != nil {
		t.Fatal(err)
	}
	done, err := w.service.Redeem(t.Context(), w.redeemRequest(s.Pairing.ID, ""))
	if err != nil || done.State != hub.PairingRedeemed {
		t.Fatalf("after the approval: %+v, %v", done, err)
	}
	p, err := w.ids.Authenticate(t.Context(), done.Token, "192.0.2.7")
	if err != nil || p.Runner.ID != done.Runner.ID || p.Runner.Owner != hub.UserOwner(w.admin.User.ID) || p.Runner.Label != "laptop" {
		t.Errorf("the token belongs to %+v, %v", p.Runner, err)
	}

	// The same machine asking again, because the answer was lost, gets the same one.
	again, err := w.service.Redeem(t.Context(), w.redeemRequest(s.Pairing.ID, ""))
	if err != nil || again.Token != done.Token || again.Runner.ID != done.Runner.ID {
		t.Errorf("asked again: %+v, %v", again, err)
	}
	// Anybody else finds it used up, and so does everybody once it has expired.
	other := w.redeemRequest(s.Pairing.ID, "")
	public, private := pairing.NewKey()
	other.PublicKey, other.Signature = public, pairing.Sign(private, other.Message)
	_, err = w.service.Redeem(t.Context(), other)
	wantCode(t, err, hub.Conflict)
	_, err = w.service.Decide(t.Context(), w.admin, enroll.Decision{UserCode: s.UserCode, Approve: true})
	wantCode(t, err, hub.Conflict)
	w.pass(hub.PairingTTL)
	_, err = w.service.Redeem(t.Context(), w.redeemRequest(s.Pairing.ID, ""))
	wantCode(t, err, hub.Conflict)
}

func TestAHeldRedeemHearsTheDecision(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.start(t, "team", "box")
	got := make(chan enroll.Redeemed, 1)
	go func() {
		r := w.redeemRequest(s.Pairing.ID, "")
		r.Wait = time.Minute
		done, err := w.service.Redeem(t.Context(), r)
		if err != nil {
			t.Error(err)
		}
		got <- done
	}()
	if _, err := w.service.Decide(t.Context(), w.admin, enroll.Decision{UserCode: s.UserCode, Approve: true}); err != nil {
		t.Fatal(err)
	}
	if done := <-got; done.State != hub.PairingRedeemed || done.Runner.Label != "box" {
		t.Errorf("the held call was answered with %+v", done)
	}
}

func TestDrainEndsAHeldRedeem(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.start(t, "", "")
	close(w.drain)
	r := w.redeemRequest(s.Pairing.ID, "")
	r.Wait = time.Minute
	_, err := w.service.Redeem(t.Context(), r)
	wantCode(t, err, hub.Draining)
}

func TestWhoMayApprove(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.start(t, "team", "")
	_, err := w.service.Decide(t.Context(), w.member, enroll.Decision{UserCode: s.UserCode, Approve: true})
	wantCode(t, err, hub.PermissionDenied)
	_, err = w.service.Decide(t.Context(), w.stranger, enroll.Decision{UserCode: s.UserCode, Approve: true})
	wantCode(t, err, hub.NotFound)
	_, err = w.service.Invite(t.Context(), w.member, "team", "", nil)
	wantCode(t, err, hub.PermissionDenied)
	_, err = w.service.Invite(t.Context(), w.stranger, "team", "", nil)
	wantCode(t, err, hub.NotFound)
	if _, err := w.service.Decide(t.Context(), w.admin, enroll.Decision{UserCode: s.UserCode}); err != nil {
		t.Fatal(err)
	}
	_, err = w.service.Redeem(t.Context(), w.redeemRequest(s.Pairing.ID, ""))
	wantCode(t, err, hub.PermissionDenied)
	unknown := w.start(t, "no-such-workspace", "")
	_, err = w.service.Decide(t.Context(), w.admin, enroll.Decision{UserCode: unknown.UserCode, Approve: true})
	wantCode(t, err, hub.NotFound)
}

func TestCodesExpireAndGuessesAreCounted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.start(t, "", "")
	for range 10 {
		_, err := w.service.Find(t.Context(), w.stranger, pairing.NewUserCode())
		wantCode(t, err, hub.NotFound)
	}
	_, err := w.service.Find(t.Context(), w.stranger, s.UserCode)
	wantCode(t, err, hub.RateLimited)
	if _, err := w.service.Find(t.Context(), w.admin, s.UserCode); err != nil {
		t.Errorf("one person's guesses lock another out: %v", err)
	}
	for range 30 { // right codes are not counted
		if _, err := w.service.Find(t.Context(), w.admin, s.UserCode); err != nil {
			t.Fatal(err)
		}
	}
	w.pass(hub.PairingTTL)
	_, err = w.service.Decide(t.Context(), w.admin, enroll.Decision{UserCode: s.UserCode, Approve: true})
	wantCode(t, err, hub.NotFound)
	_, err = w.service.Redeem(t.Context(), w.redeemRequest(s.Pairing.ID, ""))
	wantCode(t, err, hub.NotFound)
}

func TestOneAddressCannotFloodTheHub(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var err error
	for range 21 {
		_, err = w.service.Start(t.Context(), enroll.StartRequest{PublicKey: w.key, Address: "192.0.2.7"})
	}
	wantCode(t, err, hub.RateLimited)
	if _, err := w.service.Start(t.Context(), enroll.StartRequest{PublicKey: w.key, Address: "192.0.2.8"}); err != nil {
		t.Errorf("another address: %v", err)
	}
}

func TestInvitedMachinesPairOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	invited, err := w.service.Invite(t.Context(), w.admin, "team", "", []string{"shared"})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	tokens, conflicts := map[string]bool{}, 0
	for range 8 { // eight machines at once, each with a key of its own
		wg.Go(func() {
			r := w.redeemRequest("", invited.Token)
			public, private := pairing.NewKey()
			r.PublicKey, r.Signature = public, pairing.Sign(private, r.Message)
			done, err := w.service.Redeem(t.Context(), r)
			mu.Lock()
			defer mu.Unlock()
			switch hub.CodeOf(err) {
			case "":
				tokens[done.Token] = true
			case hub.Conflict:
				conflicts++
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if len(tokens) != 1 || conflicts != 7 {
		t.Errorf("%d machines paired and %d were refused, want 1 and 7", len(tokens), conflicts)
	}
	roster, err := w.service.List(t.Context(), w.member, enroll.ListRequest{Workspace: "team", Limit: 10})
	if err != nil || len(roster) != 1 || roster[0].Status != hub.RunnerOffline {
		t.Errorf("the roster is %+v, %v", roster, err)
	}
	w.pass(hub.PairingTTL)
	late, err := w.service.Invite(t.Context(), w.admin, "", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	w.pass(hub.PairingTTL)
	_, err = w.service.Redeem(t.Context(), w.redeemRequest("", late.Token))
	wantCode(t, err, hub.NotFound)
}

func TestLabels(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	pair := func(label string) (enroll.Redeemed, error) {
		invited, err := w.service.Invite(t.Context(), w.admin, "", label, nil)
		if err != nil {
			return enroll.Redeemed{}, err
		}
		return w.service.Redeem(t.Context(), w.redeemRequest("", invited.Token))
	}
	for i, want := range []string{"laptop", "laptop-2", "laptop-3"} { // host names get a number, since nobody chose them
		done, err := pair("")
		if err != nil || done.Runner.Label != want {
			t.Fatalf("machine %d is called %q, %v; want %q", i, done.Runner.Label, err, want)
		}
	}
	_, err := pair("laptop-2") // a chosen label does not
	wantCode(t, err, hub.Conflict)
	for _, bad := range []string{"Laptop", "self", "workspace", "rnr-1", "a b", "-a", strings.Repeat("a", 64)} {
		_, err := pair(bad)
		wantCode(t, err, hub.InvalidArgument)
	}
}

func TestRevoke(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	invited, err := w.service.Invite(t.Context(), w.admin, "team", "box", nil)
	if err != nil {
		t.Fatal(err)
	}
	done, err := w.service.Redeem(t.Context(), w.redeemRequest("", invited.Token))
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.service.Revoke(t.Context(), w.admin, "", "box")
	wantCode(t, err, hub.NotFound) // it is the workspace's, not theirs
	_, err = w.service.Revoke(t.Context(), w.member, "team", "box")
	wantCode(t, err, hub.PermissionDenied)
	_, err = w.service.Revoke(t.Context(), w.stranger, "", done.Runner.ID)
	wantCode(t, err, hub.NotFound)
	if _, err := w.service.Revoke(t.Context(), w.admin, "team", "box"); err != nil {
		t.Fatal(err)
	}
	_, err = w.ids.Authenticate(t.Context(), done.Token, "")
	wantCode(t, err, hub.Unauthenticated)
}

func TestBadRequests(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	good := w.start(t, "", "")
	for name, tc := range map[string]struct {
		change func(*enroll.RedeemRequest)
		want   hub.Code
	}{
		"key":              {func(r *enroll.RedeemRequest) { r.PublicKey = "x" }, hub.InvalidArgument},
		"signature":        {func(r *enroll.RedeemRequest) { r.Signature = pairing.Sign(w.private, []byte("other")) }, hub.PermissionDenied},
		"unknown request":  {func(r *enroll.RedeemRequest) { r.PairingID = "prq_x" }, hub.NotFound},
		"mistyped token":   {func(r *enroll.RedeemRequest) { r.Token = "pair_x" }, hub.Unauthenticated},
		"unknown token":    {func(r *enroll.RedeemRequest) { r.Token = pairing.New(pairing.PairingToken) }, hub.NotFound},
		"other's token":    {func(r *enroll.RedeemRequest) { r.Token = pairing.New(pairing.APIKey) }, hub.Unauthenticated},
		"enormous machine": {func(r *enroll.RedeemRequest) { r.Machine.Hostname = strings.Repeat("x", 256) }, hub.TooLarge},
	} {
		r := w.redeemRequest(good.Pairing.ID, "")
		tc.change(&r)
		t.Run(name, func(t *testing.T) {
			_, err := w.service.Redeem(t.Context(), r)
			wantCode(t, err, tc.want)
		})
	}
}
