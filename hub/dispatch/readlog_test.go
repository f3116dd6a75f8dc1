package dispatch_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/dispatch"
	"github.com/runnerhub/runnerhub/mcp/joblog"
)

func TestReadLogPages(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		g := newLogged(w)
		if p := g.read(dispatch.ReadLogRequest{}); p.NextCursor == "" || !strings.Contains(p.Note, "no log yet") {
			t.Errorf("an empty log: %+v", p)
		}
		var all []byte
		var want []string
		for i := range 250 {
			all = append(all, record("line %d", i)...)
			want = append(want, fmt.Sprintf("line %d", i))
		}
		for len(all) > 0 { // chunks cut lines anywhere
			n := min(len(all), 333)
			g.write(all[:n])
			all = all[n:]
		}
		p := g.read(dispatch.ReadLogRequest{})
		w.wantTexts(p.Lines, want[150:]...)
		if p.PrevCursor == "" || p.NextCursor == "" || !strings.Contains(p.Note, "prev_cursor") || !strings.Contains(p.Note, "still being written") {
			t.Errorf("%+v", p)
		}
		p = g.read(dispatch.ReadLogRequest{From: p.PrevCursor, Lines: 50})
		w.wantTexts(p.Lines, want[100:150]...)
		p = g.read(dispatch.ReadLogRequest{From: p.NextCursor, Lines: 3})
		w.wantTexts(p.Lines, want[150:153]...)
		p = g.read(dispatch.ReadLogRequest{From: dispatch.FromStart, Lines: 2})
		w.wantTexts(p.Lines, want[:2]...)
		if p.PrevCursor != "" {
			t.Error("there is nothing before the start")
		}
		p = g.read(dispatch.ReadLogRequest{From: dispatch.FromStart, Grep: `line \d7$`, Lines: 3})
		w.wantTexts(p.Lines, "line 17", "line 27", "line 37")
		p = g.read(dispatch.ReadLogRequest{From: p.NextCursor, Grep: `line \d7$`, Lines: 2})
		w.wantTexts(p.Lines, "line 47", "line 57")
		p = g.read(dispatch.ReadLogRequest{Grep: `^line 1$`})
		w.wantTexts(p.Lines, "line 1")
		if !strings.Contains(p.Note, "249 lines") {
			t.Errorf("note %q", p.Note)
		}
		g.settle(success(g.l))
		p = g.read(dispatch.ReadLogRequest{Lines: 1})
		w.wantTexts(p.Lines, "line 249")
		if p.NextCursor != "" {
			t.Errorf("a whole log goes on: %q", p.Note)
		}
	})
}

func TestReadLogFilters(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		g := newLogged(w)
		add := func(s joblog.Stream, src joblog.Source, text string) {
			g.write(joblog.Append(nil, joblog.Record{Time: w.clock.now(), Stream: s, Source: src, Payload: []byte(text)}))
		}
		add(joblog.System, joblog.Source{}, "pulling")
		add(joblog.Stdout, joblog.Source{Service: "db"}, "ready")
		add(joblog.Stdout, joblog.Source{Job: true, Step: "build"}, "compiling")
		add(joblog.Stderr, joblog.Source{Job: true, Step: "build"}, "warning")
		add(joblog.Stdout, joblog.Source{Job: true, Step: "test"}, "ok")
		w.wantTexts(g.read(dispatch.ReadLogRequest{Step: "build"}).Lines, "compiling", "warning")
		w.wantTexts(g.read(dispatch.ReadLogRequest{Service: "db"}).Lines, "ready")
		w.wantTexts(g.read(dispatch.ReadLogRequest{Stream: "stderr"}).Lines, "warning")
		w.wantTexts(g.read(dispatch.ReadLogRequest{Stream: "system"}).Lines, "pulling")
		w.wantTexts(g.read(dispatch.ReadLogRequest{Step: "none"}).Lines)
		l := g.read(dispatch.ReadLogRequest{Step: "test"}).Lines[0]
		if l.Stream != "stdout" || l.Step != "test" || l.Service != "" || !l.Time.Equal(w.clock.now().UTC().Truncate(time.Nanosecond)) {
			t.Errorf("%+v", l)
		}
	})
}

