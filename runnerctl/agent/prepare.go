package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/policy"
)

// Sources gets the trees that jobs start with. *source.Fetcher is one.
type Sources interface {
	// Fetch gets a source into dir, an empty folder of the attempt's own, and returns
	// the folder with its tree, or why the attempt fails. ticket is the URL of the
	// archive, for a source that has one. allows says whether the machine's owner lets a
	// repository be fetched that another one names. say is told what goes on, a line at a time.
	Fetch(
		ctx context.Context, s *topology.Source, ticket, dir string, allows func(repository string) bool, say func(line string),
	) (tree string, failure *topology.Failure)
}

// errOutOfTime is the cause of a preparation that the job's timeout ended.
var errOutOfTime = errors.New("the job ran out of time")

// prepare gets what the executor needs besides the spec: the source, into the attempt's
// entry. The time that it takes is the job's.
func (t *attempt) prepare(ctx context.Context, work topology.Work, e *entry, obs topology.Observer) (topology.Work, *topology.Result) {
	spec := work.Spec
	if p := e.prepared(); p != nil {
		return p.apply(work, e), nil
	}
	if spec.Source == nil {
		return work, nil
	}
	begin := time.Now()
	ctx, cancel := untilTimeout(ctx, spec)
	defer cancel()
	obs.Phase(topology.PhasePreparing, "")
	say := func(line string) {
		_ = obs.Log(topology.Record{Time: time.Now(), Stream: topology.System, Data: []byte(line + "\n")}) // the observer stops the job then
	}
	tree, failure := t.source(ctx, spec.Source, e.sourceDir(), say)
	switch {
	case ctx.Err() != nil:
		res := unprepared(context.Cause(ctx))
		return work, &res
	case failure != nil:
		say(failure.Message)
		if failure.Hint != "" {
			say("Hint: " + failure.Hint)
		}
		return work, &topology.Result{Status: topology.Failed, Failure: failure}
	}
	work.Spec, work.Source = without(spec, time.Since(begin)), tree
	return work, nil
}

// untilTimeout ends a part of the preparation when the job's time is over.
func untilTimeout(ctx context.Context, spec *topology.Spec) (context.Context, context.CancelFunc) {
	if spec.Timeout <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, time.Duration(spec.Timeout), errOutOfTime)
}

// without is a spec with the time that is left of the job's.
func without(spec *topology.Spec, spent time.Duration) *topology.Spec {
	if spec.Timeout <= 0 {
		return spec
	}
	left := *spec
	left.Timeout = max(topology.Duration(time.Second), spec.Timeout-topology.Duration(spent))
	return &left
}

func (t *attempt) source(ctx context.Context, s *topology.Source, dir string, say func(string)) (string, *topology.Failure) {
	if t.a.cfg.Sources == nil {
		return "", &topology.Failure{Class: topology.ClassSource, Message: "This runner gets no sources.", Hint: "Run the job on another one, or without a source."}
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		f := spoolFault(err)
		return "", &topology.Failure{Class: topology.Class(f.Class), Message: f.Message, Hint: f.Hint}
	}
	ticket := ""
	if t.lease.Source != nil {
		ticket = t.lease.Source.URL
	}
	owner := t.a.guard.owner()
	allows := func(repository string) bool {
		return len(policy.CheckNeeds(owner, []policy.Need{{Rule: policy.RuleRepositories, Value: repository}})) == 0
	}
	return t.a.cfg.Sources.Fetch(ctx, s, ticket, dir, allows, say)
}

// unprepared is the result of an attempt that ended before its topology was begun.
func unprepared(cause error) topology.Result {
	if errors.Is(cause, errOutOfTime) {
		return topology.Result{Status: topology.TimedOut, Failure: &topology.Failure{
			Class: topology.ClassTimeout, Message: "The job ran out of time while its source was fetched, or its Compose files were read.", Hint: "Raise timeout in the spec.",
		}}
	}
	return topology.Result{Status: topology.Canceled, Failure: &topology.Failure{
		Class: topology.ClassCanceled, Message: fmt.Sprintf("The job was ended before it began: %v", cause),
	}}
}
