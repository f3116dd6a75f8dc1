package dispatch_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/dispatch"
	"github.com/runnerhub/runnerhub/hub/storetest"
)

// join adds a workspace to the world that ann belongs to as well.
func (w *world) join() hub.Workspace {
	w.Helper()
	ws := storetest.NewWorkspace()
	w.must(w.store.CreateWorkspace(w.ctx, ws, storetest.NewEvent(hub.ActWorkspaceCreated)))
	w.must(w.store.PutMember(w.ctx, hub.Membership{Workspace: ws, UserID: w.ann.User.ID, Role: hub.RoleMember}, storetest.NewEvent(hub.ActMemberAdded)))
	return ws
}

func forWorkspace(ws hub.Workspace) func(*dispatch.SubmitRequest) {
	return func(r *dispatch.SubmitRequest) { r.Workspace = ws.Slug }
}

// order takes n jobs and says whose each was: a for the world's workspace, b for another.
func (m *machine) order(n int, after func(*dispatch.Lease)) string {
	m.Helper()
	var out strings.Builder
	for range n {
		l := m.take()
		if m.job(l.JobID).WorkspaceID == m.ws.ID {
			out.WriteByte('a')
		} else {
			out.WriteByte('b')
		}
		after(l)
	}
	return out.String()
}

func TestWorkspacesShareAPersonsRunners(t *testing.T) {
	for name, tt := range map[string]struct {
		flood int
		keep  bool // the jobs stay live
		want  string
	}{
		"by what is live":                          {10, true, "abababab" + "aaaa"},
		"in turn where nothing is live in between": {10, false, "abababab" + "aaaa"},
		"behind a flood of more than a page":       {120, true, "abababab" + "aaaa"},
	} {
		t.Run(name, func(t *testing.T) {
			onStores(t, func(t backend) {
				w := newWorld(t)
				m := w.machine(self(w.ann))
				b := w.join()
				for range tt.flood {
					w.submit()
				}
				for range 4 {
					w.submit(forWorkspace(b))
				}
				after := func(l *dispatch.Lease) {
					if !tt.keep {
						m.begin(l)
						m.settle(success(l))
					}
				}
				if got := m.order(len(tt.want), after); got != tt.want {
					t.Errorf("the jobs went as %s, want %s", got, tt.want)
				}
			})
		})
	}
}

// countingStore counts the looks at a whole queue.
type countingStore struct {
	hub.Store
	looks atomic.Int32
}

func (c *countingStore) Shares(ctx context.Context, k hub.QueueKey) ([]hub.Share, error) {
	c.looks.Add(1)
	return c.Store.Shares(ctx, k)
}

func TestAQueueOfOneWorkspaceIsNotLookedThrough(t *testing.T) {
	onStores(t, func(t backend) {
		var st *countingStore
		w := newWorld(t, withStore(func(s hub.Store) hub.Store {
			st = &countingStore{Store: s}
			return st
		}))
		m := w.machine(self(w.ann))
		b := w.join()
		for range 40 {
			w.submit()
		}
		m.take()
		if n := st.looks.Load(); n != 0 {
			t.Errorf("a short queue was looked through %d times", n)
		}
		for range 40 {
			w.submit()
		}
		w.clock.advance(2 * time.Second) // what is remembered of the head of a queue is not looked for
		for range 5 {
			m.take()
		}
		if n := st.looks.Load(); n != 1 {
			t.Errorf("a long queue was looked through %d times within a second", n)
		}
		first := w.submit(forWorkspace(b)) // which ends that
		if l := m.take(); l.JobID != first.ID {
			t.Errorf("got %s", l.JobID)
		}
		// A workspace's own runners serve nobody else.
		w.submit(target(dispatch.TargetWorkspace))
		before := st.looks.Load()
		w.machine(hub.WorkspaceOwner(w.ws.ID)).take()
		if n := st.looks.Load(); n != before {
			t.Error("a workspace's own queue was looked through")
		}
	})
}

func TestTheCapOnAWorkspaceLeavesRoomForTheOthers(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t, withPolicy(func(p *hub.Policy) { p.MaxRunningPerWorkspace = 1 }))
		w.run(w.s)
		m := w.machine(self(w.ann))
		b := w.join()
		w.submit()
		l := m.take()
		waits := w.submit()
		m.none()
		theirs := w.submit(forWorkspace(b))
		if got := m.take(); got.JobID != theirs.ID {
			t.Errorf("got %s", got.JobID)
		}
		for range 60 { // more than a page
			w.submit()
		}
		m.none()
		c := w.call(m)
		m.begin(l)
		m.settle(success(l))
		if got, err := get(w, c.ch); err != nil || got.Lease == nil || got.Lease.JobID != waits.ID {
			t.Errorf("got %+v, %v", got, err)
		}
	})
}

func TestRoomGoesToTheWorkspaceWhoseTurnItIs(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t, withPolicy(func(p *hub.Policy) { p.MaxRunning = 1 }))
		w.run(w.s)
		b := w.join()
		for range 3 {
			w.submit()
		}
		theirs := w.submit(forWorkspace(b))
		busy := w.machine(self(w.ann))
		l := busy.take()
		busy.begin(l)
		c := w.call(w.machine(self(w.ann)))
		busy.settle(success(l))
		if got, err := get(w, c.ch); err != nil || got.Lease == nil || got.Lease.JobID != theirs.ID {
			t.Errorf("got %+v, %v", got, err)
		}
	})
}

func TestAPriorityIsWorthAnAge(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		m := w.machine(self(w.ann))
		urgent := func(r *dispatch.SubmitRequest) { r.Priority = 2 }
		low := func(r *dispatch.SubmitRequest) { r.Priority = -1 }
		old := w.submit(low)
		w.clock.advance(2*w.policy.PriorityAge + w.policy.PriorityAge/2)
		plain, fresh := w.submit(), w.submit(urgent) // worth an age of 0 and 2 more; old has one of 1.5
		for _, want := range []hub.Job{fresh, old, plain} {
			if l := m.take(); l.JobID != want.ID {
				t.Fatalf("got %s, want %s", l.JobID, want.ID)
			}
		}
	})
}
