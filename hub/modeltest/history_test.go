package modeltest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"
)

// kind is what happens in one step of a history.
type kind string

const (
	idle    kind = "idle"    // nothing: what shrinking makes of a step that is not needed
	submit  kind = "submit"  // a new job
	again   kind = "again"   // a submit once more, with the idempotency key that it had
	lease   kind = "lease"   // a runner asks for work
	lost    kind = "lost"    // the same, and the answer never arrives
	repeat  kind = "repeat"  // a runner asks once more, with the id of its last request
	beat    kind = "beat"    // a heartbeat of any lease there ever was
	report  kind = "report"  // an attempt's end, of any lease there ever was
	resend  kind = "resend"  // the last report of a lease once more
	release kind = "release" // a lease is given back
	cancel  kind = "cancel"  // a person cancels a job
	tick    kind = "tick"    // time passes
	sweep   kind = "sweep"   // a hub looks for what ran out
	restart kind = "restart" // a hub is killed and another takes its place
	freeze  kind = "freeze"  // a runner stops, or goes on as if nothing had been
	revoke  kind = "revoke"  // a runner is unpaired
)

// step is one step. What its numbers choose from is counted from the newest, and modulo how many there are, so that any
// numbers make a history.
type step struct {
	Kind              kind
	Hub, Runner, Pick int
	Arg               int
}

func (s step) String() string {
	return fmt.Sprintf("{%s, %d, %d, %d, %d}", s.Kind, s.Hub, s.Runner, s.Pick, s.Arg)
}

type history []step

func (h history) String() string {
	lines := make([]string, len(h))
	for i, s := range h {
		lines[i] = "\t" + s.String() + ","
	}
	return "history{\n" + strings.Join(lines, "\n") + "\n}"
}

const (
	hubs    = 2
	runners = 3
)

// kinds holds each kind as often as it shall come up.
var kinds = weigh(map[kind]int{
	idle: 1, submit: 6, again: 1, lease: 8, lost: 2, repeat: 3, beat: 9, report: 7, resend: 3, release: 2,
	cancel: 2, tick: 6, sweep: 5, restart: 1, freeze: 1, revoke: 1,
})

func weigh(w map[kind]int) []kind {
	var out []kind
	// In a fixed order, or a seed would mean another history each time.
	for _, k := range []kind{idle, submit, lease, beat, report, tick, sweep, again, lost, repeat, resend, release, cancel, restart, freeze, revoke} {
		for range w[k] {
			out = append(out, k)
		}
	}
	return out
}

func histories() *rapid.Generator[history] {
	steps := rapid.Custom(func(t *rapid.T) step {
		return step{
			Kind:   rapid.SampledFrom(kinds).Draw(t, "kind"),
			Hub:    rapid.IntRange(0, hubs-1).Draw(t, "hub"),
			Runner: rapid.IntRange(0, runners-1).Draw(t, "runner"),
			Pick:   rapid.IntRange(0, 4).Draw(t, "pick"),
			Arg:    rapid.IntRange(0, 47).Draw(t, "arg"),
		}
	})
	return rapid.Custom(func(t *rapid.T) history {
		all := rapid.SliceOfN(steps, 20, 100).Draw(t, "steps") // 40 on average
		return slices.DeleteFunc(all, func(s step) bool { return s.Kind == idle })
	})
}

// submission is what a submit step asks for.
type submission struct {
	runner   int // the target, none for the pool
	gpu      bool
	priority int
	attempts int
	timeout  time.Duration
	key      string
}

const none = -1

// submission decodes a step's numbers.
func (s step) submission(n int) submission {
	r := submission{runner: none, gpu: s.Arg%4 == 3, priority: s.Arg/4%3 - 1, attempts: 1 + s.Arg/12%3, timeout: 2 * time.Minute}
	if s.Pick%3 == 1 {
		r.runner = s.Runner
	}
	if s.Arg%5 == 4 {
		r.timeout = time.Second
	}
	if s.Pick%2 == 0 {
		r.key = fmt.Sprintf("key-%d", n)
	}
	return r
}

// passes is how long a tick step takes: around each of the clocks that a job lives by.
func (s step) passes() time.Duration {
	jumps := []time.Duration{
		time.Second, 5 * time.Second, 14 * time.Second, 16 * time.Second, 31 * time.Second, 40 * time.Second,
		59 * time.Second, 61 * time.Second, 2 * time.Minute, 6 * time.Minute,
	}
	return jumps[s.Arg%len(jumps)]
}

// outcome is what a report says.
type outcome string

const (
	worked   outcome = "succeeded"
	broke    outcome = "script" // the job's own fault, which is not retried
	infra    outcome = "image_pull"
	stopped  outcome = "canceled"
	overtime outcome = "timed_out"
)

func (s step) outcome() outcome {
	return []outcome{worked, infra, broke, stopped, infra, overtime, worked, infra}[s.Arg%8]
}
