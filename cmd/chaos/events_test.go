//go:build linux

package main

import (
	"fmt"
	"slices"
	"strings"
)

// endings are the actions that settle a job, and the states of the attempt that may have led to each.
var endings = map[string][]string{
	"job.succeeded": {"succeeded"},
	"job.failed":    {"failed", "lost"},
	"job.canceled":  {"canceled", "released", "failed"},
	"job.timed_out": {"timed_out"},
	"job.rejected":  {},
}

// eventsOf walks a job's audit events from its submission to its end, and holds each against the attempts.
func (v *verdict) eventsOf(r *record) {
	wrong := func(format string, args ...any) { v.breach(promiseEvents, r.ID, fmt.Sprintf(format, args...)) }
	var (
		n     int // the latest attempt
		live  bool
		ended int
		state = func() string { return r.Attempts[n-1].State }
	)
	started := map[int]int{}
	for i, e := range r.Events {
		if e.Actor == "" || e.At == 0 {
			wrong("event %d (%s) does not say who or when", i, e.Action)
		}
		if ended > 0 {
			wrong("%s comes after its end", e.Action)
		}
		if (i == 0) != (e.Action == "job.submitted") {
			wrong("event %d is %s", i, e.Action)
		}
		if e.Action != "job.submitted" && e.Action != "job.leased" && e.Attempt != n {
			wrong("%s tells of attempt %d, and the latest is %d", e.Action, e.Attempt, n)
		}
		switch e.Action {
		case "job.submitted":
		case "job.leased":
			n++
			if live || e.Attempt != n || n > len(r.Attempts) {
				wrong("attempt %d of %d was leased after attempt %d, which lived: %v", e.Attempt, len(r.Attempts), n-1, live)
				return
			}
			live = true
			if a := r.Attempts[n-1]; e.Runner != a.Runner || !strings.Contains(e.Actor, a.Runner) {
				wrong("attempt %d was leased by %s for %s, and the attempt is %s's", n, e.Actor, e.Runner, a.Runner)
			}
		case "job.started":
			started[n]++
			if !live {
				wrong("attempt %d started and did not live", n)
			}
		case "job.requeued":
			if !live || !slices.Contains([]string{"lost", "failed"}, state()) {
				wrong("it was queued again by attempt %d, which lived: %v", n, live)
			}
			live = false
		case "job.released":
			if !live || state() != "released" {
				wrong("attempt %d was given back, which lived: %v", n, live)
			}
			live = false
		case "job.cancel_requested":
			if !live {
				wrong("its cancel was asked for while no attempt lived")
			}
		default:
			from, known := endings[e.Action]
			ended++
			if !known || e.Action != "job."+r.State || (live && !slices.Contains(from, state())) {
				wrong("it ended by %s, and is %s", e.Action, r.State)
			}
			live = false
		}
	}
	if ended != 1 || live || n != len(r.Attempts) {
		wrong("it has %d ends; %d attempts of %d are told of; the last one lives: %v", ended, n, len(r.Attempts), live)
	}
	for _, a := range r.Attempts {
		if want := map[bool]int{true: 1}[a.Started != 0]; started[a.Number] != want {
			wrong("attempt %d was told to have started %d times, want %d", a.Number, started[a.Number], want)
		}
	}
}
