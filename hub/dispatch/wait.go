package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/mcp/joblog"
)

// Wait answers what happened to a job since a cursor, holding the call until
// something does. Without a cursor it answers at once with the state and the log's last
// lines, or with UntilEnd when the job has ended. Errors: NotFound, InvalidArgument, Draining.
func (s *Service) Wait(ctx context.Context, p hub.Principal, r WaitRequest) (WaitResult, error) {
	if _, _, err := s.job(ctx, p, r.JobID); err != nil {
		return WaitResult{}, err
	}
	cur := cursor{job: tagOf(r.JobID)}
	if r.Cursor != "" && r.Cursor != FromStart {
		var err error
		if cur, err = parseCursor(r.Cursor, r.JobID); err != nil {
			return WaitResult{}, err
		}
		cur.back = false
	}
	parking := parkingFrom(ctx)
	if parking != nil {
		ctx = parking.ctx // whoever made the call may end its own when the call leaves
	}
	r.Wait = parking.rest(min(r.Wait, s.maxWait))
	w := s.watch.add(r.JobID) // before the first look, so that no change falls between
	h := s.hold(ctx, r.Wait)
	o := s.observer(r.Progress)
	leaves := false
	release := func() {
		h.stop()
		s.watch.remove(w)
	}
	defer func() {
		if !leaves { // else whoever awaits it does
			release()
		}
	}()
	look := func() (WaitResult, bool, error) { return s.look(ctx, cur, r, h, o) }
	for {
		out, complete, err := look()
		if err != nil || complete || r.Wait <= 0 {
			return out, err
		}
		held := &parked{hold: h, wake: w.ch, release: release, enough: func() bool {
			_, complete, err := look()
			return complete || err != nil
		}}
		if leaves = r.Progress == nil && parking.park(r.Wait, held); leaves {
			return WaitResult{}, ErrParked
		}
		switch err := h.wait(w.ch); {
		case errors.Is(err, errWaited):
			return out, nil
		case err != nil:
			return WaitResult{}, err
		}
	}
}

// look reads the job and what happened to it since a cursor. enough is as news says.
func (s *Service) look(ctx context.Context, cur cursor, r WaitRequest, h *hold, o *observer) (_ WaitResult, enough bool, err error) {
	j, err := s.store.GetJob(ctx, r.JobID)
	if err != nil {
		return WaitResult{}, false, err
	}
	if cur.attempt > j.Attempt {
		return WaitResult{}, false, hub.Errorf(hub.InvalidArgument, "the cursor is of another job")
	}
	out, enough, err := s.news(ctx, j, cur, r)
	if err != nil {
		return WaitResult{}, false, err
	}
	if j.State.Ended() { // the rest of the log is awaited, and no wake-up ends that
		h.within(j.EndedAt.Add(s.logWait).Sub(s.clock.now()))
	} else if !enough {
		o.look(ctx, j, h)
	}
	return out, enough, nil
}

// news is what happened since a cursor; enough says whether that is worth an answer.
func (s *Service) news(ctx context.Context, j hub.Job, cur cursor, r WaitRequest) (_ WaitResult, enough bool, err error) {
	if r.Cursor == "" {
		out, err := s.lastWords(ctx, j, r.Raw)
		return out, err == nil && (!r.UntilEnd || out.Done || j.Held != nil), err
	}
	out := WaitResult{Job: j}
	bag := &lineBag{room: maxLines, text: maxText, long: joblog.MaxPayload, raw: r.Raw}
	told := cur.state
	out.Done, err = s.readOn(ctx, j, &cur, bag)
	if err != nil {
		return out, false, err
	}
	cur.state = stateOf(j)
	if j.Attempt > 0 && (j.State.Ended() || j.Held != nil) {
		a, err := s.store.GetAttempt(ctx, j.ID, j.Attempt)
		if err != nil {
			return out, false, err
		}
		out.Result = a.Result
		if out.Done || j.Held != nil && told != cur.state {
			if out.Telling, err = s.telling(ctx, j, a); err != nil {
				return out, false, err
			}
		}
	}
	out.Lines, out.NextCursor = bag.lines, cur.String()
	if r.UntilEnd {
		return out, out.Done || bag.full() || j.Held != nil && told != cur.state, nil // that it failed is known
	}
	return out, out.Done || len(out.Lines) > 0 || told != cur.state, nil
}

