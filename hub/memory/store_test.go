package memory_test

import (
	"slices"
	"testing"

	"go.uber.org/goleak"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/memory"
	"github.com/runnerhub/runnerhub/hub/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestContract(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) hub.Store {
		t.Helper()
		s := memory.New()
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		})
		return s
	})
}

func TestContractOfSeveralHubs(t *testing.T) {
	t.Parallel()
	storetest.RunShared(t, func(t *testing.T, hubs int) []hub.Store {
		t.Helper()
		s := memory.New()
		t.Cleanup(func() { _ = s.Close() })
		return slices.Repeat([]hub.Store{s}, hubs)
	})
}
