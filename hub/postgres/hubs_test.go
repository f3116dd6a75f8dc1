package postgres

import (
	"sync"
	"testing"

	"github.com/runnerhub/runnerhub/hub"
)

// The contract holds within one store; these hold it between several on one database, as hubs are.

func twoHubs(t *testing.T) [2]*Store {
	t.Helper()
	url := newDatabase(t)
	return [2]*Store{openAt(t, url, Options{MaxConns: 4}), openAt(t, url, Options{MaxConns: 4})}
}

// together calls f for 0 to n-1 at the same time, every other on the other hub.
func together(hubs [2]*Store, n int, f func(s *Store, i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { f(hubs[i%2], i) })
	}
	wg.Wait()
}

// count counts the answers by their code; "" is no error.
func count(errs []error) map[hub.Code]int {
	n := map[hub.Code]int{}
	for _, err := range errs {
		n[hub.CodeOf(err)]++
	}
	return n
}

func TestQueueCapOfTwoHubs(t *testing.T) {
	t.Parallel()
	hubs := twoHubs(t)
	errs := make([]error, 20)
	together(hubs, len(errs), func(s *Store, i int) {
		p := newJob(owner, "")
		p.MaxQueued = 7
		_, _, errs[i] = s.Enqueue(t.Context(), p)
	})
	if n := count(errs); n[""] != 7 || n[hub.QueueFull] != 13 {
		t.Errorf("answers by code: %v", n)
	}
}

func TestRunningCapOfTwoHubs(t *testing.T) {
	t.Parallel()
	hubs := twoHubs(t)
	errs := make([]error, 12)
	changes := make([]hub.Change, len(errs))
	for i := range changes {
		p := newJob(owner, "")
		changes[i], _ = leased(t, p, enqueued(t, hubs[0], p), newRunner(owner))
		changes[i].MaxRunning = 4
	}
	together(hubs, len(errs), func(s *Store, i int) { errs[i] = s.Apply(t.Context(), changes[i]) })
	if n := count(errs); n[""] != 4 || n[hub.QuotaExceeded] != 8 {
		t.Errorf("answers by code: %v", n)
	}
	if n := sqlInt(t, hubs[0], "SELECT count(*) FROM attempts"); n != 4 {
		t.Errorf("%d attempts were written", n)
	}
}

func TestOneKeyOnTwoHubs(t *testing.T) {
	t.Parallel()
	hubs := twoHubs(t)
	const n = 12
	var ids [n]string
	errs := make([]error, n)
	together(hubs, n, func(s *Store, i int) {
		p := newJob(owner, "")
		p.IdempotencyKey, p.Fingerprint, p.MaxQueued = "key", []byte("same"), 1
		var j hub.Job
		j, _, errs[i] = s.Enqueue(t.Context(), p)
		ids[i] = j.ID
	})
	for i := range ids {
		if errs[i] != nil || ids[i] != ids[0] {
			t.Errorf("call %d got %q, error %v", i, ids[i], errs[i])
		}
	}
}

// A lease by one hub is found by the other, which does not lease the job again.
func TestOneJobOnTwoHubs(t *testing.T) {
	t.Parallel()
	hubs := twoHubs(t)
	for range 5 {
		p := newJob(owner, "")
		j := enqueued(t, hubs[0], p)
		errs := make([]error, 8)
		together(hubs, len(errs), func(s *Store, i int) {
			d, err := hub.Lease(j, p.Payload, hub.LeaseGrant{
				Runner: newRunner(owner), RequestID: "r", Digest: hub.Digest("n"), LogDigest: hub.Digest(newID("")),
			}, at(1), hub.DefaultPolicy())
			if err == nil {
				err = s.Apply(t.Context(), change(d))
			}
			errs[i] = err
		})
		won := 0
		for _, err := range errs {
			if err == nil {
				won++
			}
		}
		if won != 1 {
			t.Errorf("%d leases were given", won)
		}
	}
}
