package storetest

import (
	"time"

	"github.com/runnerhub/runnerhub/hub"
)

func keyTests() []test {
	return []test{
		{name: "a key comes back with its user", run: keyRoundTrip},
		{name: "revoked and expired keys are found too", run: keyRevoked},
		{name: "no such key or user", run: keyMissing},
	}
}

func (w *world) user() hub.User {
	w.Helper()
	u := NewUser()
	w.must(w.s.CreateUser(w.ctx, u, NewEvent(hub.ActUserCreated)))
	return u
}

func keyRoundTrip(w *world) {
	u := w.user()
	e, count := w.recorded(hub.ActKeyCreated)
	forever, expiring := NewKey(u.ID), NewKey(u.ID)
	expiring.Name, expiring.ExpiresAt = "größe", at(time.Hour+time.Microsecond)
	expiring.Scope = hub.KeyScope{ReadOnly: true, Toolsets: "jobs,artifacts"}
	for _, k := range []hub.APIKey{forever, expiring} {
		w.must(w.s.CreateKey(w.ctx, k, e))
		gotUser, gotKey, err := w.s.UserByKey(w.ctx, k.Digest)
		w.must(err)
		w.equal(gotUser, u)
		w.equal(gotKey, k)
	}
	w.equal(count(), 2)
	twice := NewKey(u.ID)
	twice.Digest = forever.Digest
	w.wantCode(w.s.CreateKey(w.ctx, twice, e), hub.Conflict)
	w.equal(count(), 2)
}

func keyRevoked(w *world) {
	u := w.user()
	k := NewKey(u.ID)
	k.ExpiresAt = at(-time.Hour)
	w.must(w.s.CreateKey(w.ctx, k, NewEvent(hub.ActKeyCreated)))
	e, count := w.recorded(hub.ActKeyRevoked)
	w.must(w.s.RevokeKey(w.ctx, k.ID, at(time.Minute), e))
	w.must(w.s.RevokeKey(w.ctx, k.ID, at(time.Hour), e)) // stays as it is
	k.RevokedAt = at(time.Minute)
	_, got, err := w.s.UserByKey(w.ctx, k.Digest)
	w.must(err)
	w.equal(got, k)
	w.equal(count(), 1)
}

func keyMissing(w *world) {
	for _, digest := range [][]byte{NewDigest(), {}, nil} {
		_, _, err := w.s.UserByKey(w.ctx, digest)
		w.wantCode(err, hub.NotFound)
	}
	e, count := w.recorded(hub.ActKeyRevoked)
	w.wantCode(w.s.RevokeKey(w.ctx, "key_missing", at(0), e), hub.NotFound)
	w.wantCode(w.s.CreateKey(w.ctx, NewKey("usr_missing"), e), hub.NotFound)
	w.equal(count(), 0)
}
