package modeltest

import (
	"flag"
	"os"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

// checks is how many histories a test plays on each kind of store unless -rapid.checks or RAPID_CHECKS says otherwise,
// and quick how many times as many it plays on what needs no SQL.
const (
	checks = "50"
	quick  = 4
)

func TestMain(m *testing.M) {
	if _, set := os.LookupEnv("RAPID_CHECKS"); !set {
		if err := flag.Set("rapid.checks", checks); err != nil { // what the command line says comes after, and wins
			panic(err)
		}
	}
	goleak.VerifyTestMain(m)
}

// TestHistories plays random histories on the pure machine and on the hub over each kind of store.
func TestHistories(t *testing.T) {
	t.Parallel()
	t.Run("pure", func(t *testing.T) {
		t.Parallel()
		for range quick {
			rapid.Check(t, func(t *rapid.T) {
				c := &clock{start}
				judge(t, histories().Draw(t, "history"), newPure(rightMachine(), c.now), c)
			})
		}
	})
	for kind, open := range stores {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			all := open(t)
			rounds := 1
			if kind == "memory" {
				rounds = quick
			}
			for range rounds {
				rapid.Check(t, func(rt *rapid.T) {
					c := &clock{start}
					judge(rt, histories().Draw(rt, "history"), newHubs(t, all, c), c)
				})
			}
		})
	}
}

func judge(t rapid.TB, h history, s subject, c *clock) {
	t.Helper()
	if err := play(h, s, c); err != nil {
		t.Fatalf("%v\n%v", err, h)
	}
}

// TestKnownHistories plays histories that once went wrong, or nearly, on each kind of subject.
func TestKnownHistories(t *testing.T) {
	t.Parallel()
	for kind, open := range stores {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			all := open(t)
			for name, h := range known {
				c := &clock{start}
				if err := play(h, newPure(rightMachine(), c.now), c); err != nil {
					t.Errorf("pure, %s: %v", name, err)
				}
				c = &clock{start}
				if err := play(h, newHubs(t, all, c), c); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
}

var known = map[string]history{
	"a job that its runner cannot run arrives at another hub": {
		{lease, 0, 2, 3, 13},
		{submit, 1, 2, 4, 3},
		{lease, 0, 2, 0, 37},
	},
	"the answer to a lease is lost, and the lease with it": {
		{submit, 0, 0, 0, 0},
		{lost, 0, 0, 0, 0},
		{repeat, 1, 0, 0, 0},
		{tick, 0, 0, 0, 7},
		{sweep, 0, 0, 0, 0},
		{beat, 0, 0, 0, 0},
		{repeat, 1, 0, 0, 0},
		{beat, 1, 0, 1, 0},
		{report, 0, 0, 0, 0},
		{resend, 1, 0, 0, 0},
	},
	"two runners in turn report the same job": {
		{submit, 0, 0, 0, 12},
		{lease, 0, 0, 0, 0},
		{beat, 0, 0, 0, 0},
		{freeze, 0, 0, 0, 0},
		{tick, 0, 0, 0, 7},
		{sweep, 0, 0, 0, 0},
		{lease, 1, 2, 0, 0},
		{freeze, 0, 0, 0, 0},
		{report, 0, 0, 1, 0},
		{report, 1, 0, 0, 1},
		{report, 0, 0, 1, 0},
		{resend, 1, 0, 0, 0},
	},
	"a canceled runner goes on with its heartbeats": {
		{submit, 0, 0, 0, 0},
		{lease, 0, 0, 0, 0},
		{beat, 0, 0, 0, 0},
		{cancel, 1, 0, 0, 0},
		{tick, 0, 0, 0, 4},
		{cancel, 1, 0, 0, 0},
		{beat, 0, 0, 0, 0},
		{tick, 0, 0, 0, 2},
		{sweep, 1, 0, 0, 0},
		{beat, 0, 0, 0, 0},
	},
}
