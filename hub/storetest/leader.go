package storetest

import (
	"testing"
	"time"

	"github.com/runnerhub/runnerhub/hub"
)

// RunShared holds a driver to what it owes several hubs that use one store at the same time. open opens an empty
// store for as many hubs as are asked for.
func RunShared(t *testing.T, open func(t *testing.T, hubs int) []hub.Store) {
	t.Helper()
	t.Run("one hub leads", func(t *testing.T) {
		t.Parallel()
		oneLeads(t, open(t, 2))
	})
	t.Run("of those who ask at once one leads", func(t *testing.T) {
		t.Parallel()
		leadersRace(t, open(t, 2))
	})
}

// oneLeads: whoever asks, one hub leads until its time is over or it resigns.
func oneLeads(t *testing.T, hubs []hub.Store) {
	t.Helper()
	ask := func(s hub.Store, holder string, now, until int, want bool) {
		t.Helper()
		got, err := s.Lead(t.Context(), "task", holder, at(time.Duration(now)*time.Second), at(time.Duration(until)*time.Second))
		if err != nil || got != want {
			t.Fatalf("%s asks from %d to %d: got %v, error %v", holder, now, until, got, err)
		}
	}
	resign := func(s hub.Store, holder string) {
		t.Helper()
		if err := s.Resign(t.Context(), "task", holder); err != nil {
			t.Fatal(err)
		}
	}
	a, b := hubs[0], hubs[1]
	ask(a, "a", 0, 10, true)
	ask(b, "b", 5, 15, false)
	ask(a, "a", 6, 16, true)   // prolonged
	ask(b, "b", 15, 25, false) // which counts
	ask(b, "b", 16, 26, true)
	ask(a, "a", 17, 27, false) // a hub that was frozen meanwhile
	resign(a, "a")
	ask(a, "a", 18, 28, false) // what is another's cannot be given up
	resign(b, "b")
	ask(a, "a", 19, 29, true)
	if got, err := b.Lead(t.Context(), "another task", "b", at(19*time.Second), at(29*time.Second)); err != nil || !got {
		t.Errorf("another task: got %v, error %v", got, err)
	}
}

func leadersRace(t *testing.T, hubs []hub.Store) {
	t.Helper()
	for round := range 5 {
		won := make([]bool, 10)
		errs := make([]error, len(won))
		now := at(time.Duration(round) * time.Minute)
		together(len(won), func(i int) {
			won[i], errs[i] = hubs[i%len(hubs)].Lead(t.Context(), "task", NewID("hub_"), now, now.Add(time.Minute))
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
