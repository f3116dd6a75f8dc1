package joblog

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var when = time.Date(2026, 1, 2, 15, 4, 5, 1, time.UTC)

func TestAppend(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		in   Record
		want string
	}{
		{"job", Record{Time: when, Stream: Stdout, Source: Source{Job: true}, Payload: []byte("hi")},
			"2026-01-02T15:04:05.000000001Z stdout F job hi\n"},
		{"a step's name is escaped", Record{Time: when, Stream: Stderr, Source: Source{Job: true, Step: "a b/c\nd"}, Partial: true},
			"2026-01-02T15:04:05.000000001Z stderr P job/a%20b%2Fc%0Ad \n"},
		{"service", Record{Time: when, Stream: Stdout, Source: Source{Service: "db"}, Payload: []byte("\x00\xff\r")},
			"2026-01-02T15:04:05.000000001Z stdout F svc/db \x00\xff\r\n"},
		{"the runner itself", Record{Time: when.In(time.FixedZone("", 3600)), Stream: System, Payload: []byte("pull")},
			"2026-01-02T15:04:05.000000001Z system F - pull\n"},
		{"an unknown stream is the system's", Record{Time: when, Stream: "x y", Payload: []byte("z")},
			"2026-01-02T15:04:05.000000001Z system F - z\n"},
		{"line feeds", Record{Time: when, Stream: Stdout, Source: Source{Job: true}, Partial: true, Payload: []byte("a\nb\n")},
			"2026-01-02T15:04:05.000000001Z stdout F job a\n" +
				"2026-01-02T15:04:05.000000001Z stdout F job b\n" +
				"2026-01-02T15:04:05.000000001Z stdout P job \n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := string(Append(nil, tt.in)); got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

func TestAppendSplitsLongPayloads(t *testing.T) {
	t.Parallel()
	long := bytes.Repeat([]byte("x"), 2*MaxPayload+5)
	entries := parse(t, Append(nil, Record{Time: when, Stream: Stdout, Payload: long}), 0, false)
	var whole []byte
	for i, e := range entries {
		if !e.OK || len(e.Payload) > MaxPayload || e.Partial != (i < len(entries)-1) {
			t.Errorf("record %d: ok %v, %d bytes, partial %v", i, e.OK, len(e.Payload), e.Partial)
		}
		whole = append(whole, e.Payload...)
	}
	if len(entries) != 3 || !bytes.Equal(whole, long) {
		t.Errorf("%d records with %d bytes", len(entries), len(whole))
	}
}

func TestParseLineRefuses(t *testing.T) {
	t.Parallel()
	good := "2026-01-02T15:04:05Z stdout F job hi"
	if _, ok := ParseLine([]byte(good)); !ok {
		t.Fatalf("%q is no record", good)
	}
	for _, bad := range []string{
		"", "hello", "2026-01-02T15:04:05Z", "2026-01-02T15:04:05Z stdout F job",
		strings.Replace(good, "2026", "twenty", 1), strings.Replace(good, "stdout", "out", 1),
		strings.Replace(good, " F ", " X ", 1), strings.Replace(good, "job", "jobs", 1),
		strings.Replace(good, "job", "job/", 1), strings.Replace(good, "job", "svc/%zz", 1),
	} {
		if r, ok := ParseLine([]byte(bad)); ok {
			t.Errorf("%q came out as %+v", bad, r)
		}
	}
}

// parse reads a log in chunks of n bytes (0: all at once).
func parse(t *testing.T, log []byte, n int, inside bool) []Entry {
	t.Helper()
	var (
		p   Parser
		out []Entry
		at  int64
	)
	p.Restart(0, inside)
	keep := func(e Entry) bool {
		if e.Start < at || e.End <= e.Start {
			t.Errorf("entry from %d to %d after offset %d", e.Start, e.End, at)
		}
		at = e.End
		e.Payload = bytes.Clone(e.Payload)
		out = append(out, e)
		return true
	}
	for len(log) > 0 {
		k := len(log)
		if n > 0 && n < k {
			k = n
		}
		p.Write(log[:k], keep)
		log = log[k:]
	}
	p.Flush(keep)
	return out
}

func TestParserToleratesAnything(t *testing.T) {
	t.Parallel()
	one := Append(nil, Record{Time: when, Stream: Stdout, Source: Source{Job: true}, Payload: []byte("one")})
	two := Append(nil, Record{Time: when, Stream: Stdout, Source: Source{Job: true}, Payload: []byte("two")})
	texts := func(es []Entry) (out []string) {
		for _, e := range es {
			out = append(out, string(e.Payload))
		}
		return out
	}
	t.Run("garbage is shown as system text", func(t *testing.T) {
		t.Parallel()
		got := parse(t, append([]byte("what?\n\n"), one...), 3, false)
		if diff := cmp.Diff([]string{"what?", "", "one"}, texts(got)); diff != "" {
			t.Error(diff)
		}
		if got[0].OK || got[0].Stream != System || got[0].Partial || !got[0].Time.IsZero() {
			t.Errorf("garbage came out as %+v", got[0])
		}
	})
	t.Run("the rest of a line is passed over", func(t *testing.T) {
		t.Parallel()
		got := parse(t, append(bytes.Clone(one[10:]), two...), 0, true)
		if diff := cmp.Diff([]string{"two"}, texts(got)); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("a whole line is kept where one may have been cut", func(t *testing.T) {
		t.Parallel()
		got := parse(t, append(bytes.Clone(one), two...), 0, true)
		if diff := cmp.Diff([]string{"one", "two"}, texts(got)); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("an unfinished record at the end is a piece", func(t *testing.T) {
		t.Parallel()
		got := parse(t, one[:len(one)-2], 0, false)
		if len(got) != 1 || !got[0].OK || !got[0].Partial || string(got[0].Payload) != "on" {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("a line without end needs no memory", func(t *testing.T) {
		t.Parallel()
		var (
			p   Parser
			sum int64
		)
		junk := bytes.Repeat([]byte("z"), 1000)
		for range 1000 {
			p.Write(junk, func(e Entry) bool { sum += e.End - e.Start; return !e.OK })
		}
		if cap(p.buf) > 2*maxLine || sum < 1000*1000-maxLine {
			t.Errorf("%d bytes held, %d given out", cap(p.buf), sum)
		}
	})
	t.Run("stop and go on", func(t *testing.T) {
		t.Parallel()
		log := append(bytes.Clone(one), two...)
		var (
			p    Parser
			last Entry
		)
		if p.Write(log, func(e Entry) bool { last = e; return false }) {
			t.Fatal("yield's false was not passed on")
		}
		p.Restart(last.End, false)
		p.Write(log[last.End:], func(e Entry) bool { last = e; return true })
		if string(last.Payload) != "two" || p.Offset() != int64(len(log)) {
			t.Errorf("went on at %+v", last)
		}
	})
}

func FuzzRoundTrip(f *testing.F) {
	f.Add([]byte("hello"), "stdout", "test", "", true, false, 7)
	f.Add([]byte{0xff, 0, '\r'}, "stderr", "", "db", false, true, 1)
	f.Add([]byte("2026-01-02T15:04:05Z stdout F job hi"), "system", "a/b %", "", false, false, 3)
	f.Fuzz(func(t *testing.T, payload []byte, stream, step, service string, job, partial bool, n int) {
		src := Source{Job: job || step != "", Step: step, Service: service}
		if service != "" {
			src = Source{Service: service}
		}
		in := Record{Time: when, Stream: Stream(stream), Source: src, Partial: partial, Payload: payload}
		log := Append(Append(nil, in), Record{Time: when, Stream: System, Payload: []byte("end")})
		got := parse(t, log, max(1, n%64), false)
		if len(got) == 0 || string(got[len(got)-1].Payload) != "end" {
			t.Fatalf("the record after it was lost: %+v", got)
		}
		var (
			text []byte
			at   int64
		)
		for i, e := range got[:len(got)-1] {
			if !e.OK || e.Source != src || e.Start != at {
				t.Fatalf("record %d is %+v", i, e)
			}
			at = e.End
			text = append(text, e.Payload...)
			if !e.Partial {
				text = append(text, '\n')
			}
		}
		want := bytes.Clone(payload)
		if !partial {
			want = append(want, '\n')
		}
		if !bytes.Equal(text, want) {
			t.Fatalf("%q came back as %q", want, text)
		}
	})
}

func FuzzParser(f *testing.F) {
	f.Add([]byte("2026-01-02T15:04:05Z stdout F job hi\nrubbish\n"), 5, true)
	f.Fuzz(func(t *testing.T, log []byte, n int, inside bool) {
		whole := parse(t, log, 0, inside)
		pieces := parse(t, log, max(1, n%97), inside)
		if diff := cmp.Diff(whole, pieces); diff != "" {
			t.Fatal(diff)
		}
		if inside {
			return
		}
		var sum int64
		for _, e := range whole {
			sum += e.End - e.Start
		}
		if sum != int64(len(log)) {
			t.Fatalf("%d of %d bytes came out", sum, len(log))
		}
	})
}
