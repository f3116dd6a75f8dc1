package dispatch_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/dispatch"
)

// startsFrom is a spec that starts from an archive.
func startsFrom(data []byte) string {
	return fmt.Sprintf("image: busybox\nsource: {archive: \"sha256:%s\"}\n", hex.EncodeToString(sum(data)))
}

// upload sends an archive for jobs of a workspace.
func (w *world) uploadSource(data []byte, workspace string) {
	w.Helper()
	t, err := w.s.AnnounceSource(w.ctx, w.ann, dispatch.SourceRequest{Workspace: workspace, Size: int64(len(data)), Digest: sum(data)})
	w.must(err)
	p, err := w.send(w.s, t, 0, data)
	w.wantProgress(p, err, int64(len(data)), true)
}

func (m *machine) open(l *dispatch.Lease, token string) (hub.SourceArchive, error) {
	return m.s.OpenSource(m.ctx, l.JobID, l.Proof.Attempt, token)
}

func TestSourceTicketWorksOnce(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		data := content(100_000)
		w.uploadSource(data, "")
		again, err := w.s.AnnounceSource(w.ctx, w.ann, dispatch.SourceRequest{Size: int64(len(data)), Digest: sum(data)})
		w.must(err)
		if again.Blob == nil {
			t.Fatal("an unchanged source is to be sent again")
		}
		m := w.machine(self(w.ann))
		w.submit(specText(startsFrom(data)))
		l := m.take()
		if l.SourceToken == "" || l.SourceToken == l.LogToken {
			t.Fatalf("ticket %q", l.SourceToken)
		}
		for _, wrong := range []string{"", l.LogToken, l.Proof.Nonce, l.SourceToken + "x"} {
			_, err := m.open(l, wrong)
			w.wantCode(err, hub.NotFound)
		}
		got, err := m.open(l, l.SourceToken)
		w.must(err)
		_, err = m.open(l, l.SourceToken)
		w.wantCode(err, hub.Conflict)
		got.Arrived(false) // it broke off: the ticket is not spent
		w.must(got.Close())
		got, err = m.open(l, l.SourceToken)
		w.must(err)
		all, err := io.ReadAll(got)
		w.must(err)
		w.must(got.Close())
		got.Arrived(true)
		if got.Size != int64(len(data)) || !bytes.Equal(all, data) {
			t.Errorf("%d of %d bytes", len(all), got.Size)
		}
		_, err = m.open(l, l.SourceToken)
		w.wantCode(err, hub.Conflict)

		// The next attempt has a ticket of its own, and the one before none.
		m.settle(failure(l, hub.ClassSource))
		next := m.take()
		if next.JobID != l.JobID || next.SourceToken == l.SourceToken {
			t.Fatalf("%+v after %+v", next, l)
		}
		_, err = m.open(l, l.SourceToken)
		w.wantCode(err, hub.NotFound)
		got, err = m.open(next, next.SourceToken)
		w.must(err)
		w.must(got.Close())
		m.begin(next)
		m.settle(success(next))
		_, err = m.open(next, next.SourceToken)
		w.wantCode(err, hub.NotFound)
	})
}

// A job starts from archives of its own workspace alone, and not before they are there.
func TestSourceIsTheWorkspaces(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		other := w.join()
		data := content(1000)
		refused := func(workspace string) {
			t.Helper()
			r := request(specText(startsFrom(data)))
			r.Workspace = workspace
			_, err := w.s.Submit(w.ctx, w.ann, r)
			w.wantCode(err, hub.InvalidArgument)
			c, err := w.s.Check(w.ctx, w.ann, r.JobRequest)
			w.must(err)
			if c.Valid || len(c.Problems) != 1 || c.Problems[0].Field != "source.archive" {
				t.Errorf("check answers %+v", c)
			}
		}
		refused(w.ws.Slug)
		w.uploadSource(data, other.Slug)
		refused(w.ws.Slug)
		r := request(specText(startsFrom(data)))
		r.Workspace = other.Slug
		_, err := w.s.Submit(w.ctx, w.ann, r)
		w.must(err)
		_, err = w.s.AnnounceSource(w.ctx, w.ann, dispatch.SourceRequest{Workspace: "nowhere", Size: 1, Digest: sum(data)})
		w.wantCode(err, hub.NotFound)
		_, err = w.s.AnnounceSource(w.ctx, w.machine(self(w.ann)).p, dispatch.SourceRequest{Size: 1, Digest: sum(data)})
		w.wantCode(err, hub.PermissionDenied)

		// It goes when no job has used it for long, and a retry says so.
		job := w.submit(specText("image: busybox\nsource: {files: {archive: \"\\\"archive\\\":\\\"sha256:00\\\"\"}}\n")) // no archive, whatever a file says
		m := w.machine(self(w.ann))
		for l := m.take(); l.JobID != job.ID; l = m.take() {
			m.begin(l)
			m.settle(success(l))
		}
		w.clock.advance(w.policy.ArtifactRetention + time.Hour)
		blobs, err := w.store.CondemnBlobs(w.ctx, w.clock.now(), 10)
		w.must(err)
		if len(blobs) != 1 {
			t.Fatalf("%d blobs are old", len(blobs))
		}
		refused(other.Slug)
	})
}
