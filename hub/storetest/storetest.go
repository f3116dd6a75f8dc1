// Package storetest is the contract of hub.Store as tests: every driver passes
// Run. Its constructors make valid rows for the tests of other packages too.
package storetest

import (
	"testing"

	"github.com/runnerhub/runnerhub/hub"
)

// Run holds a driver to the contract. open gives an empty store of its own to each
// call, and closes it when its test ends; tests that do not mind company share one.
func Run(t *testing.T, open func(t *testing.T) hub.Store) {
	t.Helper()
	shared := open(t)
	for topic, tests := range map[string][]test{
		"Enqueue":   enqueueTests(),
		"Apply":     applyTests(),
		"Guards":    guardTests(),
		"Races":     raceTests(),
		"Walk":      walkTests(),
		"Queue":     queueTests(),
		"Groups":    groupTests(),
		"Handoff":   handoffTests(),
		"Shares":    shareTests(),
		"Live":      liveTests(),
		"List":      listTests(),
		"Events":    eventTests(),
		"Logs":      logTests(),
		"Uploads":   uploadTests(),
		"Artifacts": artifactTests(),
		"Tickets":   ticketTests(),
		"Retain":    retentionTests(),
		"Runners":   runnerTests(),
		"Presence":  presenceTests(),
		"Accounts":  accountTests(),
		"Keys":      keyTests(),
		"Pairings":  pairingTests(),
		"Store":     storeTests(),
		"Execs":     execTests(),
	} {
		t.Run(topic, func(t *testing.T) {
			for _, c := range tests {
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					s := shared
					if c.alone {
						s = open(t)
					}
					c.run(newWorld(t, s))
				})
			}
		})
	}
}

// A test is one clause of the contract.
type test struct {
	name  string
	run   func(w *world)
	alone bool // needs a store that nobody else writes to
}
