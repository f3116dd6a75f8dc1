package dispatch_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/dispatch"
	"github.com/runnerhub/runnerhub/mcp/joblog"
)

// record is one line of the job container's in the log's form.
func record(format string, args ...any) []byte {
	return joblog.Append(nil, joblog.Record{
		Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Stream: joblog.Stdout, Source: joblog.Source{Job: true, Step: "test"},
		Payload: fmt.Appendf(nil, format, args...),
	})
}

// logged is a running job and its log.
type logged struct {
	*machine
	l    *dispatch.Lease
	size int64
}

func newLogged(w *world) *logged {
	w.Helper()
	m := w.machine(self(w.ann))
	w.submit()
	l := m.take()
	m.begin(l)
	return &logged{machine: m, l: l}
}

func (g *logged) put(offset int64, data []byte) (int64, error) {
	return g.s.AppendLog(g.ctx, hub.Digest(g.l.LogToken), offset, data)
}

// write appends what must be accepted.
func (g *logged) write(data []byte) {
	g.Helper()
	next, err := g.put(g.size, data)
	g.must(err)
	if g.size += int64(len(data)); next != g.size {
		g.Fatalf("the next offset is %d, want %d", next, g.size)
	}
}

func (g *logged) read(r dispatch.ReadLogRequest) dispatch.LogPage {
	g.Helper()
	r.JobID = g.l.JobID
	p, err := g.s.ReadLog(g.ctx, g.ann, r)
	g.must(err)
	return p
}

func texts(lines []dispatch.LogLine) []string {
	out := []string{}
	for _, l := range lines {
		out = append(out, string(l.Text))
	}
	return out
}

func (w *world) wantTexts(got []dispatch.LogLine, want ...string) {
	w.Helper()
	if want == nil {
		want = []string{}
	}
	if diff := cmp.Diff(want, texts(got)); diff != "" {
		w.Error(diff)
	}
}

func TestAppendLogIsIdempotentByOffset(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		g := newLogged(w)
		g.write([]byte("hello "))
		g.write([]byte("world\n"))
		for name, tt := range map[string]struct {
			offset int64
			data   string
			next   int64
		}{
			"a chunk again":          {6, "world\n", 12},
			"part of one again":      {7, "orl", 12},
			"over two chunks":        {0, "hello world\n", 12},
			"nothing":                {12, "", 12},
			"nothing, in the middle": {3, "", 12},
		} {
			if next, err := g.put(tt.offset, []byte(tt.data)); err != nil || next != tt.next {
				t.Errorf("%s: %d, %v", name, next, err)
			}
		}
		for name, tt := range map[string]struct {
			offset int64
			data   string
		}{
			"a gap":                        {13, "x"},
			"other bytes":                  {0, "jello"},
			"other bytes, whole chunk":     {6, "World\n"},
			"other bytes before new ones":  {6, "World\nmore"},
			"other bytes in a later chunk": {0, "hello World\n"},
		} {
			_, err := g.put(tt.offset, []byte(tt.data))
			if e := w.wantCode(err, hub.Conflict); e.Details["next_offset"] != int64(12) {
				t.Errorf("%s: details %v", name, e.Details)
			}
		}
		if next, err := g.put(6, []byte("world\nand more\n")); err != nil || next != 21 {
			t.Errorf("an overlap that goes on: %d, %v", next, err)
		}
		_, err := g.put(-1, []byte("x"))
		w.wantCode(err, hub.InvalidArgument)
		_, err = g.put(21, make([]byte, dispatch.MaxLogChunk+1))
		w.wantCode(err, hub.TooLarge)
		_, err = g.s.AppendLog(w.ctx, hub.Digest("cap_unknown"), 0, nil)
		w.wantCode(err, hub.NotFound)
		w.wantTexts(g.read(dispatch.ReadLogRequest{From: dispatch.FromStart}).Lines, "hello world", "and more")
	})
}

