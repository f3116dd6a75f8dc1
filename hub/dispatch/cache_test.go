package dispatch_test

import (
	"testing"

	"github.com/runnerhub/runnerhub/hub"
)

// A runner that serves several people is told whose folders each job may use: nobody's but those of who submitted it,
// in the same workspace.
func TestALeaseTellsWhoseCacheItIs(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		bob := w.person(w.ws)
		shared := w.machine(hub.WorkspaceOwner(w.ws.ID))
		for _, who := range []hub.Principal{w.ann, bob, w.ann} {
			_, err := w.s.Submit(w.ctx, who, request(target("workspace")))
			w.must(err)
			l := shared.take()
			if want := w.ws.ID + "/" + who.User.ID; l.CacheOwner != want {
				t.Errorf("%q, want %q", l.CacheOwner, want)
			}
			shared.settle(success(l))
		}
		personal := w.machine(self(w.ann))
		w.submit()
		if l, want := personal.take(), w.ws.ID+"/"+w.ann.User.ID; l.CacheOwner != want {
			t.Errorf("on a personal runner %q, want %q", l.CacheOwner, want)
		}
	})
}
