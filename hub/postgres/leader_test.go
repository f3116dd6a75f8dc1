package postgres

import (
	"testing"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/storetest"
)

func TestContractOfSeveralHubs(t *testing.T) {
	t.Parallel()
	storetest.RunShared(t, func(t *testing.T, hubs int) []hub.Store {
		t.Helper()
		url := newDatabase(t)
		out := make([]hub.Store, hubs)
		for i := range out {
			out[i] = openAt(t, url, Options{MaxConns: 4})
		}
		return out
	})
}

// To ask in vain writes nothing, since every hub but one does it all the time.
func TestFollowersWriteNothing(t *testing.T) {
	t.Parallel()
	s := open(t)
	if ok, err := s.Lead(t.Context(), "task", "a", at(0), at(10)); err != nil || !ok {
		t.Fatalf("got %v, error %v", ok, err)
	}
	version := func() (v string) {
		t.Helper()
		if err := s.pool.QueryRow(t.Context(), "SELECT concat_ws(' ', xmin, xmax, ctid) FROM leaders").Scan(&v); err != nil {
			t.Fatal(err)
		}
		return v
	}
	before := version()
	for range 3 {
		if ok, err := s.Lead(t.Context(), "task", "b", at(1), at(11)); err != nil || ok {
			t.Fatalf("got %v, error %v", ok, err)
		}
	}
	if after := version(); after != before {
		t.Errorf("the row was %s and is %s: it was written or locked", before, after)
	}
}
