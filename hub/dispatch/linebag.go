package dispatch

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/runnerhub/runnerhub/mcp/joblog"
	"github.com/runnerhub/runnerhub/mcp/logtext"
)

// What one answer holds at most. A line costs its text and some room for its fields.
const (
	maxText     = 32 << 10
	maxLines    = 1000
	lineCost    = 64
	longLine    = 4 << 10
	tailDefault = 100
)

// lineBag collects lines until it is full, and counts what it leaves out.
type lineBag struct {
	filter  lineFilter
	room    int  // lines
	text    int  // bytes
	long    int  // lines are cut at this many bytes
	raw     bool // lines are taken as they were written
	context int  // lines around each that is found

	until func() bool // whether the search has gone on for long enough

	lines    []LogLine
	near     []LogLine // the last lines that were not found: they come before the next one that is
	after    int       // lines that are still to be taken after one that was found
	looked   int       // lines that were looked at
	late     bool      // the search ended over its time
	filtered int       // lines that the filter left out
	cut      int       // lines that were cut
	repeated int       // lines that repeat the one before
	dropped  int64     // bytes of gaps
}

// add takes an item; false when it does not fit, and full says when nothing more will.
func (b *lineBag) add(it item) bool {
	if it.gap > 0 {
		b.dropped += it.gap
		b.leaveNear()
		b.after = 0
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
	if !b.filter.covers(it.Record) {
		b.filtered++
		return true
	}
	clean := logtext.Clean(it.Payload)
	text := clean
	if b.raw {
		text = it.Payload
	}
	if !b.filter.finds(clean) {
		return b.addNear(it, text)
	}
	cut := len(text) > b.long
	line := b.line(it, text)
	if !b.fits(line) {
		return false
	}
	b.putNear(line)
	b.put(line)
	b.after = b.context
	if cut {
		b.cut++
	}
	return true
}

// addNear takes a line that was not found, since it stands near one that was or may be.
func (b *lineBag) addNear(it item, text []byte) bool {
	switch {
	case b.context == 0:
		b.filtered++
	case b.after > 0:
		line := b.line(it, text)
		if !b.fits(line) {
			return false
		}
		b.put(line)
		b.after--
	default:
		if len(b.near) == b.context {
			b.near = b.near[1:]
			b.filtered++
		}
		b.near = append(b.near, b.line(it, text))
	}
	return true
}

// putNear puts the lines before one that was found, as many as leave room for that one.
func (b *lineBag) putNear(found LogLine) {
	keep, room, text := 0, b.room-1, b.text-cost(found.Text)
	for keep < len(b.near) && keep < room {
		if text -= cost(b.near[len(b.near)-1-keep].Text); text < 0 {
			break
		}
		keep++
	}
	b.filtered += len(b.near) - keep
	for _, l := range b.near[len(b.near)-keep:] {
		b.put(l)
	}
	b.near = b.near[:0]
}

// leaveNear gives up what stood before a line that is not to come.
func (b *lineBag) leaveNear() {
	b.filtered += len(b.near)
	b.near = b.near[:0]
}

func (b *lineBag) line(it item, text []byte) LogLine {
	if len(text) > b.long {
		text = fmt.Appendf(slices.Clone(runeCut(text, b.long)), "… [%d bytes more]", len(text)-b.long)
	}
	return LogLine{
		Time: it.Time, Stream: string(it.Stream), Step: it.Source.Step, Service: it.Source.Service,
		Text: slices.Clone(text), Partial: it.Partial,
	}
}

func (b *lineBag) fits(l LogLine) bool {
	return b.room > 0 && (len(b.lines) == 0 || b.text >= cost(l.Text))
}

func (b *lineBag) put(l LogLine) {
	if n := len(b.lines); n > 0 && !b.raw && repeats(b.lines[n-1], l) {
		b.repeat(&b.lines[n-1], l)
		return
	}
	b.lines = append(b.lines, l)
	b.room--
	b.text -= cost(l.Text)
}

// repeat counts a line with the one that was put before. Of a progress bar the latest picture is shown.
func (b *lineBag) repeat(before *LogLine, l LogLine) {
	b.repeated++
	before.Repeats++
	if l.Time.After(before.Time) {
		b.text += cost(before.Text) - cost(l.Text)
		before.Time, before.Text = l.Time, l.Text
	}
}

// repeats says whether b says nothing that a, beside which it stands, has not said.
func repeats(a, b LogLine) bool {
	return !a.Partial && !b.Partial && a.Stream == b.Stream && a.Step == b.Step && a.Service == b.Service &&
		logtext.Repeats(a.Text, b.Text)
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
