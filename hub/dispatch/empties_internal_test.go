package dispatch

import (
	"fmt"
	"testing"

	"github.com/runnerhub/runnerhub/hub"
)

func TestAQueueIsEmptyUntilSomethingComes(t *testing.T) {
	t.Parallel()
	pool, other := hub.NewQueueKey(owner, ""), hub.NewQueueKey("user:usr_2", "")
	named := hub.NewQueueKey(owner, "a")
	for name, c := range map[string]struct {
		during func(ws *waiters) // between the beginning and the end of the look that finds nothing
		after  func(ws *waiters)
		empty  bool
	}{
		"nothing came":                        {empty: true},
		"something came to another queue":     {during: func(ws *waiters) { ws.stir(other) }, after: func(ws *waiters) { ws.stir(other) }, empty: true},
		"a hint came during the look":         {during: func(ws *waiters) { ws.stir(pool) }},
		"a hint came after it":                {after: func(ws *waiters) { ws.stir(pool) }},
		"hints may have been missed during":   {during: func(ws *waiters) { ws.stir("") }},
		"hints may have been missed after it": {after: func(ws *waiters) { ws.stir("") }},
		"a job came that nobody waited for":   {after: func(ws *waiters) { ws.offer(job("1")) }},
		"a job came for somebody who waited": {after: func(ws *waiters) {
			if ws.add(capable("b")); !ws.offer(job("1")) {
				panic("nobody was there")
			}
		}, empty: true},
		"more was forgotten than is remembered": {during: func(ws *waiters) {
			ws.stir(pool)
			for i := range 2 * maxEmpties {
				ws.stir(hub.NewQueueKey(hub.UserOwner(fmt.Sprint(i)), ""))
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ws := newWaiters()
			first, second := ws.beginLook(), ws.beginLook() // two calls look at the same time
			if c.during != nil {
				c.during(ws)
			}
			for _, began := range []int64{first, second} {
				ws.foundEmpty(pool, began)
				ws.foundEmpty(named, began)
			}
			if c.after != nil {
				c.after(ws)
			}
			w := ws.add(capable("a"))
			if got := ws.knownEmpty(w); got != c.empty {
				t.Errorf("known to be empty: %v", got)
			}
		})
	}
}
