package dispatch_test

import (
	"testing"

	"github.com/runnerhub/runnerhub/hub"
)

// Bytes that a loss of power took are asked for again, and no job is told that they are there.
func TestLostBytesAreAskedForAgain(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		data := content(100)
		r := w.source(data)
		r.Owner = hub.WorkspaceOwner(w.ws.ID)
		spec := specText(startsFrom(data))
		for name, lose := range map[string]func(key string) error{
			"empty": func(key string) error { return w.bucket.Put(w.ctx, key, nil) },
			"gone":  func(key string) error { return w.bucket.Delete(w.ctx, key) },
		} {
			_, err := w.send(w.s, w.announce(w.ann, r), 0, data)
			w.must(err)
			w.submit(spec)
			b, err := w.store.FindBlob(w.ctx, r.Owner, r.Digest)
			w.must(err)
			w.must(lose(b.Key))
			if _, err := w.s.Submit(w.ctx, w.ann, request(spec)); hub.CodeOf(err) != hub.InvalidArgument {
				t.Errorf("%s: a job whose source is lost: %v", name, err)
			}
			if again := w.announce(w.ann, r); again.Blob != nil || again.NextOffset != 0 {
				t.Errorf("%s: lost bytes are not asked for: %+v", name, again)
			}
		}
	})
}
