package dispatch_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/dispatch"
	"github.com/runnerhub/runnerhub/hub/memory"
	"github.com/runnerhub/runnerhub/hub/storetest"
)

// clock is a time that tests move.
type clock struct {
	mu   sync.Mutex
	t    time.Time
	next func()
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.next != nil {
		c.next()
		c.next = nil
	}
	return c.t
}

// once calls f when the time is asked for next.
func (c *clock) once(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next = f
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

// world is a hub with one person, who belongs to one workspace.
type world struct {
	testing.TB
	ctx    context.Context
	store  hub.Store
	bucket hub.Bucket
	policy hub.Policy
	clock  *clock
	s      *dispatch.Service
	ann    hub.Principal
	ws     hub.Workspace
}

type option func(*world, *dispatch.Config)

// withPolicy changes the defaults.
func withPolicy(f func(*hub.Policy)) option {
	return func(_ *world, c *dispatch.Config) { f(&c.Policy) }
}

// longLeases keeps heartbeats held for as long as a busy machine may take.
func longLeases() option {
	return withPolicy(func(p *hub.Policy) { p.LeaseTTL = time.Hour })
}

// withStore puts something between the hub and its store.
func withStore(f func(hub.Store) hub.Store) option {
	return func(_ *world, c *dispatch.Config) { c.Store = f(c.Store) }
}

func newWorld(t backend, opts ...option) *world {
	t.Helper()
	w := &world{TB: t.TB, ctx: t.Context(), store: t.open(), clock: &clock{t: time.Now()}}
	w.bucket = memory.NewBucket()
	w.s = w.hub(w.store, opts...)
	w.ws = storetest.NewWorkspace()
	w.must(w.store.CreateWorkspace(w.ctx, w.ws, storetest.NewEvent(hub.ActWorkspaceCreated)))
	w.ann = w.person(w.ws)
	return w
}

// hub makes another hub of the world, on a store.
func (w *world) hub(st hub.Store, opts ...option) *dispatch.Service {
	w.Helper()
	c := dispatch.Config{
		Store: st, Bucket: w.bucket, Policy: hub.DefaultPolicy(), Clock: w.clock.now,
		Logger: slog.New(slog.NewTextHandler(w.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})),
	}
	for _, o := range opts {
		o(w, &c)
	}
	w.policy = c.Policy
	s := dispatch.New(c)
	s.SetMaxWait(5 * time.Minute) // on a busy machine a test may take longer than a caller would wait
	return s
}

// run starts a hub's loops, which end with the test.
func (w *world) run(s *dispatch.Service) {
	w.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	w.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			w.Errorf("Run: %v", err)
		}
	})
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) wantCode(err error, c hub.Code) *hub.Error {
	w.Helper()
	if got := hub.CodeOf(err); got != c {
		w.Fatalf("got %q (%v), want %q", got, err, c)
	}
	e := &hub.Error{}
	if err != nil {
		e, _ = err.(*hub.Error) //nolint:errorlint // what callers see is not wrapped
	}
	return e
}

// person adds a user who belongs to workspaces.
func (w *world) person(in ...hub.Workspace) hub.Principal {
	w.Helper()
	u := storetest.NewUser()
	w.must(w.store.CreateUser(w.ctx, u, storetest.NewEvent(hub.ActUserCreated)))
	for _, ws := range in {
		w.must(w.store.PutMember(w.ctx, hub.Membership{Workspace: ws, UserID: u.ID, Role: hub.RoleMember}, storetest.NewEvent(hub.ActMemberAdded)))
	}
	return hub.Principal{Kind: hub.KindUser, User: u, Address: "127.0.0.1"}
}

func self(p hub.Principal) hub.Owner { return hub.UserOwner(p.User.ID) }

// machine is a runner's side of the calls.
type machine struct {
	*world
	ctx      context.Context // of its calls
	s        *dispatch.Service
	p        hub.Principal
	presence hub.Presence
	policy   string // outline of its owner's, as it tells it
}

func presence() hub.Presence {
	return hub.Presence{OS: "linux", Arch: "amd64", Version: "test", Protocol: 1, Capabilities: []string{"docker", "linux", "amd64"}, Slots: 1, FreeSlots: 1}
}

// machine pairs a runner.
func (w *world) machine(o hub.Owner, edits ...func(*hub.Runner)) *machine {
	w.Helper()
	r := storetest.NewRunner(o)
	for _, f := range edits {
		f(&r)
	}
	storetest.AddRunner(w, w.store, r)
	return &machine{
		world: w, ctx: w.ctx, s: w.s, presence: presence(),
		p: hub.Principal{Kind: hub.KindRunner, Runner: r, Secret: hub.Secret("secret of " + r.ID), Address: "127.0.0.1"},
	}
}

func label(s string) func(*hub.Runner) { return func(r *hub.Runner) { r.Label = s } }

func newRequest() string { return uuid.NewString() }