func TestReadLogIsBounded(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t, func(_ *world, c *dispatch.Config) { c.LogScan = 64 << 10 })
		g := newLogged(w)
		long := strings.Repeat("é", 5000)
		g.write(record("%s", long))
		p := g.read(dispatch.ReadLogRequest{})
		if !strings.Contains(string(p.Lines[0].Text), "bytes more]") || len(p.Lines[0].Text) > 4<<10+40 || !strings.Contains(p.Note, "lines=1") {
			t.Errorf("%d bytes, %q", len(p.Lines[0].Text), p.Note)
		}
		if p := g.read(dispatch.ReadLogRequest{Lines: 1}); string(p.Lines[0].Text) != long {
			t.Errorf("alone it has %d bytes", len(p.Lines[0].Text))
		}
		var chunk []byte
		for i := range 1000 {
			chunk = append(chunk, record("%04d %s", i, strings.Repeat("x", 60))...)
		}
		g.write(chunk[:120<<10])
		sum := 0
		for _, l := range g.read(dispatch.ReadLogRequest{Lines: 1000}).Lines {
			sum += len(l.Text)
		}
		if sum > 32<<10 || sum < 12<<10 {
			t.Errorf("an answer has %d bytes of text", sum)
		}
		// A search that finds nothing goes on by cursor.
		calls, from := 0, dispatch.FromStart
		for from != "" && calls < 50 {
			p := g.read(dispatch.ReadLogRequest{From: from, Grep: "nothing like that"})
			calls++
			if len(p.Lines) > 0 || p.NextCursor == from {
				break
			}
			from = p.NextCursor
		}
		if calls < 2 || calls > 5 {
			t.Errorf("the search took %d calls", calls)
		}
		for name, r := range map[string]dispatch.ReadLogRequest{
			"grep":         {Grep: "("},
			"long grep":    {Grep: strings.Repeat("x", 1025)},
			"lines":        {Lines: 1001},
			"minus lines":  {Lines: -1},
			"context":      {Grep: "x", Context: 21},
			"no search":    {Context: 1},
			"stream":       {Stream: "stdin"},
			"cursor":       {From: "zzz"},
			"attempt":      {Attempt: 2},
			"minus":        {Attempt: -1},
			"other cursor": {From: "Zi43LjAu"},
		} {
			r.JobID = g.l.JobID
			_, err := g.s.ReadLog(w.ctx, w.ann, r)
			if hub.CodeOf(err) != hub.InvalidArgument {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func TestLogsKeepAnyBytes(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		g := newLogged(w)
		raw := []byte("\x00\xff\xfe\r\x1b[31m")
		g.write(joblog.Append(nil, joblog.Record{Time: w.clock.now(), Stream: joblog.Stdout, Source: joblog.Source{Job: true}, Payload: raw}))
		g.write([]byte("this is no record\n"))
		p := g.read(dispatch.ReadLogRequest{Raw: true})
		if len(p.Lines) != 2 || !bytes.Equal(p.Lines[0].Text, raw) || p.Lines[1].Stream != "system" {
			t.Errorf("%q", texts(p.Lines))
		}
	})
}

func TestAJobWithoutAttemptsHasNoLog(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		job := w.submit()
		p, err := w.s.ReadLog(w.ctx, w.ann, dispatch.ReadLogRequest{JobID: job.ID})
		if err != nil || len(p.Lines) != 0 || !strings.Contains(p.Note, "explain_job") {
			t.Errorf("%+v, %v", p, err)
		}
		_, err = w.s.ReadLog(w.ctx, w.person(), dispatch.ReadLogRequest{JobID: job.ID})
		w.wantCode(err, hub.NotFound)
	})
}
