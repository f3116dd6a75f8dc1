package dispatch

import (
	"fmt"
	"testing"

	"github.com/runnerhub/runnerhub/hub"
)

const owner = hub.Owner("user:usr_1")

func capable(id string, caps ...string) hub.Runner {
	return hub.Runner{ID: id, Owner: owner, Label: id, Presence: hub.Presence{Capabilities: caps}}
}

func job(id string, requires ...string) arrival {
	return arrival{key: hub.NewQueueKey(owner, ""), jobID: id, demand: hub.Demand{Requires: requires}}
}

// awake lists the waiters that were woken.
func awake(ws ...*waiter) string {
	out := ""
	for _, w := range ws {
		if len(w.woken) > 0 {
			out += fmt.Sprintf("%s:%s ", w.runner.ID, w.woken[0].jobID)
		}
	}
	return out
}

func TestAWokenWaiterThatLeavesPassesTheWakeOn(t *testing.T) {
	t.Parallel()
	ws := newWaiters()
	a, b := ws.add(capable("a")), ws.add(capable("b"))
	for _, w := range []*waiter{a, b} {
		ws.look(w)
		ws.looked(w)
	}
	if !ws.offer(job("1")) || awake(a, b) != "a:1 " {
		t.Fatalf("awake: %s", awake(a, b))
	}
	left := ws.leave(a, "") // its client went away
	if len(left) != 1 || left[0].jobID != "1" {
		t.Fatalf("it leaves %v", left)
	}
	if !ws.offer(left[0]) || awake(b) != "b:1 " {
		t.Errorf("awake: %s", awake(b))
	}
	if left := ws.leave(b, "1"); len(left) != 0 {
		t.Errorf("it took the job and leaves %v", left)
	}
	if ws.offer(job("2")) || len(ws.byKey) != 0 {
		t.Error("somebody is still there")
	}
}

func TestAWaiterThatTookAnotherJobPassesItsOwnOn(t *testing.T) {
	t.Parallel()
	ws := newWaiters()
	a := ws.add(capable("a"))
	ws.offer(job("new"))
	ws.look(a)
	if left := ws.leave(a, "old"); len(left) != 1 || left[0].jobID != "new" {
		t.Errorf("it leaves %v", left)
	}
}

func TestAWaiterIsWokenOnceUntilItLooks(t *testing.T) {
	t.Parallel()
	ws := newWaiters()
	a := ws.add(capable("a"))
	if !ws.offer(job("1")) || ws.offer(job("2")) {
		t.Error("one waiter was woken for two jobs")
	}
	ws.look(a)
	if !ws.offer(job("3")) { // arrives while it looks: it must look once more
		t.Error("a job that arrives during a look wakes nobody")
	}
	ws.looked(a)
	if awake(a) != "a:3 " {
		t.Errorf("awake: %s", awake(a))
	}
}

func TestOffersGoToTheCapable(t *testing.T) {
	t.Parallel()
	ws := newWaiters()
	a, b := ws.add(capable("a")), ws.add(capable("b", "gpu"))
	if !ws.offer(job("1", "gpu")) || awake(a, b) != "b:1 " {
		t.Errorf("awake: %s", awake(a, b))
	}
	if ws.offer(job("2", "arm64")) {
		t.Error("somebody was woken who cannot take it")
	}
	named := job("3", "arm64")
	named.key = hub.NewQueueKey(owner, "a")
	if !ws.offer(named) || awake(a) != "a:3 " {
		t.Errorf("a named runner was not woken to reject: %s", awake(a, b))
	}
}

func TestReservations(t *testing.T) {
	t.Parallel()
	ws := newWaiters()
	if !ws.reserve("1") || ws.reserve("1") || !ws.isReserved("1") {
		t.Error("a job was reserved twice")
	}
	ws.unreserve("1")
	if !ws.reserve("1") {
		t.Error("it stays reserved")
	}
}

func TestFreedNamesTheQueuesOfACappedOwner(t *testing.T) {
	t.Parallel()
	ws := newWaiters()
	ws.add(capable("a"))
	job := hub.Job{Owner: owner, WorkspaceID: "wsp_1"}
	if k := ws.freed(job); k != nil {
		t.Errorf("nobody was refused: %v", k)
	}
	for _, c := range []capKey{{owner: owner}, {owner, "wsp_1"}} {
		ws.atCap(c)
		if k := ws.freed(hub.Job{Owner: "user:usr_2", WorkspaceID: "wsp_1"}); k != nil {
			t.Errorf("another owner's room counts: %v", k)
		}
		if k := ws.freed(job); len(k) != 2 {
			t.Errorf("freed %v", k)
		}
		if k := ws.freed(job); k != nil {
			t.Errorf("once is enough: %v", k)
		}
	}
	ws.atCap(capKey{owner, "wsp_2"})
	if k := ws.freed(job); k != nil {
		t.Errorf("another workspace's share counts: %v", k)
	}
}

func TestTurnsAreForgottenWithTheirRunners(t *testing.T) {
	t.Parallel()
	ws := newWaiters()
	ws.leave(ws.add(capable("a")), "1")
	ws.leave(ws.add(capable("b")), "2")
	ws.forget(func(id string) bool { return id == "b" })
	if len(ws.turn) != 1 || ws.turn["b"] == 0 {
		t.Errorf("turns %v", ws.turn)
	}
}
