package keyring_test

import (
	"testing"
	"time"

	"github.com/runnerhub/runnerhub/runnerctl/keyring"
	"github.com/runnerhub/runnerhub/runnerctl/keyring/keyringtest"
)

// The library keeps one connection to the session bus for the whole process, so the cases with
// a bus of their own run in an order: a machine without a keyring first, then one with it.
func TestSystemKeyring(t *testing.T) {
	bus := keyringtest.StartBus(t)
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", bus.Address)
	s := keyring.OpenSystem(5 * time.Second)
	t.Run("a machine without a keyring says so", func(t *testing.T) {
		wantUnavailable(t, keyring.Probe(s))
	})
	bus.StartKeyring(t)
	t.Run("contract", func(t *testing.T) { contract(t, s) })
	t.Run("a keyring that never answers is given up on", func(t *testing.T) {
		wantUnavailable(t, keyring.Probe(keyring.OpenSystem(time.Nanosecond)))
	})
}
