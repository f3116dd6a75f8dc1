package dispatch

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/policy"
)

// plan is what a request comes to before it is a job: its payload without ids.
type plan struct {
	payload     hub.JobPayload
	maxAttempts int
	batch       int // how many jobs its batch has; 0 outside of one
	group       string
}

// parse validates a spec and applies the policy's defaults. The problems are
// what the caller can mend; an error is for a spec that is not looked at.
func (s *Service) parse(text []byte, sourceFollows bool) (_ plan, problems []SpecProblem, _ error) {
	if err := s.fitsSpec(text); err != nil {
		return plan{}, nil, err
	}
	spec, err := topology.Parse(text)
	return s.plan(spec, err, sourceFollows)
}

// draft reads what changes are applied to.
func (s *Service) draft(text []byte) (*topology.Draft, error) {
	if err := s.fitsSpec(text); err != nil {
		return nil, err
	}
	draft, err := topology.ReadDraft(text)
	if bad, ok := errors.AsType[*topology.SpecError](err); ok {
		return nil, badSpec(bad.Problems)
	}
	return draft, err
}

// parseChanged is parse of a draft with changes to it.
func (s *Service) parseChanged(draft *topology.Draft, changes []byte) (_ plan, problems []SpecProblem, _ error) {
	if err := s.fitsSpec(changes); err != nil {
		return plan{}, nil, err
	}
	spec, err := draft.With(changes)
	return s.plan(spec, err, false)
}

func (s *Service) fitsSpec(text []byte) error {
	if int64(len(text)) <= s.policy.MaxSpecBytes {
		return nil
	}
	return hub.Errorf(hub.TooLarge, "the spec has %d bytes and may have %d", len(text), s.policy.MaxSpecBytes).
		WithHint("keep files and data out of the spec").
		WithDetail("limit", "max_spec_bytes").WithDetail("max", s.policy.MaxSpecBytes)
}

// plan takes what the parser answered.
func (s *Service) plan(spec *topology.Spec, err error, sourceFollows bool) (_ plan, problems []SpecProblem, _ error) {
	if err != nil {
		if bad, ok := errors.AsType[*topology.SpecError](err); ok {
			return plan{}, bad.Problems, nil
		}
		return plan{}, []SpecProblem{{Code: topology.ProblemInvalid, Message: err.Error()}}, nil
	}
	problems = s.beyondPolicy(spec)
	if !sourceFollows {
		problems = append(sourceless(spec), problems...)
	}
	if len(problems) > 0 {
		return plan{}, problems, nil
	}
	canonical, err := spec.Canonical()
	if err != nil {
		return plan{}, nil, fmt.Errorf("a parsed spec has no canonical form: %w", err)
	}
	p := plan{
		payload: hub.JobPayload{
			Name: spec.Name, Spec: canonical, Requires: requires(spec), Labels: spec.Labels,
			Needs: string(policy.EncodeNeeds(policy.Needs(spec))), Timeout: time.Duration(spec.Timeout), Grace: time.Duration(spec.Grace),
		},
		maxAttempts: spec.Retry.MaxAttempts, group: spec.Concurrency.Group,
	}
	p.payload.CancelRunning = spec.Concurrency.CancelRunning
	p.payload.Hold, p.payload.Exec = time.Duration(spec.HoldOnFailure), spec.Exec
	for _, c := range spec.Retry.On {
		p.payload.RetryOn = append(p.payload.RetryOn, hub.Class(c))
	}
	if p.payload.Timeout == 0 {
		p.payload.Timeout = s.policy.Timeout
		if spec.Session() {
			p.payload.Timeout = min(topology.DefaultSessionTimeout, s.policy.MaxTimeout)
		}
	}
	if p.payload.Grace == 0 {
		p.payload.Grace = s.policy.CancelGrace
	}
	if p.maxAttempts == 0 {
		p.maxAttempts = s.policy.MaxAttempts
	}
	return p, nil, nil
}

// beyondPolicy finds what the spec asks for and this hub does not grant.
func (s *Service) beyondPolicy(spec *topology.Spec) []SpecProblem {
	if t := time.Duration(spec.Timeout); t > s.policy.MaxTimeout {
		return []SpecProblem{{
			Field: "timeout", Code: topology.ProblemOutOfRange,
			Message: fmt.Sprintf("%s is more than the %s that this hub allows", t, s.policy.MaxTimeout),
			Hint:    "split the job, or ask the hub's operator for a longer limit",
		}}
	}
	if t := time.Duration(spec.HoldOnFailure); t > s.policy.MaxHold {
		return []SpecProblem{{
			Field: "hold_on_failure", Code: topology.ProblemOutOfRange,
			Message: fmt.Sprintf("%s is more than the %s that this hub allows", t, s.policy.MaxHold),
			Hint:    "hold it for less, or ask the hub's operator for a longer limit",
		}}
	}
	return nil
}

// sourceless finds what needs files of a source in a spec that has none: no machine could run it.
func sourceless(spec *topology.Spec) []SpecProblem {
	if spec.Source != nil {
		return baseless(spec.Source)
	}
	field := spec.UsesSource()
	if field == "" {
		return nil
	}
	return []SpecProblem{{
		Field: field, Code: topology.ProblemMissing, Message: "needs files of a source, and the job has none",
		Hint: "name a repository in source, or submit a folder: runnerctl submit --source .",
	}}
}

// baseless finds a patch of files in a source that has none.
func baseless(s *topology.Source) []SpecProblem {
	file := s.NeedsBase()
	if file == "" {
		return nil
	}
	return []SpecProblem{{
		Field: "source.patch", Code: topology.ProblemMissing, Message: fmt.Sprintf("changes %q, and the source has no files", clip(file, 100)),
		Hint: "name beside the patch what it was made of: a repository with its commit, an archive, or files; or submit a folder: runnerctl submit --source . --patch FILE",
	}}
}

// requires adds what a spec asks for without saying it: a container engine, or a
// machine that runs jobs itself, and the architecture of a platform that it names.
func requires(spec *topology.Spec) []string {
	out := slices.Clone(spec.Requires)
	if spec.Image != "" {
		out = append(out, "docker")
	} else {
		out = append(out, "host")
	}
	if spec.Platform != "" {
		os, arch, _ := strings.Cut(spec.Platform, "/")
		arch, _, _ = strings.Cut(arch, "/")
		out = append(out, arch)
		if os == "windows" { // a Linux image runs on any system that has an engine
			out = append(out, os)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// badSpec is the error for a spec with problems.
func badSpec(problems []SpecProblem) error {
	first := problems[0]
	first.Hint = "" // the error has it
	msg := first.String()
	if n := len(problems) - 1; n > 0 {
		msg = fmt.Sprintf("%s (and %d more)", msg, n)
	}
	hint := problems[0].Hint
	switch {
	case hint != "":
	case len(problems) == 1:
		hint = "change what is named, and submit it again"
	default:
		hint = "check_job lists every problem with its line, and stores nothing"
	}
	code := hub.InvalidArgument
	if problems[0].Code == topology.ProblemTooLarge && problems[0].Line == 0 {
		code = hub.TooLarge
	}
	return hub.Errorf(code, "the spec cannot be used: %s", msg).WithHint("%s", hint).WithDetail("problems", problems)
}