func (m *machine) lease(wait time.Duration) (dispatch.LeaseResult, error) {
	return m.leaseAs(newRequest(), wait)
}

func (m *machine) leaseAs(id string, wait time.Duration) (dispatch.LeaseResult, error) {
	return m.s.Lease(m.ctx, m.p, dispatch.LeaseRequest{RequestID: id, Wait: wait, Presence: m.presence, Policy: []byte(m.policy)})
}

// take leases a job that must be there.
func (m *machine) take() *dispatch.Lease {
	m.Helper()
	r, err := m.lease(0)
	m.must(err)
	if r.Lease == nil {
		m.Fatalf("no lease, directives %v", r.Directives)
	}
	return r.Lease
}

// none asks for a job where there must be none.
func (m *machine) none() {
	m.Helper()
	r, err := m.lease(0)
	m.must(err)
	if r.Lease != nil {
		m.Fatalf("got job %s", r.Lease.JobID)
	}
}

func (m *machine) beat(l *dispatch.Lease, wait time.Duration) (dispatch.HeartbeatResult, error) {
	return m.s.Heartbeat(m.ctx, m.p, dispatch.HeartbeatRequest{JobID: l.JobID, Proof: l.Proof, Phase: "running", Step: "test", Wait: wait})
}

func (m *machine) begin(l *dispatch.Lease) {
	m.Helper()
	r, err := m.beat(l, 0)
	m.must(err)
	if r.State != dispatch.HeartbeatHeld {
		m.Fatalf("the first heartbeat answered %+v", r)
	}
}

func success(l *dispatch.Lease) dispatch.SettleRequest {
	return dispatch.SettleRequest{JobID: l.JobID, Proof: l.Proof, State: hub.JobSucceeded, Result: []byte(`{"status":"succeeded","exit_code":0}`)}
}

func failure(l *dispatch.Lease, c hub.Class) dispatch.SettleRequest {
	return dispatch.SettleRequest{
		JobID: l.JobID, Proof: l.Proof, State: hub.JobFailed, Failure: &hub.Failure{Class: c, Message: "it broke"},
		Result: fmt.Appendf(nil, `{"status":"failed","failure":{"class":%q}}`, c),
	}
}

func (m *machine) settle(r dispatch.SettleRequest) dispatch.SettleResult {
	m.Helper()
	out, err := m.s.Settle(m.ctx, m.p, r)
	m.must(err)
	return out
}

const spec = "image: busybox\ncommand: [\"true\"]\n"

func request(edits ...func(*dispatch.SubmitRequest)) dispatch.SubmitRequest {
	r := dispatch.SubmitRequest{JobRequest: dispatch.JobRequest{Spec: []byte(spec)}}
	for _, f := range edits {
		f(&r)
	}
	return r
}

func target(s string) func(*dispatch.SubmitRequest) {
	return func(r *dispatch.SubmitRequest) { r.Target = s }
}

func specText(s string) func(*dispatch.SubmitRequest) {
	return func(r *dispatch.SubmitRequest) { r.Spec = []byte(s) }
}

func (w *world) submit(edits ...func(*dispatch.SubmitRequest)) hub.Job {
	w.Helper()
	r, err := w.s.Submit(w.ctx, w.ann, request(edits...))
	w.must(err)
	return r.Job.Job
}

func (w *world) job(id string) hub.Job {
	w.Helper()
	j, err := w.store.GetJob(w.ctx, id)
	w.must(err)
	return j
}

func (w *world) wantState(id string, s hub.JobState) hub.Job {
	w.Helper()
	j := w.job(id)
	if j.State != s {
		w.Fatalf("the job is %s (%+v), want %s", j.State, j.Failure, s)
	}
	return j
}

// answer is what a call that runs beside the test came to.
type answer[T any] struct {
	v   T
	err error
}

// beside runs a call that may be held.
func beside[T any](f func() (T, error)) <-chan answer[T] {
	ch := make(chan answer[T], 1)
	go func() {
		v, err := f()
		ch <- answer[T]{v, err}
	}()
	return ch
}

// get waits for a call that must be answered soon.
func get[T any](w *world, ch <-chan answer[T]) (T, error) {
	w.Helper()
	select {
	case a := <-ch:
		return a.v, a.err
	case <-time.After(time.Minute):
		w.Fatal("the call was not answered")
		panic("unreachable")
	}
}

// until waits for a condition that another goroutine brings about.
func (w *world) until(what string, ok func() bool) {
	w.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	end := time.After(time.Minute)
	for !ok() {
		select {
		case <-tick.C:
		case <-end:
			w.Fatalf("not within a minute: %s", what)
		}
	}
}

// held waits until n lease calls of a hub sleep at a queue.
func (w *world) held(s *dispatch.Service, k hub.QueueKey, n int) {
	w.Helper()
	w.until(fmt.Sprintf("%d calls wait at %s", n, k), func() bool { return s.Waiting(k) == n })
}
