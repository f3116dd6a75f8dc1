package postgres

import (
	"testing"
	"time"
)

// One of several hubs leads, whoever asks, until its time is over or it resigns.
func TestOneHubLeads(t *testing.T) {
	t.Parallel()
	hubs := twoHubs(t)
	ask := func(s *Store, holder string, now, until int, want bool) {
		t.Helper()
		got, err := s.Lead(t.Context(), "task", holder, at(now), at(until))
		if err != nil || got != want {
			t.Fatalf("%s asks from %d to %d: got %v, error %v", holder, now, until, got, err)
		}
	}
	ask(hubs[0], "a", 0, 10, true)
	ask(hubs[1], "b", 5, 15, false)
	ask(hubs[0], "a", 6, 16, true)   // prolonged
	ask(hubs[1], "b", 15, 25, false) // which counts
	ask(hubs[1], "b", 16, 26, true)
	ask(hubs[0], "a", 17, 27, false) // a hub that was frozen meanwhile
	if err := hubs[0].Resign(t.Context(), "task", "a"); err != nil {
		t.Fatal(err)
	}
	ask(hubs[0], "a", 18, 28, false) // what is another's cannot be given up
	if err := hubs[1].Resign(t.Context(), "task", "b"); err != nil {
		t.Fatal(err)
	}
	ask(hubs[0], "a", 19, 29, true)
	if got, err := hubs[1].Lead(t.Context(), "another task", "b", at(19), at(29)); err != nil || !got {
		t.Errorf("another task: got %v, error %v", got, err)
	}
}

// Of hubs that ask at the same moment for what has run out, one gets it.
func TestLeadersRace(t *testing.T) {
	t.Parallel()
	hubs := twoHubs(t)
	for round := range 5 {
		won := make([]bool, 10)
		errs := make([]error, len(won))
		together(hubs, len(won), func(s *Store, i int) {
			now := at(round * 10)
			won[i], errs[i] = s.Lead(t.Context(), "task", newID("hub_"), now, now.Add(10*time.Second))
		})
		n := 0
		for i := range won {
			if errs[i] != nil {
				t.Error(errs[i])
			}
			if won[i] {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%d hubs lead", n)
		}
	}
}

// To ask in vain writes nothing, since every hub but one does it all the time.
func TestFollowersWriteNothing(t *testing.T) {
	t.Parallel()
	s := open(t)
	if ok, err := s.Lead(t.Context(), "task", "a", at(0), at(10)); err != nil || !ok {
		t.Fatalf("got %v, error %v", ok, err)
	}
	const version = "SELECT (xmin::text || ctid::text || xmax::text) = $1 FROM leaders"
	var before string
	if err := s.pool.QueryRow(t.Context(), "SELECT xmin::text || ctid::text || xmax::text FROM leaders").Scan(&before); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if ok, err := s.Lead(t.Context(), "task", "b", at(1), at(11)); err != nil || ok {
			t.Fatalf("got %v, error %v", ok, err)
		}
	}
	var same bool
	if err := s.pool.QueryRow(t.Context(), version, before).Scan(&same); err != nil || !same {
		t.Errorf("the row was written or locked, error %v", err)
	}
}