func TestConcurrentAppendsLoseNothing(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		g := newLogged(w)
		var whole []byte
		for i := range 40 {
			whole = append(whole, record("line %d", i)...)
		}
		// Several senders of the same bytes, as when a spool is sent again while the first try still runs.
		var wg sync.WaitGroup
		for n := range 4 {
			wg.Go(func() {
				for at := int64(0); at < int64(len(whole)); {
					next, err := g.put(at, whole[at:min(int64(len(whole)), at+50+int64(n)*13)])
					if err != nil {
						t.Error(err)
						return
					}
					at = next
				}
			})
		}
		wg.Wait()
		page := g.read(dispatch.ReadLogRequest{})
		if len(page.Lines) != 40 || page.LogBytes != int64(len(whole)) {
			t.Errorf("%d lines, %d of %d bytes", len(page.Lines), page.LogBytes, len(whole))
		}
	})
}

func TestALogOfAnEndedAttempt(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		g := newLogged(w)
		g.write(record("one"))
		g.settle(success(g.l))
		g.write(record("late"))
		w.clock.advance(24*time.Hour + time.Second)
		_, err := g.put(g.size, record("too late"))
		w.wantCode(err, hub.StaleLease)

		lost := newLogged(w)
		lost.write(record("one"))
		w.clock.advance(2 * time.Minute)
		w.must(w.s.Sweep(w.ctx))
		_, err = lost.put(lost.size, record("two"))
		w.wantCode(err, hub.StaleLease)
	})
}

func TestALogOverItsCapKeepsHeadAndTail(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t, withPolicy(func(p *hub.Policy) { p.MaxLogBytes = 2000 }))
		g := newLogged(w)
		for i := range 100 {
			g.write(record("line %d", i))
		}
		size := len(record("line 10"))
		page := g.read(dispatch.ReadLogRequest{From: dispatch.FromStart, Lines: 1000})
		got := texts(page.Lines)
		if got[0] != "line 0" || got[len(got)-1] != "line 99" || len(got) > 2000/size+4 || len(got) < 2000/size-3 {
			t.Errorf("%d lines are left: %v", len(got), got)
		}
		var gaps int
		for _, s := range got {
			if strings.Contains(s, "were dropped here") {
				gaps++
			}
		}
		if gaps != 1 || !strings.Contains(page.Note, "dropped from the log's middle") || page.NextCursor == "" {
			t.Errorf("%d gaps; %q", gaps, page.Note)
		}
		// Backwards the same lines come out.
		var back []string
		for cur := ""; ; {
			p := g.read(dispatch.ReadLogRequest{From: cur, Lines: 7})
			back = append(texts(p.Lines), back...)
			if cur = p.PrevCursor; cur == "" {
				break
			}
		}
		if diff := cmp.Diff(got, back); diff != "" {
			t.Error(diff)
		}
		// A repeat of dropped bytes cannot be compared and is accepted.
		if next, err := g.put(int64(40*size), record("line %d", 40)); err != nil || next != g.size {
			t.Errorf("%d, %v", next, err)
		}
		chunks, err := w.store.LogChunks(w.ctx, g.l.JobID, 1, 0, 1000)
		w.must(err)
		var kept int64
		for _, c := range chunks {
			kept += c.Size
		}
		if kept > 2000+2*int64(size) {
			t.Errorf("%d bytes are kept", kept)
		}
	})
}

// lossy is a store whose AppendLog commits and then says that it failed.
type lossy struct {
	hub.Store
	fail bool
}

func (l *lossy) AppendLog(ctx context.Context, jobID string, n int, c hub.LogChunk) error {
	err := l.Store.AppendLog(ctx, jobID, n, c)
	if l.fail && err == nil {
		l.fail = false
		return &hub.Error{Code: hub.Unavailable, Message: "the connection broke", Retryable: true}
	}
	return err
}

func TestAnAppendWhoseAnswerWasLostIsRepeated(t *testing.T) {
	onStores(t, func(t backend) {
		st := &lossy{}
		w := newWorld(t, withStore(func(s hub.Store) hub.Store { st.Store = s; return st }))
		g := newLogged(w)
		st.fail = true
		data := record("once")
		_, err := g.put(0, data)
		w.wantCode(err, hub.Unavailable)
		if next, err := g.put(0, data); err != nil || next != int64(len(data)) {
			t.Errorf("%d, %v", next, err)
		}
		w.wantTexts(g.read(dispatch.ReadLogRequest{}).Lines, "once")
	})
}
