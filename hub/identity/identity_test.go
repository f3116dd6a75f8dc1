package identity_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/identity"
	"github.com/runnerhub/runnerhub/hub/sqlite"
	"github.com/runnerhub/runnerhub/pairing"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, now func() time.Time) *identity.Service {
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
	return identity.New(store, now)
}

// Every way in which a token does not work is told apart, since none of it helps to guess one.
func TestTokensThatDoNotWork(t *testing.T) {
	t.Parallel()
	clock := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	ids := open(t, func() time.Time { return clock })
	if _, err := ids.CreateUser(t.Context(), "ada", false); err != nil {
		t.Fatal(err)
	}
	key := func(ttl time.Duration) (string, string) {
		k, row, err := ids.CreateKey(t.Context(), "ada", "test", ttl, hub.KeyScope{})
		if err != nil {
			t.Fatal(err)
		}
		return k, row.ID
	}
	good, _ := key(0)
	expiring, _ := key(time.Hour)
	revoked, id := key(0)
	if err := ids.RevokeKey(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if p, err := ids.Authenticate(t.Context(), expiring, "192.0.2.1"); err != nil || p.User.Login != "ada" || p.Actor() != "user:"+p.User.ID {
		t.Fatalf("before it expires: %+v, %v", p, err)
	}
	clock = clock.Add(time.Hour)
	typo := good[:len(good)-1] + string('a'+(good[len(good)-1]-'a'+1)%26)
	for name, tc := range map[string]struct{ token, says string }{
		"expired":         {expiring, "expired on 2026-01-02T04:04:05Z"},
		"revoked":         {revoked, "was revoked"},
		"mistyped":        {typo, "mistyped"},
		"unknown":         {pairing.New(pairing.APIKey), "no user of this hub"},
		"unknown runner":  {pairing.New(pairing.RunnerToken), "no runner of this hub"},
		"another purpose": {pairing.New(pairing.PairingToken), "pair_ token does not sign in"},
		"foreign":         {"ghp_abcdef", "not a token of Runner Hub"},
		"empty":           {"", "not a token of Runner Hub"},
	} {
		_, err := ids.Authenticate(t.Context(), tc.token, "")
		if hub.CodeOf(err) != hub.Unauthenticated || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v, want unauthenticated and %q", name, err, tc.says)
		}
		if tc.token != "" && err != nil && strings.Contains(err.Error(), tc.token) {
			t.Errorf("%s: the error repeats the token", name)
		}
	}
	p, err := ids.Authenticate(t.Context(), good, "")
	if err != nil {
		t.Fatal(err)
	}
	if text, err := p.Secret.MarshalText(); err != nil || string(text) != "[secret]" || p.Secret.String() != "[secret]" {
		t.Error("a principal's secret can be printed")
	}
}
