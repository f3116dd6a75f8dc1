package storetest

import (
	"sync/atomic"
	"time"

	"github.com/runnerhub/runnerhub/hub"
)

func pairingTests() []test {
	return []test{
		{name: "a request comes back as it was made", run: pairingRoundTrip},
		{name: "no such request", run: pairingMissing},
		{name: "a code or token names one request", run: pairingDuplicate},
		{name: "decided once", run: pairingDecide},
		{name: "of decisions at once one counts", run: pairingDecideRace},
		{name: "redeemed once", run: pairingRedeem},
		{name: "of redeems at once one counts", run: pairingRedeemRace},
		{name: "of runners with one label at once one is paired", run: pairingLabelRace},
		{name: "forgotten when expired", run: pairingDelete},
	}
}

// approved is a request that r may redeem.
func (w *world) approved(r hub.Runner) hub.Pairing {
	w.Helper()
	p := NewPairing()
	p.CodeDigest, p.TokenDigest = nil, NewDigest()
	p.State, p.Owner, p.ApprovedBy, p.Label, p.Labels = hub.PairingApproved, r.Owner, "usr_1", r.Label, r.Labels
	w.must(w.s.CreatePairing(w.ctx, p, NewEvent(hub.ActPairingApproved)))
	return p
}

func redeemed(p hub.Pairing, r hub.Runner) hub.Pairing {
	p.State, p.RunnerID = hub.PairingRedeemed, r.ID
	return p
}

func (w *world) pairing(id string) hub.Pairing {
	w.Helper()
	p, err := w.s.GetPairing(w.ctx, id)
	w.must(err)
	return p
}

func pairingRoundTrip(w *world) {
	p := NewPairing()
	p.PublicKey, p.Workspace, p.Hostname = []byte{0, 1, 2, 255}, "slug", "höst"
	p.OS, p.Arch, p.Version, p.Address = "linux", "amd64", "1.2.3", "2001:db8::1"
	p.Label, p.Labels = "größe 漢字", []string{"a,b", `c"d`}
	p.CreatedAt, p.ExpiresAt = at(time.Microsecond), at(time.Minute+time.Microsecond)
	e, count := w.recorded(hub.ActPairingStarted)
	w.must(w.s.CreatePairing(w.ctx, p, e))
	w.equal(count(), 1)
	w.equal(w.pairing(p.ID), p)
	got, err := w.s.PairingByCode(w.ctx, p.CodeDigest)
	w.must(err)
	w.equal(got, p)
	q := w.approved(w.runner())
	got, err = w.s.PairingByToken(w.ctx, q.TokenDigest)
	w.must(err)
	w.equal(got, q)
}

func pairingMissing(w *world) {
	_, err := w.s.GetPairing(w.ctx, "prq_missing")
	w.wantCode(err, hub.NotFound)
	w.must(w.s.CreatePairing(w.ctx, NewPairing(), NewEvent(hub.ActPairingStarted))) // has no token
	w.approved(w.runner())                                                          // has no code
	for _, digest := range [][]byte{NewDigest(), {}, nil} {
		_, err = w.s.PairingByCode(w.ctx, digest)
		w.wantCode(err, hub.NotFound)
		_, err = w.s.PairingByToken(w.ctx, digest)
		w.wantCode(err, hub.NotFound)
	}
	e, count := w.recorded(hub.ActPairingDenied)
	p, r := NewPairing(), w.runner()
	p.State = hub.PairingDenied
	w.wantConflict(w.s.DecidePairing(w.ctx, p, e))
	p.Owner = w.owner
	w.wantConflict(w.s.RedeemPairing(w.ctx, redeemed(p, r), r, e))
	w.equal(count(), 0)
	_, err = w.s.GetRunner(w.ctx, r.ID)
	w.wantCode(err, hub.NotFound)
}

func pairingDuplicate(w *world) {
	p, q := NewPairing(), NewPairing()
	q.CodeDigest = p.CodeDigest
	e, count := w.recorded(hub.ActPairingStarted)
	w.must(w.s.CreatePairing(w.ctx, p, e))
	w.wantCode(w.s.CreatePairing(w.ctx, q, e), hub.Conflict)
	w.equal(count(), 1)
	_, err := w.s.GetPairing(w.ctx, q.ID)
	w.wantCode(err, hub.NotFound)
}

