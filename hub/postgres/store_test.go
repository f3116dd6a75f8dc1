package postgres

import (
	"testing"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/storetest"
)

func TestContract(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) hub.Store {
		t.Helper()
		return openAt(t, newDatabase(t), Options{MaxConns: 8})
	})
}
