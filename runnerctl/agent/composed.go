package agent

import (
	"context"
	"time"

	"github.com/runnerhub/runnerhub/topology"
)

// Compose fills in the services of a spec that names Compose files, from the job's
// source in dir ("" is none); see the package topology/compose. notes are lines for
// the job's log. It returns soon after ctx has ended.
type Compose func(ctx context.Context, dir string, spec *topology.Spec) (out *topology.Spec, notes []string, failure *topology.Failure)

// compose reads the job's Compose files, if it has any. The result is nil while nothing is wrong.
func (t *attempt) compose(ctx context.Context, work *topology.Work, obs topology.Observer) *topology.Result {
	say := func(line string) {
		_ = obs.Log(topology.Record{Time: time.Now(), Stream: topology.System, Data: []byte(line + "\n")}) // the observer stops the job then
	}
	fail := func(f *topology.Failure) *topology.Result {
		say(f.Message)
		if f.Hint != "" {
			say("Hint: " + f.Hint)
		}
		return &topology.Result{Status: topology.Failed, Failure: f}
	}
	if len(work.Spec.Compose.Files) == 0 {
		return nil
	}
	if t.a.cfg.Compose == nil {
		return fail(&topology.Failure{Class: topology.ClassSpecInvalid, Message: "This runner reads no Compose files.", Hint: "Run the job on another one."})
	}
	begin := time.Now()
	ctx, cancel := untilTimeout(ctx, work.Spec)
	defer cancel()
	spec, notes, failure := t.a.cfg.Compose(ctx, work.Source, work.Spec)
	switch {
	case ctx.Err() != nil:
		res := unprepared(context.Cause(ctx))
		return &res
	case failure != nil:
		return fail(failure)
	}
	if !t.begun { // by a process that has said them
		for _, note := range notes {
			say(note)
		}
	}
	work.Spec = without(spec, time.Since(begin))
	return nil
}
