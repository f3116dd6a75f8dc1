package agent_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/runnerctl/agent"
	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/topologytest"
)

// asked is a store that notes whom it is asked for. It has nothing.
type asked struct {
	who    []string
	tidied int
}

type nothing struct{ topology.Cache }

func (a *asked) For(hub, owner, job string) topology.Cache {
	a.who = append(a.who, hub+" "+owner+" "+job)
	return nothing{}
}

// Tidy fails, which is no reason to run no jobs.
func (a *asked) Tidy() error { a.tidied++; return errors.New("no") }

// A job has the cache of whom the hub says, and none where it does not say.
func TestWhoseCacheAJobHas(t *testing.T) {
	for name, tt := range map[string]struct {
		owner   string
		who     []string
		results int
	}{
		"the hub tells":         {"wsp_1/usr_1", []string{"hub-1 wsp_1/usr_1 job_1"}, 1},
		"an older hub does not": {"", nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, store := newHub(), &asked{}
				exec := topologytest.NewExecutor(func(_ context.Context, work topology.Work, _ topology.Observer) topology.Result {
					if (work.Cache != nil) != (tt.owner != "") {
						t.Errorf("the cache is %v", work.Cache)
					}
					zero := 0
					return topology.Result{Status: topology.Succeeded, ExitCode: &zero, Caches: []topology.CacheResult{
						{Key: "k-2", Hit: topology.CachePrefix, RestoredKey: "k-1", RestoredBytes: 1, SavedBytes: 2},
					}}
				})
				h.Lease = func(l *mcp.Lease) { l.CacheOwner = tt.owner }
				r := start(t, agent.Config{Client: h, Executor: exec, HubID: "hub-1", Caches: store})
				h.Submit("job_1", quickSpec)
				got := settled(t, h, "job_1").Results[0].Caches
				want := []mcp.CacheResult{{Key: "k-2", Hit: "prefix", RestoredKey: "k-1", RestoredBytes: 1, SavedBytes: 2}}[:tt.results]
				if !slices.Equal(got, want) || !slices.Equal(store.who, tt.who) || store.tidied != 1 {
					t.Errorf("%+v; asked for %q, tidied %d times", got, store.who, store.tidied)
				}
				r.Drain()
				if err := r.end(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
