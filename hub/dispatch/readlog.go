package dispatch

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/runnerhub/runnerhub/hub"
)

// ReadLog reads a part of a job's log: its last lines, from its start, or from a
// cursor on. Errors: NotFound, InvalidArgument.
func (s *Service) ReadLog(ctx context.Context, p hub.Principal, r ReadLogRequest) (LogPage, error) {
	j, _, err := s.job(ctx, p, r.JobID)
	if err != nil {
		return LogPage{}, err
	}
	if r.Lines == 0 {
		r.Lines = tailDefault
	}
	if r.Lines < 1 || r.Lines > maxLines {
		return LogPage{}, hub.Errorf(hub.InvalidArgument, "lines %d is not between 1 and %d", r.Lines, maxLines)
	}
	filter, err := newFilter(r)
	if err != nil {
		return LogPage{}, err
	}
	cur, tail, err := s.readFrom(r, j)
	if err != nil {
		return LogPage{}, err
	}
	if cur.attempt == 0 {
		return LogPage{JobID: j.ID, Note: "The job was never handed to a runner, so it has no log. explain_job says why."}, nil
	}
	a, err := s.store.GetAttempt(ctx, j.ID, cur.attempt)
	if hub.CodeOf(err) == hub.NotFound {
		return LogPage{}, hub.Errorf(hub.NotFound, "the job has no attempt %d", cur.attempt).WithHint("its latest is %d", j.Attempt)
	}
	if err != nil {
		return LogPage{}, err
	}
	bag := &lineBag{filter: filter, room: r.Lines, text: maxText, long: longLine, raw: r.Raw, context: r.Context}
	if filter.searches() {
		bag.until = searchTime(ctx)
	}
	if r.Lines == 1 { // one line alone may be as long as an answer
		bag.long = maxText - lineCost
	}
	out, err := s.readPage(ctx, a, cur, tail, bag)
	if err == nil && len(out.Lines) == 0 {
		out.Note = strings.TrimSpace(s.unknownSource(ctx, j.ID, filter) + " " + out.Note)
	}
	return out, err
}

// readFrom says where to read, and whether that is the log's end.
func (s *Service) readFrom(r ReadLogRequest, j hub.Job) (_ cursor, tail bool, err error) {
	switch r.From {
	case "", FromEnd, FromStart:
		n := r.Attempt
		if n == 0 {
			n = j.Attempt
		}
		if n < 0 || n > j.Attempt {
			return cursor{}, false, hub.Errorf(hub.InvalidArgument, "attempt %d does not exist", n).WithHint("the latest is %d", j.Attempt)
		}
		return cursor{attempt: n}, r.From != FromStart, nil
	}
	c, err := parseCursor(r.From, j.ID)
	if err == nil && (c.attempt > j.Attempt || (r.Attempt != 0 && r.Attempt != c.attempt)) {
		err = hub.Errorf(hub.InvalidArgument, "the cursor is of another attempt").WithHint("leave attempt out when you send a cursor")
	}
	return c, false, err
}

func (s *Service) readPage(ctx context.Context, a hub.Attempt, cur cursor, tail bool, bag *lineBag) (LogPage, error) {
	f := &logFile{s: s, jobID: a.JobID, attempt: a.Number, size: a.LogSize}
	whole := s.logComplete(a)
	var (
		from, to int64
		err      error
	)
	switch {
	case tail:
		from, to, err = f.tail(ctx, bag, whole)
	case cur.back:
		to = min(cur.offset, a.LogSize)
		from, err = f.backward(ctx, to, s.logScan, bag.add)
		slices.Reverse(bag.lines)
	default:
		from = min(cur.offset, a.LogSize)
		to = from
		err = f.forward(ctx, from, s.logScan, whole, func(it item) bool {
			if !bag.add(it) {
				return false
			}
			to = it.End
			return !bag.full()
		})
	}
	if err != nil {
		return LogPage{}, err
	}
	bag.leaveNear()
	out := LogPage{JobID: a.JobID, Attempt: a.Number, Lines: bag.lines, LogBytes: a.LogSize}
	if to < a.LogSize || !whole {
		out.NextCursor = cursor{job: tagOf(a.JobID), attempt: a.Number, offset: to}.String()
	}
	if from > 0 {
		out.PrevCursor = cursor{job: tagOf(a.JobID), back: true, attempt: a.Number, offset: from}.String()
	}
	out.Note = note(a, bag, from, to, whole, f.scanned >= s.logScan || bag.late)
	return out, nil
}

// note says what an answer left out and how to get it.
func note(a hub.Attempt, b *lineBag, from, to int64, whole, scanned bool) string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	switch {
	case a.LogSize == 0 && whole:
		add("Attempt %d wrote no log.", a.Number)
	case a.LogSize == 0:
		add("Attempt %d has written no log yet; wait_job waits for it.", a.Number)
	default:
		add("%d lines, bytes %d to %d of the %d of attempt %d's log.", len(b.lines), from, to, a.LogSize, a.Number)
	}
	if from > 0 {
		add("%d bytes come before: read them with from=prev_cursor.", from)
	}
	if to < a.LogSize {
		add("%d bytes follow: read them with from=next_cursor.", a.LogSize-to)
	} else if !whole {
		add("The log is still being written: follow it with wait_job cursor=next_cursor.")
	}
	if b.repeated > 0 {
		add("%d lines that repeat the one before, or are an earlier picture of its progress bar, are counted in its repeats; raw=true shows them.", b.repeated)
	}
	if b.filter.active() {
		add("Left out by the filter (%s): %d lines; read without it to see them.", b.filter, b.filtered)
	}
	if scanned {
		add("One call searches so many bytes, for so long, and no more; go on with the cursor.")
	}
	if b.dropped > 0 {
		add("%d bytes were dropped from the log's middle when it went over its limit and cannot be read.", b.dropped)
	}
	if b.cut > 0 {
		add("%d lines were cut at %d bytes; lines=1 shows one whole.", b.cut, b.long)
	}
	return strings.Join(parts, " ")
}
