package modeltest

import (
	"context"
	"fmt"
	"testing"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/dispatch"
	"github.com/runnerhub/runnerhub/hub/storetest"
)

// hubsOn is hub/dispatch on a store: several hubs, which share nothing but it.
type hubsOn struct {
	ctx     context.Context
	stores  [hubs]hub.Store
	now     *clock
	hubs    [hubs]*dispatch.Service
	person  hub.Principal
	runners [runners]hub.Principal
}

// newHubs makes a world of its own on stores that other worlds may have been on: another person, other runners.
func newHubs(tb testing.TB, stores [hubs]hub.Store, c *clock) *hubsOn {
	tb.Helper()
	ctx := context.Background() // rapid plays on while the test's own is done
	x := &hubsOn{ctx: ctx, stores: stores, now: c}
	u, w := storetest.NewUser(), storetest.NewWorkspace()
	must := func(err error) {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
	}
	must(stores[0].CreateUser(ctx, u, storetest.NewEvent(hub.ActUserCreated)))
	must(stores[0].CreateWorkspace(ctx, w, storetest.NewEvent(hub.ActWorkspaceCreated)))
	must(stores[0].PutMember(ctx, hub.Membership{Workspace: w, UserID: u.ID, Role: hub.RoleMember}, storetest.NewEvent(hub.ActMemberAdded)))
	x.person = hub.Principal{Kind: hub.KindUser, User: u, Address: "127.0.0.1"}
	for i := range x.runners {
		r := storetest.NewRunner(hub.UserOwner(u.ID))
		storetest.AddRunner(tb, stores[0], r)
		x.runners[i] = hub.Principal{Kind: hub.KindRunner, Runner: r, Secret: hub.Secret("secret of " + r.ID), Address: "127.0.0.1"}
	}
	for i := range x.hubs {
		x.restart(i)
	}
	return x
}

func (x *hubsOn) restart(h int) {
	x.hubs[h] = dispatch.New(dispatch.Config{Store: x.stores[h], Bucket: noLogs{}, Policy: policy(), Clock: x.now.now})
}

// noLogs is a bucket for histories that write no logs.
type noLogs struct{ hub.Bucket }

func (x *hubsOn) submit(h int, s submission) answer {
	spec := fmt.Sprintf("image: busybox\ntimeout: %s\nretry: {max_attempts: %d}\n", s.timeout, s.attempts)
	if s.gpu {
		spec += "requires: [gpu]\n"
	}
	r := dispatch.SubmitRequest{JobRequest: dispatch.JobRequest{Spec: []byte(spec), Priority: s.priority}, IdempotencyKey: s.key}
	if s.runner != none {
		r.Target = x.runners[s.runner].Runner.ID
	}
	out, err := x.hubs[h].Submit(x.ctx, x.person, r)
	return answer{err: hub.CodeOf(err), job: out.Job.Job.ID, existing: out.Existing}
}

func (x *hubsOn) lease(h, r int, request string) answer {
	out, err := x.hubs[h].Lease(x.ctx, x.runners[r], dispatch.LeaseRequest{RequestID: request, Presence: presenceOf(r)})
	if err != nil || out.Lease == nil {
		return failed(err)
	}
	return answer{grant: &grant{out.Lease.JobID, r, out.Lease.Proof}}
}

func (x *hubsOn) beat(h int, g grant) answer {
	out, err := x.hubs[h].Heartbeat(x.ctx, x.runners[g.runner], dispatch.HeartbeatRequest{JobID: g.job, Proof: g.proof, Phase: "running"})
	return answer{err: hub.CodeOf(err), state: string(out.State)}
}

func (x *hubsOn) report(h int, g grant, o outcome) answer {
	r := o.report()
	out, err := x.hubs[h].Settle(x.ctx, x.runners[g.runner], dispatch.SettleRequest{
		JobID: g.job, Proof: g.proof, State: r.State, Failure: r.Failure, Result: []byte(`{"status":"` + string(r.State) + `"}`),
	})
	return answer{err: hub.CodeOf(err), accepted: out.Accepted, duplicate: out.Duplicate, requeued: out.Requeued}
}

func (x *hubsOn) release(h int, g grant) answer {
	return failed(x.hubs[h].Release(x.ctx, x.runners[g.runner], dispatch.ReleaseRequest{JobID: g.job, Proof: g.proof}))
}

func (x *hubsOn) cancel(h int, job string) answer {
	_, err := x.hubs[h].Cancel(x.ctx, x.person, job, "")
	return failed(err)
}

func (x *hubsOn) sweep(h int) error { return x.hubs[h].Sweep(x.ctx) }

func (x *hubsOn) revoke(h, r int) error {
	row, err := x.stores[h].RevokeRunner(x.ctx, x.runners[r].Runner.ID, x.now.now(), storetest.NewEvent(hub.ActRunnerRevoked))
	x.runners[r].Runner = row
	x.hubs[h].RunnerRevoked(x.ctx, row)
	return err
}

func (x *hubsOn) row(job string) (hub.Job, error) { return x.stores[0].GetJob(x.ctx, job) }

func (x *hubsOn) attempts(job string) ([]hub.Attempt, error) {
	return x.stores[hubs-1].ListAttempts(x.ctx, job)
}

func (x *hubsOn) agree(jobs []string) error {
	return storetest.Audit(x.ctx, x.stores[0], jobs...)
}
