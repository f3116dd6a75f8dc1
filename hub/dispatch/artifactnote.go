package dispatch

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/topology"
)

// maxPatterns is how many of a spec's patterns a note names.
const maxPatterns = 5

// nothingKept says in sentences why the hub has no artifact of a job's attempt n, which may be one that still runs.
func (s *Service) nothingKept(ctx context.Context, j hub.Job, n int) (string, error) {
	payload, err := s.store.GetPayload(ctx, j.ID)
	if err != nil {
		return "", err
	}
	a, err := s.store.GetAttempt(ctx, j.ID, n)
	if err != nil {
		return "", err
	}
	spec, err := topology.Parse(payload.Spec)
	if err != nil { // another release's
		return fmt.Sprintf("Attempt %d has no artifacts.", n), nil //nolint:nilerr // what cannot be read explains nothing
	}
	failure := a.Failure
	if a.State.Live() && j.Held != nil {
		failure = j.Failure
	}
	switch {
	case len(spec.Artifacts) == 0:
		return "The job keeps no files: its spec has no artifacts.", nil
	case a.State.Live() && j.Held == nil:
		return fmt.Sprintf("Attempt %d still runs: what it leaves is kept when the job has ended.", n), nil
	case a.State == hub.AttemptCanceled:
		return fmt.Sprintf("Attempt %d was canceled, and a canceled job leaves no files.", n), nil
	case !a.EndedAt.IsZero() && s.clock.now().Sub(a.EndedAt) >= s.policy.ArtifactRetention:
		return fmt.Sprintf("Attempt %d ended too long ago: artifacts are kept for %s.", n, span(s.policy.ArtifactRetention)), nil
	}
	if failure != nil && failure.Class == hub.ClassArtifact { // it says which, and why
		return fmt.Sprintf("Attempt %d left no file that could be kept. %s", n, failure.Message), nil
	}
	note := fmt.Sprintf("Attempt %d left no file that the job's artifacts name: %s.", n, patterns(spec.Artifacts))
	if failure != nil {
		note += fmt.Sprintf(" It failed (%s): %s", failure.Class, strings.TrimRight(failure.Message, ". \n")) + "."
	}
	return note, nil
}

// patterns lists what a spec wants to be kept.
func patterns(all []topology.Artifact) string {
	var out []string
	for _, a := range all[:min(len(all), maxPatterns)] {
		out = append(out, clip(a.Path, 80))
	}
	if more := len(all) - maxPatterns; more > 0 {
		out = append(out, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(out, ", ")
}

// span is a duration as people say it: in days where it is some.
func span(d time.Duration) string {
	const day = 24 * time.Hour
	if d >= 2*day && d%day == 0 {
		return fmt.Sprintf("%d days", d/day)
	}
	return topology.Duration(d).String()
}
