// Package crashtest kills the work of a hub before and after every statement that a use case has its store run, and looks
// at what is left: row, attempts, events, queue and logs must agree, what was answered must have come true, and the use
// case, called again at a hub that knows of nothing, must come to its end with nothing lost and nothing done twice.
package crashtest

import (
	"slices"
	"testing"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/storetest"
)

// Moment is when a statement is cut off.
type Moment string

// The moments.
const (
	Before Moment = "before" // it never ran
	After  Moment = "after"  // it ran, and nobody heard
)

// Victim is a store whose statements can be cut off.
type Victim interface {
	// Store is what the hub works on that is to die.
	Store() hub.Store
	// Arm has the n-th statement from now cut off, counted from 1.
	Arm(n int, m Moment)
	// Disarm ends that, and says whether it came to it.
	Disarm() (cut bool)
	// Answers says whether the hub goes on after the cut, so that its caller hears what comes of it.
	Answers() bool
	// Survivor is the store as it is found by whoever goes on.
	Survivor(testing.TB) hub.Store
}

// most bounds the statements of one use case; more are a loop.
const most = 200

// Run cuts off every statement of every use case. prepare is called for each of them: healthy is the store that worlds
// are made in, and victim works on the same data. A store that has few worlds in it is swept, and copied, sooner.
func Run(t *testing.T, prepare func(t *testing.T) (healthy hub.Store, victim Victim)) {
	t.Helper()
	for _, c := range slices.Concat(useCases, execCases) {
		t.Run(c.name, func(t *testing.T) {
			healthy, victim := prepare(t)
			for _, m := range []Moment{Before, After} {
				n := 1
				for ; n <= most && attempt(t, healthy, victim, c, n, m); n++ {
					if t.Failed() {
						return
					}
					if m == Before && !victim.Answers() { // where nobody hears, before a statement is after the one before it
						n++
						break
					}
				}
				if n > most {
					t.Errorf("it has no end after %d statements", most)
				}
				if n < 2 && !c.reads {
					t.Error("it runs no statement")
				}
			}
		})
	}
}

// attempt makes a world, cuts off statement n of the use case, and goes on. False says that it has fewer.
func attempt(t *testing.T, healthy hub.Store, victim Victim, c useCase, n int, m Moment) (cut bool) {
	t.Helper()
	w := newWorld(t, healthy)
	c.prepare(w)
	doomed := w.hubOn(victim.Store(), undeleting{w.bucket})
	victim.Arm(n, m)
	err := c.run(w, doomed)
	if cut = victim.Disarm(); !cut && err != nil {
		t.Errorf("undisturbed: %v", err)
		return false
	}
	s := victim.Survivor(t)
	if err := storetest.Audit(w.ctx, s, w.jobs(s)...); err != nil {
		t.Errorf("cut off %s statement %d: %v", m, n, err)
	}
	if err == nil && cut && victim.Answers() && c.again == nil {
		if err := c.check(w, s); err != nil {
			t.Errorf("cut off %s statement %d, and told that it worked: %v", m, n, err)
		}
	}
	again := c.again
	if again == nil {
		again = c.run
	}
	if err := again(w, w.hub(s)); err != nil {
		t.Errorf("cut off %s statement %d, and called again: %v", m, n, err)
	}
	if err := storetest.Audit(w.ctx, s, w.jobs(s)...); err != nil {
		t.Errorf("cut off %s statement %d, and called again: %v", m, n, err)
	}
	if err := c.check(w, s); err != nil {
		t.Errorf("cut off %s statement %d, and called again: %v", m, n, err)
	}
	return cut
}