func pairingDecide(w *world) {
	p := NewPairing()
	w.must(w.s.CreatePairing(w.ctx, p, NewEvent(hub.ActPairingStarted)))
	e, count := w.recorded(hub.ActPairingApproved)
	p.State, p.Owner, p.ApprovedBy, p.Label, p.Labels = hub.PairingApproved, w.owner, "usr_1", "new", []string{"l"}
	w.must(w.s.DecidePairing(w.ctx, p, e))
	w.equal(w.pairing(p.ID), p)
	denied := p
	denied.State = hub.PairingDenied
	w.wantConflict(w.s.DecidePairing(w.ctx, denied, e))
	w.wantConflict(w.s.DecidePairing(w.ctx, p, e))
	w.equal(w.pairing(p.ID), p)
	w.equal(count(), 1)
}

func pairingDecideRace(w *world) {
	p := NewPairing()
	w.must(w.s.CreatePairing(w.ctx, p, NewEvent(hub.ActPairingStarted)))
	e, count := w.recorded(hub.ActPairingApproved)
	errs := make([]error, 8)
	together(len(errs), func(i int) {
		q := p
		q.State, q.Owner, q.ApprovedBy = hub.PairingApproved, w.owner, "usr_1"
		if i%2 == 0 {
			q.State = hub.PairingDenied
		}
		errs[i] = w.s.DecidePairing(w.ctx, q, e)
	})
	w.oneWon(errs)
	w.equal(count(), 1)
}

// oneWon wants no error once, and the guard's answer from all others.
func (w *world) oneWon(errs []error) {
	w.Helper()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else {
			w.wantConflict(err)
		}
	}
	w.equal(won, 1)
}

func pairingRedeem(w *world) {
	r := w.runner()
	p := w.approved(r)
	e, count := w.recorded(hub.ActRunnerPaired)
	p = redeemed(p, r)
	p.PublicKey, p.Hostname, p.OS = []byte{1, 2, 3}, "told late", "linux"
	w.must(w.s.RedeemPairing(w.ctx, p, r, e))
	w.equal(w.pairing(p.ID), p)
	w.equal(w.runnerNow(r.ID), r)

	again := w.runner()
	w.wantConflict(w.s.RedeemPairing(w.ctx, redeemed(p, again), again, e))
	_, err := w.s.GetRunner(w.ctx, again.ID)
	w.wantCode(err, hub.NotFound)
	w.equal(count(), 1)

	pending := NewPairing()
	w.must(w.s.CreatePairing(w.ctx, pending, NewEvent(hub.ActPairingStarted)))
	q := redeemed(pending, again)
	q.Owner = w.owner
	w.wantConflict(w.s.RedeemPairing(w.ctx, q, again, e))
	w.equal(w.pairing(pending.ID), pending)
}

func pairingRedeemRace(w *world) {
	p := w.approved(w.runner())
	e, count := w.recorded(hub.ActRunnerPaired)
	errs := make([]error, 8)
	together(len(errs), func(i int) {
		r := w.runner()
		errs[i] = w.s.RedeemPairing(w.ctx, redeemed(p, r), r, e)
	})
	w.oneWon(errs)
	w.equal(count(), 1)
	all, err := w.s.ListRunners(w.ctx, w.owner, true, "", 10)
	w.must(err)
	w.equal(len(all), 1)
	w.equal(w.pairing(p.ID).RunnerID, all[0].ID)
}

func pairingLabelRace(w *world) {
	var paired, taken atomic.Int32
	errs := make([]error, 6)
	pairings := make([]hub.Pairing, len(errs))
	for i := range pairings {
		pairings[i] = w.approved(w.runner())
	}
	together(len(errs), func(i int) {
		r := w.runner()
		r.Label = "the one"
		switch err := w.s.RedeemPairing(w.ctx, redeemed(pairings[i], r), r, NewEvent(hub.ActRunnerPaired)); hub.CodeOf(err) {
		case "":
			paired.Add(1)
		case hub.Conflict:
			taken.Add(1)
		default:
			errs[i] = err
		}
	})
	for _, err := range errs {
		w.must(err)
	}
	w.equal(paired.Load(), int32(1))
	w.equal(taken.Load(), int32(5))
}

func pairingDelete(w *world) {
	old, young := NewPairing(), NewPairing()
	old.ExpiresAt = at(-1000 * time.Hour) // nobody else's is as old
	for _, p := range []hub.Pairing{old, young} {
		w.must(w.s.CreatePairing(w.ctx, p, NewEvent(hub.ActPairingStarted)))
	}
	n, err := w.s.DeletePairings(w.ctx, old.ExpiresAt)
	w.must(err)
	w.equal(n, 0) // before, and not at
	n, err = w.s.DeletePairings(w.ctx, at(-999*time.Hour))
	w.must(err)
	w.equal(n, 1)
	_, err = w.s.GetPairing(w.ctx, old.ID)
	w.wantCode(err, hub.NotFound)
	w.equal(w.pairing(young.ID), young)
}