// readOn fills the bag from the cursor on, through all attempts, and moves the
// cursor. It is true when the job has ended and all of its log was given.
func (s *Service) readOn(ctx context.Context, j hub.Job, cur *cursor, bag *lineBag) (bool, error) {
	for {
		if cur.attempt == 0 {
			if j.Attempt == 0 {
				return j.State.Ended(), nil
			}
			cur.attempt, cur.offset = 1, 0
		}
		a, err := s.store.GetAttempt(ctx, j.ID, cur.attempt)
		if err != nil {
			return false, err
		}
		whole := s.logComplete(a)
		f := &logFile{s: s, jobID: a.JobID, attempt: a.Number, size: a.LogSize}
		cut := false
		err = f.forward(ctx, cur.offset, s.logScan, whole, func(it item) bool {
			if !bag.add(it) {
				cut = true
				return false
			}
			cur.offset = it.End
			cut = bag.full()
			return !cut
		})
		switch {
		case err != nil:
			return false, err
		case cut || f.scanned >= s.logScan || !whole:
			return false, nil
		case a.Number == j.Attempt:
			return j.State.Ended(), nil
		}
		next, err := s.store.GetAttempt(ctx, j.ID, a.Number+1)
		if err != nil {
			return false, err
		}
		bag.put(LogLine{Time: next.LeasedAt, Stream: string(joblog.System), Text: fmt.Appendf(nil, "[attempt %d %s; attempt %d follows]", a.Number, a.State, next.Number)})
		cur.attempt, cur.offset = next.Number, 0
	}
}

// lastWords is the state of a job and the end of its latest log.
func (s *Service) lastWords(ctx context.Context, j hub.Job, raw bool) (WaitResult, error) {
	out := WaitResult{Job: j}
	cur := cursor{job: tagOf(j.ID), attempt: j.Attempt, state: stateOf(j)}
	if j.Attempt == 0 {
		out.Done = j.State.Ended()
		out.NextCursor = cur.String()
		return out, nil
	}
	a, err := s.store.GetAttempt(ctx, j.ID, j.Attempt)
	if err != nil {
		return out, err
	}
	bag := &lineBag{room: tailDefault, text: maxText, long: longLine, raw: raw}
	f := &logFile{s: s, jobID: a.JobID, attempt: a.Number, size: a.LogSize}
	from, to, err := f.tail(ctx, bag, s.logComplete(a))
	if err != nil {
		return out, err
	}
	cur.offset = to
	out.Lines, out.Omitted, out.NextCursor = bag.lines, from, cur.String()
	if j.State.Ended() {
		out.Result, out.Done = a.Result, s.logComplete(a)
	}
	if out.Done || j.Held != nil {
		out.Telling, err = s.telling(ctx, j, a)
	}
	return out, err
}

// logComplete says whether nothing more is to come of an attempt's log: all
// that its result announced is there, or has been awaited for long enough.
func (s *Service) logComplete(a hub.Attempt) bool {
	switch {
	case a.State.Live():
		return false
	case a.State == hub.AttemptLost || a.State == hub.AttemptReleased:
		return true // it takes no more
	}
	if len(a.Result) > 0 {
		var said struct {
			LogBytes int64 `json:"log_bytes"`
		}
		if json.Unmarshal(a.Result, &said) == nil && a.LogSize >= said.LogBytes {
			return true
		}
	}
	return s.clock.now().Sub(a.EndedAt) >= s.logWait
}
