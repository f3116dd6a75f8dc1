package dispatch_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/dispatch"
)

const keepingSpec = "image: busybox\ncommand: [\"true\"]\nartifacts: [{name: logs, path: \"out/*.log\"}, dist]\n"

// Why there are no artifacts depends on the spec, on whether the attempt goes on, and on how it ended.
func TestWhyThereAreNoArtifacts(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t, longLeases(), withPolicy(func(p *hub.Policy) { p.ArtifactRetention = 3 * 24 * time.Hour }))
		m := w.machine(self(w.ann))
		m.presence.Slots, m.presence.FreeSlots = 10, 10
		said := func(id, want string) {
			t.Helper()
			page, err := w.s.ListArtifacts(w.ctx, w.ann, dispatch.ArtifactsRequest{JobID: id})
			w.must(err)
			if page.Note != want {
				t.Errorf("%q, want %q", page.Note, want)
			}
		}
		begun := func(spec string) *dispatch.Lease {
			t.Helper()
			w.submit(specText(spec))
			l := m.take()
			m.begin(l)
			return l
		}
		none := begun(spec)
		said(none.JobID, "The job keeps no files: its spec has no artifacts.")

		quiet := begun(keepingSpec)
		said(quiet.JobID, "Attempt 1 still runs: what it leaves is kept when the job has ended.")
		failed := failure(quiet, hub.ClassScript)
		m.settle(failed)
		said(quiet.JobID, "Attempt 1 left no file that the job's artifacts name: out/*.log, dist. It failed (script): it broke.")

		optional := begun(keepingSpec)
		m.settle(success(optional))
		said(optional.JobID, "Attempt 1 left no file that the job's artifacts name: out/*.log, dist.")

		missing := begun(keepingSpec)
		m.settle(failure(missing, hub.ClassArtifact))
		said(missing.JobID, "Attempt 1 left no file that could be kept. it broke")

		held := begun(keepingSpec + "hold_on_failure: 10m\n")
		_, err := m.hold(held, 0)
		w.must(err)
		said(held.JobID, "Attempt 1 left no file that the job's artifacts name: out/*.log, dist. It failed (script): it broke.")

		canceled := begun(keepingSpec)
		_, err = w.s.Cancel(w.ctx, w.ann, canceled.JobID, "")
		w.must(err)
		m.settle(dispatch.SettleRequest{JobID: canceled.JobID, Proof: canceled.Proof, State: hub.JobCanceled, Result: []byte(`{"status":"canceled"}`)})
		said(canceled.JobID, "Attempt 1 was canceled, and a canceled job leaves no files.")

		queued := w.submit(specText(keepingSpec))
		said(queued.ID, "The job was never handed to a runner. explain_job says why.")

		w.clock.advance(w.policy.ArtifactRetention)
		said(optional.JobID, "Attempt 1 ended too long ago: artifacts are kept for 3 days.")
	})
}

func TestArtifactsArePaged(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t, longLeases())
		m := w.machine(self(w.ann))
		w.submit()
		l := m.take()
		m.begin(l)
		for i := range 21 {
			data := []byte{byte(i)}
			ticket := w.announce(m.p, w.file(l, fmt.Sprintf("out/%02d", i), data))
			progress, err := w.send(w.s, ticket, 0, data)
			w.wantProgress(progress, err, 1, true)
		}
		for limit, want := range map[int]int{0: 20, 1: 1, 100: 21} {
			page, err := w.s.ListArtifacts(w.ctx, w.ann, dispatch.ArtifactsRequest{JobID: l.JobID, Limit: limit})
			w.must(err)
			if len(page.Artifacts) != want || (page.NextCursor == "") != (want == 21) {
				t.Errorf("limit %d lists %d, and the cursor is %q", limit, len(page.Artifacts), page.NextCursor)
			}
		}
		_, err := w.s.ListArtifacts(w.ctx, w.ann, dispatch.ArtifactsRequest{JobID: l.JobID, Limit: 101})
		w.wantCode(err, hub.InvalidArgument)
	})
}
