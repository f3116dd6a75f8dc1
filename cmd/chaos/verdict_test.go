//go:build linux

package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/topology"
)

// The promises. Each breach names one.
const (
	promiseOnce   = "every accepted job settles exactly once, with the right answer"
	promiseStale  = "no stale write is accepted"
	promiseAge    = "no job is older than its bound"
	promiseLog    = "a log has the bytes that were emitted"
	promiseEvents = "the audit events are complete"
)

// verdict holds what is left of a run against what was promised.
type verdict struct {
	*world
	load    *load
	records map[string]*record
	books   map[string][]entry
	views   map[string]mcp.Job
	logs    map[string][]topology.Record

	emitted map[execution]int // lines of log that an attempt has emitted
	tally   tally
}

// execution identifies an attempt, also one that the store does not know.
type execution struct {
	job     string
	attempt int
	epoch   int64
}

// tally is what the summary counts.
type tally struct {
	attempts, lost, released, retries, duplicates int
	stale                                         map[string]int // refused, by tool
	replays, acceptedStale                        int
	oldest, oldestBound                           time.Duration
	oldestJob                                     string
}

// reach looks at everything.
func (v *verdict) reach(ctx context.Context) {
	v.tally.stale = map[string]int{}
	v.emitted = map[execution]int{}
	for _, entries := range v.books {
		for _, e := range entries {
			if e.Did == didRun {
				v.emitted[execution{e.Job, e.Attempt, e.Epoch}] = e.Lines
			}
		}
	}
	accepted := v.load.accepted()
	if len(accepted) == 0 {
		v.breach(promiseOnce, "", "no job was accepted, so nothing was proved")
	}
	for id, p := range accepted {
		r := v.records[id]
		if r == nil {
			v.breach(promiseOnce, id, "it was accepted and is not in the store")
			continue
		}
		v.settledOnce(r, p)
		v.eventsOf(r)
		v.ageOf(r)
	}
	for id, r := range v.records {
		if _, known := accepted[id]; !known {
			v.breach(promiseOnce, id, "the store has a job that nobody has submitted: "+r.Key)
		}
	}
	v.staleWrites()
	v.logBytes(ctx, accepted)
}

// settledOnce compares a job's end with its plan, in the store and as people see it.
func (v *verdict) settledOnce(r *record, p plan) {
	wrong := func(format string, args ...any) { v.breach(promiseOnce, r.ID, fmt.Sprintf(format, args...)) }
	view := v.views[r.ID]
	if !r.endedAs(p) || view.State != r.State {
		wrong("it must have ended as %s; the store says %s, get_job says %s", p.outcome(), r.State, view.State)
		return
	}
	wins := 0
	for i, a := range r.Attempts {
		v.tally.attempts++
		switch a.State {
		case "lost":
			v.tally.lost++
		case "released":
			v.tally.released++
		case "succeeded":
			wins++
		case "leased", "running":
			wrong("attempt %d still lives", a.Number)
		}
		if a.Number != i+1 || (i > 0 && a.Epoch <= r.Attempts[i-1].Epoch) {
			wrong("attempt %d with epoch %d stands at place %d", a.Number, a.Epoch, i+1)
		}
	}
	if r.Attempt != len(r.Attempts) || len(view.Attempts) != len(r.Attempts) {
		wrong("its latest attempt is %d, of %d in the store and %d in get_job", r.Attempt, len(r.Attempts), len(view.Attempts))
		return
	}
	if want := map[bool]int{true: 1}[p.outcome() == "succeeded"]; wins != want {
		wrong("%d attempts have succeeded, want %d", wins, want)
	}
	if len(r.Attempts) == 0 {
		if p.Kind != canceled {
			wrong("it has no attempt")
		}
		return
	}
	last := r.Attempts[len(r.Attempts)-1]
	if p.whole() && !last.Reported {
		wrong("no report has settled it")
	}
	if last.Reported && last.State != "failed" || p.Kind == fails {
		v.answer(r, p, last.Number, wrong)
	}
}

// endedAs says whether the job's end is its plan's. A job that is to be canceled may be failed by its machine instead: a
// runner that was killed reports so when it is back, and the cancel only sees to it that the job is not run again.
func (r *record) endedAs(p plan) bool {
	if r.State == p.outcome() {
		return true
	}
	asked := slices.ContainsFunc(r.Events, func(e eventRow) bool { return e.Action == "job.cancel_requested" })
	return p.Kind == canceled && asked && r.State == "failed" && hub.Class(r.Class).Infrastructure()
}

// answer compares the result that settled the job.
func (v *verdict) answer(r *record, p plan, attempt int, wrong func(string, ...any)) {
	res, ok := r.Results[attempt]
	view := v.views[r.ID].Result
	if !ok || view == nil {
		wrong("the result of attempt %d is missing (in the store: %v, in get_job: %v)", attempt, ok, view != nil)
		return
	}
	if p.whole() && (res.ExitCode == nil || *res.ExitCode != p.Exit || !maps.Equal(res.Images, p.output(attempt)) || !maps.Equal(view.Images, res.Images)) {
		wrong("its result is %+v, want exit code %d and %v", res, p.Exit, p.output(attempt))
	}
	if p.Kind == fails && r.Class != string(topology.ClassScript) {
		wrong("it failed for %s", r.Class)
	}
}

