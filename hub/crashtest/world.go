package crashtest

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/dispatch"
	"github.com/runnerhub/runnerhub/hub/enroll"
	"github.com/runnerhub/runnerhub/hub/memory"
	"github.com/runnerhub/runnerhub/hub/storetest"
	"github.com/runnerhub/runnerhub/pairing"
)

// world is one person with a runner, on a store that other worlds have used before.
type world struct {
	testing.TB
	ctx     context.Context
	now     time.Time
	healthy *service
	bucket  hub.Bucket
	person  hub.Principal
	runner  hub.Principal
	// The key of a machine that is to be paired.
	public  string
	private ed25519.PrivateKey

	job    string
	lease  *dispatch.Lease
	upload string // its capability
	exec   string // id of a request to reach into the job
	code   string
	pair   string // id of a pairing
}

// service is the use cases over one store.
type service struct {
	*dispatch.Service
	enroll *enroll.Service
	store  hub.Store
}

func newWorld(tb testing.TB, s hub.Store) *world {
	tb.Helper()
	w := &world{TB: tb, ctx: context.Background(), now: storetest.Start(), bucket: memory.NewBucket()}
	u, ws := storetest.NewUser(), storetest.NewWorkspace()
	w.must(s.CreateUser(w.ctx, u, storetest.NewEvent(hub.ActUserCreated)))
	w.must(s.CreateWorkspace(w.ctx, ws, storetest.NewEvent(hub.ActWorkspaceCreated)))
	w.must(s.PutMember(w.ctx, hub.Membership{Workspace: ws, UserID: u.ID, Role: hub.RoleMember}, storetest.NewEvent(hub.ActMemberAdded)))
	w.person = hub.Principal{Kind: hub.KindUser, User: u, Address: "127.0.0.1"}
	r := storetest.NewRunner(hub.UserOwner(u.ID))
	storetest.AddRunner(tb, s, r)
	w.runner = hub.Principal{Kind: hub.KindRunner, Runner: r, Secret: hub.Secret("secret of " + r.ID), Address: "127.0.0.1"}
	w.public, w.private = pairing.NewKey()
	w.healthy = w.hub(s)
	return w
}

// hub is a hub that has just been started, long enough ago for its sweeps to believe that runners are silent.
func (w *world) hub(s hub.Store) *service { return w.hubOn(s, w.bucket) }

func (w *world) hubOn(s hub.Store, b hub.Bucket) *service {
	now := w.now
	w.now = now.Add(-time.Hour)
	d := dispatch.New(dispatch.Config{Store: s, Bucket: b, Policy: hub.DefaultPolicy(), Clock: func() time.Time { return w.now }})
	w.now = now
	return &service{d, enroll.New(s, d.Now, d.Policy(), nil), s}
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// jobs lists what the person has submitted.
func (w *world) jobs(s hub.Store) []string {
	w.Helper()
	list, err := s.ListJobs(w.ctx, hub.JobFilter{Owners: []hub.Owner{hub.UserOwner(w.person.User.ID)}, Limit: 100})
	w.must(err)
	ids := make([]string, len(list))
	for i, j := range list {
		ids[i] = j.Job.ID
	}
	return ids
}

func submission(key string) dispatch.SubmitRequest {
	return dispatch.SubmitRequest{JobRequest: dispatch.JobRequest{Spec: []byte("image: busybox\n")}, IdempotencyKey: key}
}

func (w *world) submit(h *service, r dispatch.SubmitRequest) error {
	out, err := h.Submit(w.ctx, w.person, r)
	if err == nil {
		w.job = out.Job.Job.ID
	}
	return err
}

var errNoLease = errors.New("there was no lease")

func (w *world) take(h *service) error {
	out, err := h.Lease(w.ctx, w.runner, dispatch.LeaseRequest{RequestID: "request", Presence: hub.Presence{
		OS: "linux", Arch: "amd64", Protocol: 1, Capabilities: []string{"docker"}, Slots: 1, FreeSlots: 1,
	}})
	if err == nil && out.Lease == nil {
		err = errNoLease
	}
	if err == nil {
		w.lease = out.Lease
	}
	return err
}

func (w *world) beat(h *service) error {
	out, err := h.Heartbeat(w.ctx, w.runner, dispatch.HeartbeatRequest{JobID: w.job, Proof: w.lease.Proof, Phase: "running"})
	if err == nil && out.State != dispatch.HeartbeatHeld {
		err = fmt.Errorf("a heartbeat was told %s", out.State)
	}
	return err
}

func (w *world) settle(h *service, s hub.JobState, c hub.Class) error {
	r := dispatch.SettleRequest{JobID: w.job, Proof: w.lease.Proof, State: s, Result: []byte(`{"status":"` + string(s) + `"}`)}
	if c != "" {
		r.Failure = &hub.Failure{Class: c, Message: "it broke"}
	}
	out, err := h.Settle(w.ctx, w.runner, r)
	if err == nil && !out.Accepted {
		err = fmt.Errorf("a report was told %+v", out)
	}
	return err
}

// undeleting is the bucket of a hub that is to die. Where its end is told by the state of its store at one moment, it goes
// on behind that, and would delete bytes that a dead hub leaves.
type undeleting struct{ hub.Bucket }

func (undeleting) Delete(context.Context, string) error { return nil }

func (undeleting) DeleteAll(context.Context, string, ...string) error { return nil }
