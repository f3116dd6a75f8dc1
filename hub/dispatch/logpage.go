package dispatch

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/mcp/joblog"
)

// What one answer holds at most. A line costs its text and some room for its fields.
const (
	maxText     = 32 << 10
	maxLines    = 1000
	lineCost    = 64
	longLine    = 4 << 10
	tailDefault = 100
)

// lineFilter selects lines.
type lineFilter struct {
	step, service, stream string
	grep                  *regexp.Regexp
}

func newFilter(r ReadLogRequest) (lineFilter, error) {
	f := lineFilter{step: r.Step, service: r.Service, stream: r.Stream}
	switch joblog.Stream(r.Stream) {
	case "", joblog.Stdout, joblog.Stderr, joblog.System:
	default:
		return f, hub.Errorf(hub.InvalidArgument, "stream %q is none of stdout, stderr, system", clip(r.Stream, 40))
	}
	if r.Grep == "" {
		return f, nil
	}
	var err error
	f.grep, err = compileGrep(r.Grep)
	return f, err
}

func (f lineFilter) active() bool { return f != lineFilter{} }

func (f lineFilter) keeps(r joblog.Record) bool {
	return (f.step == "" || r.Source.Step == f.step) &&
		(f.service == "" || r.Source.Service == f.service) &&
		(f.stream == "" || string(r.Stream) == f.stream) &&
		(f.grep == nil || f.grep.Match(r.Payload))
}

func (f lineFilter) String() string {
	var out []string
	for _, x := range [][2]string{{"step", f.step}, {"service", f.service}, {"stream", f.stream}} {
		if x[1] != "" {
			out = append(out, fmt.Sprintf("%s %q", x[0], x[1]))
		}
	}
	if f.grep != nil {
		out = append(out, fmt.Sprintf("grep %q", f.grep))
	}
	return strings.Join(out, ", ")
}

// lineBag collects lines until it is full, and counts what it leaves out.
type lineBag struct {
	filter lineFilter
	room   int // lines
	text   int // bytes
	long   int // lines are cut at this many bytes

	until func() bool // whether the search has gone on for long enough

	lines    []LogLine
	looked   int   // lines that were looked at
	late     bool  // the search ended over its time
	filtered int   // lines that the filter left out
	cut      int   // lines that were cut
	dropped  int64 // bytes of gaps
}

// add takes an item; false when it does not fit, and full says when nothing more will.
func (b *lineBag) add(it item) bool {
	if it.gap > 0 {
		b.dropped += it.gap
		if !b.filter.active() {
			b.put(LogLine{Stream: string(joblog.System), Text: fmt.Appendf(nil, "[%d bytes of the log's middle were dropped here: it is over its limit]", it.gap)})
		}
		return true
	}
	// A slow pattern must not keep the hub busy: the caller goes on with the cursor. One line at least is
	// looked at, so that it gets on.
	if b.until != nil && b.looked > 0 && b.until() {
		b.late = true
		return false
	}
	b.looked++
	if !b.filter.keeps(it.Record) {
		b.filtered++
		return true
	}
	text := it.Payload
	if len(text) > b.long {
		text = fmt.Appendf(slices.Clone(runeCut(text, b.long)), "… [%d bytes more]", len(text)-b.long)
	}
	if b.room == 0 || (len(b.lines) > 0 && b.text < cost(text)) {
		return false
	}
	if len(it.Payload) > b.long {
		b.cut++
	}
	b.put(LogLine{
		Time: it.Time, Stream: string(it.Stream), Step: it.Source.Step, Service: it.Source.Service,
		Text: slices.Clone(text), Partial: it.Partial,
	})
	return true
}

func (b *lineBag) put(l LogLine) {
	b.lines = append(b.lines, l)
	b.room--
	b.text -= cost(l.Text)
}

func (b *lineBag) full() bool { return b.room <= 0 || b.text <= lineCost }

// cost is what a line takes in an answer. Bytes that are not UTF-8 go out twice, replaced and encoded.
func cost(text []byte) int {
	n := len(text) + lineCost
	if !utf8.Valid(text) {
		n += 3 * len(text)
	}
	return n
}

// runeCut cuts text to at most n bytes, not within a character.
func runeCut(text []byte, n int) []byte {
	if len(text) <= n {
		return text
	}
	for i := n; i > n-utf8.UTFMax && i > 0; i-- {
		if utf8.RuneStart(text[i]) {
			return text[:i]
		}
	}
	return text[:n]
}
