package dispatch

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/runnerhub/runnerhub/mcp/joblog"
)

// items is a log of the job's standard output, a line each and a second apart.
func items(lines ...string) []item {
	var out []item
	begun := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for i, l := range lines {
		out = append(out, item{Entry: joblog.Entry{
			Record: joblog.Record{Time: begun.Add(time.Duration(i) * time.Second), Stream: joblog.Stdout, Source: joblog.Source{Job: true}, Payload: []byte(l)},
			OK:     true, Whole: true,
		}})
	}
	return out
}

// shown is a bag's lines, with how many repeat each.
func shown(b *lineBag) []string {
	var out []string
	for _, l := range b.lines {
		s := string(l.Text)
		if l.Repeats > 0 {
			s += fmt.Sprintf(" (+%d)", l.Repeats)
		}
		out = append(out, s)
	}
	return out
}

// A log is read from its start and from its end, and shows the same lines either way.
func TestBagEitherWay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		bag      lineBag
		lines    []string
		want     []string
		filtered int
	}{
		{
			name: "context", bag: lineBag{filter: lineFilter{errors: true}, context: 1},
			lines: []string{"a", "b", "panic: boom", "c", "d", "e", "--- FAIL: TestX", "f", "--- FAIL: TestY", "g", "h"},
			want:  []string{"b", "panic: boom", "c", "e", "--- FAIL: TestX", "f", "--- FAIL: TestY", "g"}, filtered: 3,
		},
		{
			name: "repeats", lines: []string{"wait", "wait", "wait", "go", "wait"},
			want: []string{"wait (+2)", "go", "wait"},
		},
		{
			name: "progress", lines: []string{"pull 1% [>  ]", "pull 50% [=> ]", "pull 100% [==>]", "done"},
			want: []string{"pull 100% [==>] (+2)", "done"},
		},
		{
			name: "colours", bag: lineBag{filter: lineFilter{errors: true}},
			lines: []string{"\x1b[1mok\x1b[0m", "\x1b[31mpanic: \x1b[0mboom"},
			want:  []string{"panic: boom"}, filtered: 1,
		},
		{
			name: "raw", bag: lineBag{filter: lineFilter{errors: true}, raw: true},
			lines: []string{"\x1b[31mpanic: \x1b[0mboom", "\x1b[31mpanic: \x1b[0mboom"},
			want:  []string{"\x1b[31mpanic: \x1b[0mboom", "\x1b[31mpanic: \x1b[0mboom"},
		},
	} {
		for _, backward := range []bool{false, true} {
			b := c.bag
			b.room, b.text, b.long = 100, maxText, longLine
			log := items(c.lines...)
			if backward {
				slices.Reverse(log)
			}
			for _, it := range log {
				if !b.add(it) {
					t.Fatalf("%s: not all fits", c.name)
				}
			}
			b.leaveNear()
			if backward {
				slices.Reverse(b.lines)
			}
			if diff := cmp.Diff(c.want, shown(&b)); diff != "" || b.filtered != c.filtered {
				t.Errorf("%s, backward %v: filtered %d, want %d (-want +got):\n%s", c.name, backward, b.filtered, c.filtered, diff)
			}
		}
	}
}

// A line that was found has its place before those around it.
func TestBagContextLeavesRoom(t *testing.T) {
	t.Parallel()
	b := lineBag{filter: lineFilter{errors: true}, context: 3, room: 2, text: maxText, long: longLine}
	for _, it := range items("a", "b", "c", "panic: boom", "d") {
		if !b.add(it) {
			break
		}
	}
	if diff := cmp.Diff([]string{"c", "panic: boom"}, shown(&b)); diff != "" || !b.full() {
		t.Errorf("full %v (-want +got):\n%s", b.full(), diff)
	}
}
