package dispatch_test

import (
	"encoding/base64"
	"testing"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/dispatch"
	"github.com/runnerhub/runnerhub/hub/memory"
)

// Wherever a cursor points, whoever reads a log with it gets lines and cursors that work, or is told what is wrong.
func FuzzReadAnywhere(f *testing.F) {
	for _, cursor := range []string{"f.0.0.", "f.1.0.", "f.1.3.running1-0badcafe", "b.1.9.", "f.1.9223372036854775807.", "b.1.9223372036854775807.", "f.2.0.", "b.0.7."} {
		f.Add(cursor, 1)
	}
	f.Add("f.1.0.", 1000)
	f.Fuzz(func(t *testing.T, cursor string, lines int) {
		w := newWorld(backend{t, func() hub.Store { return memory.New() }})
		g := newLogged(w)
		g.write(record("hello world"))
		g.write(record("and more"))
		from := base64.RawURLEncoding.EncodeToString([]byte(cursor))
		for _, until := range []bool{false, true} {
			out, err := w.s.Wait(w.ctx, w.ann, dispatch.WaitRequest{JobID: g.l.JobID, Cursor: from, UntilEnd: until})
			if w.refusedOrFine(err) {
				_, err := w.s.Wait(w.ctx, w.ann, dispatch.WaitRequest{JobID: g.l.JobID, Cursor: out.NextCursor})
				w.must(err)
			}
		}
		page, err := w.s.ReadLog(w.ctx, w.ann, dispatch.ReadLogRequest{JobID: g.l.JobID, From: from, Lines: lines})
		if !w.refusedOrFine(err) {
			return
		}
		if len(page.Lines) > max(lines, 100) {
			t.Fatalf("%d lines were asked for, and %d given", lines, len(page.Lines))
		}
		for _, c := range []string{page.NextCursor, page.PrevCursor} {
			_, err := w.s.ReadLog(w.ctx, w.ann, dispatch.ReadLogRequest{JobID: g.l.JobID, From: c})
			w.must(err)
		}
	})
}

// refusedOrFine is false for an error that says what was wrong with a request; any other ends the test.
func (w *world) refusedOrFine(err error) bool {
	w.Helper()
	if c := hub.CodeOf(err); c == hub.InvalidArgument || c == hub.NotFound {
		return false
	}
	w.must(err)
	return true
}
