package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/blobstore"
	"github.com/runnerhub/runnerhub/hub/dispatch"
	"github.com/runnerhub/runnerhub/hub/storetest"
)

// cases is a hub without HTTP: its use cases over PostgreSQL, one person and that person's runners.
type cases struct {
	*dispatch.Service
	store    hub.Store
	person   hub.Principal
	machines []hub.Principal
	requests atomic.Int64
}

// newCases makes one on a database. The caps are out of the way: what is measured here is not them.
func newCases(b *testing.B, database string, machines int) *cases {
	b.Helper()
	s := openStore(b, database)
	bucket, err := blobstore.Open(b.Context(), b.TempDir())
	must(b, err)
	b.Cleanup(func() { _ = bucket.Close() })
	pol := hub.DefaultPolicy()
	pol.MaxQueued, pol.MaxRunning = 1_000_000, 1_000_000
	c := &cases{Service: dispatch.New(dispatch.Config{Store: s, Bucket: bucket, Policy: pol}), store: s}
	u, ws := storetest.NewUser(), storetest.NewWorkspace()
	must(b, errors.Join(
		s.CreateUser(b.Context(), u, storetest.NewEvent(hub.ActUserCreated)),
		s.CreateWorkspace(b.Context(), ws, storetest.NewEvent(hub.ActWorkspaceCreated)),
	))
	must(b, s.PutMember(b.Context(), hub.Membership{Workspace: ws, UserID: u.ID, Role: hub.RoleMember}, storetest.NewEvent(hub.ActMemberAdded)))
	c.person = hub.Principal{Kind: hub.KindUser, User: u, Address: "127.0.0.1"}
	for range machines {
		r := storetest.NewRunner(hub.UserOwner(u.ID))
		storetest.AddRunner(b, s, r)
		c.machines = append(c.machines, hub.Principal{Kind: hub.KindRunner, Runner: r, Secret: hub.Secret(r.ID), Address: "127.0.0.1"})
	}
	return c
}

// together calls f n times, by so many callers.
func together(callers, n int, f func(caller, i int) error) error {
	var next atomic.Int64
	var wg sync.WaitGroup
	errs := make([]error, callers)
	for c := range callers {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && errs[c] == nil; i = int(next.Add(1)) - 1 {
				errs[c] = f(c, i)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// leases submits n jobs, leases them, and settles them, and returns how many a second were leased.
func (c *cases) leases(ctx context.Context, n int) (float64, error) {
	request := dispatch.SubmitRequest{JobRequest: dispatch.JobRequest{Spec: spec()}}
	err := together(16, n, func(int, int) error {
		_, err := c.Submit(ctx, c.person, request)
		return err
	})
	if err != nil {
		return 0, err
	}
	held := make([]*dispatch.Lease, n)
	by := make([]hub.Principal, n)
	begun := time.Now()
	err = together(len(c.machines), n, func(caller, i int) error {
		res, err := c.Lease(ctx, c.machines[caller], dispatch.LeaseRequest{
			RequestID: fmt.Sprint(c.requests.Add(1)), Presence: hub.Presence{Protocol: 1, Slots: 1, FreeSlots: 1, Capabilities: []string{"docker"}},
		})
		if err == nil && res.Lease == nil {
			err = errors.New("a queue with jobs gave none")
		}
		held[i], by[i] = res.Lease, c.machines[caller]
		return err
	})
	rate := float64(n) / time.Since(begun).Seconds()
	if err != nil {
		return 0, err
	}
	return rate, together(16, n, func(_, i int) error {
		_, err := c.Settle(ctx, by[i], dispatch.SettleRequest{
			JobID: held[i].JobID, Proof: held[i].Proof, State: hub.JobSucceeded, Result: []byte(`{"status":"succeeded","exit_code":0}`),
		})
		return err
	})
}

// leaseSide measures batches of leases.
func (c *cases) leaseSide(ctx context.Context, name string) side {
	return side{name, func() (float64, error) { return c.leases(ctx, 400) }}
}