// ageOf holds a job against its bound: time to wait and run; for each attempt the longest that a runner can be silent
// or a call be lost before it is tried again; and the time during which something that it needs was broken.
func (v *verdict) ageOf(r *record) {
	from, to := time.UnixMicro(r.Created), time.UnixMicro(r.Ended)
	age := to.Sub(from)
	bound := 30*time.Second + time.Duration(len(r.Attempts))*(2*leaseTTL+10*time.Second) + v.outages(from, to)
	if age > v.tally.oldest {
		v.tally.oldest, v.tally.oldestBound, v.tally.oldestJob = age, bound, r.ID
	}
	if age > bound {
		v.breach(promiseAge, r.ID, fmt.Sprintf("it took %s, and may take %s", age, bound))
	}
}

// outages is for how long between two times the store, the log volume or the way to the hubs was broken for all.
func (v *verdict) outages(from, to time.Time) time.Duration {
	all := v.journal.all()
	slices.SortFunc(all, func(a, b span) int { return a.from.Compare(b.from) })
	var sum time.Duration
	for _, s := range all {
		switch s.fault {
		case fillVolume: // a report waits up to 15 s for its log
			s.to = s.to.Add(15 * time.Second)
		case stopDatabase, crashDatabase: // afterwards the hubs wait a TTL for the runners
			s.to = s.to.Add(leaseTTL)
		case delayFront, halfFront:
		case killHub:
			if len(v.hubs) > 1 {
				continue
			}
			s.to = s.to.Add(leaseTTL)
		default:
			continue
		}
		s.from, s.to = later(s.from, from), earlier(s.to, to)
		if d := s.to.Sub(s.from); d > 0 {
			sum += d
			from = s.to // what overlaps counts once
		}
	}
	return sum
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// staleWrites counts the writes by leases that were over, and finds those that were accepted.
func (v *verdict) staleWrites() {
	attempts := map[execution]attemptRow{}
	for _, r := range v.records {
		for _, a := range r.Attempts {
			attempts[execution{r.ID, a.Number, a.Epoch}] = a
		}
	}
	accepted := func(who string, e entry, why string) {
		v.tally.acceptedStale++
		v.breach(promiseStale, e.Job, fmt.Sprintf("%s of %s for attempt %d, epoch %d: %s", e.Tool, who, e.Attempt, e.Epoch, why))
	}
	for _, who := range slices.Sorted(maps.Keys(v.books)) {
		for _, e := range v.books[who] {
			a, known := attempts[execution{e.Job, e.Attempt, e.Epoch}]
			switch e.Did {
			case didReplay:
				v.tally.replays++
				if e.Accepted {
					accepted(who, e, "the replay was accepted while the attempt was "+e.Status)
				}
				v.tally.stale[e.Tool]++
			case didStale:
				// A heartbeat that was held while the attempt's own report came in is no stale write.
				if e.Tool != mcp.ToolHeartbeatJob || e.SentUS > a.Ended {
					v.tally.stale[e.Tool]++
				}
			case didBeat:
				const slack = int64(100 * time.Millisecond / time.Microsecond) // between the hub's clock and the store's
				if known && a.Ended > 0 && e.SentUS > a.Ended+slack {
					accepted(who, e, fmt.Sprintf("sent at %s, held, and the attempt had ended at %s", v.since(e.SentUS), v.since(a.Ended)))
				}
			case didSettle:
				if e.Duplicate {
					v.tally.duplicates++
				}
				if !known || a.State != e.Status {
					accepted(who, e, fmt.Sprintf("%s was accepted, and the attempt is %s", e.Status, a.State))
				}
			case didRetry:
				v.tally.retries++
			}
		}
	}
	if v.tally.refused() == 0 {
		v.breach(promiseStale, "", "no stale write was tried, so nothing was proved")
	}
}

func (t tally) refused() int {
	n := -t.acceptedStale
	for _, k := range t.stale {
		n += k
	}
	return max(n, 0)
}

// timeline is all that is known of a job's life.
func (v *verdict) timeline(id string) string {
	type line struct {
		at   int64
		text string
	}
	var lines []line
	add := func(at int64, format string, args ...any) {
		lines = append(lines, line{at, fmt.Sprintf(format, args...)})
	}
	r := v.records[id]
	if r == nil {
		return ""
	}
	for _, e := range r.Events {
		add(e.At, "event %s attempt %d by %s on %s", e.Action, e.Attempt, e.Actor, e.Runner)
	}
	for _, a := range r.Attempts {
		add(a.Leased, "attempt %d epoch %d on %s: started %s, ended %s as %s, reported %v, %d bytes of log",
			a.Number, a.Epoch, a.Runner, v.since(a.Started), v.since(a.Ended), a.State, a.Reported, a.LogSize)
	}
	for who, entries := range v.books {
		for _, e := range entries {
			if e.Job == id {
				add(e.SentUS, "%s: %s %s attempt %d %s %s", who, e.Did, e.Tool, e.Attempt, e.Status, e.Code)
			}
		}
	}
	for _, s := range v.journal.all() {
		if s.to.UnixMicro() >= r.Created && (r.Ended == 0 || s.from.UnixMicro() <= r.Ended) {
			add(s.from.UnixMicro(), "fault until %s: %s %s", v.since(s.to.UnixMicro()), s.fault, s.what)
		}
	}
	slices.SortStableFunc(lines, func(a, b line) int { return int(a.at - b.at) })
	var b strings.Builder
	for _, l := range lines {
		fmt.Fprintf(&b, "      %10s  %s\n", v.since(l.at), l.text)
	}
	return b.String()
}
