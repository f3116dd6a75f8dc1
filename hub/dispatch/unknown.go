package dispatch

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/topology"
)

// This file says of a name that names nothing which one was probably meant.

// nearBy is how many of the newest jobs, and of an attempt's files, are looked at for what was meant.
const nearBy = 100

// unknownJob says that there is no such job, and which of the caller's newest ones was probably meant: by a name, an id without its
// prefix, or the beginning of one.
func (s *Service) unknownJob(ctx context.Context, c caller, id string) error {
	missing := hub.Errorf(hub.NotFound, "no job %q", clip(id, 80))
	switch {
	case isBatch(id):
		return missing.WithHint("that is a batch: wait_jobs takes its id, and list_jobs with batch_id shows its jobs")
	case strings.HasPrefix(id, hub.RunnerIDPrefix):
		return missing.WithHint("that is a runner: list_jobs with runner shows its jobs")
	}
	const general = "list_jobs shows the jobs that you may see"
	jobs, err := s.store.ListJobs(ctx, hub.JobFilter{Owners: c.owners(), Limit: nearBy})
	if err != nil || id == "" {
		return missing.WithHint(general)
	}
	begins := hub.JobIDPrefix + strings.TrimPrefix(id, hub.JobIDPrefix)
	var meant []string
	for _, q := range jobs {
		switch {
		case strings.EqualFold(q.Payload.Name, id):
			return missing.WithHint("the newest job of that name is %s; jobs go by their ids", q.Job.ID)
		case len(id) >= 8 && strings.HasPrefix(q.Job.ID, begins) && len(meant) < 3:
			meant = append(meant, q.Job.ID)
		}
	}
	if len(meant) == 0 {
		return missing.WithHint(general)
	}
	return missing.WithHint("did you mean %s?", strings.Join(meant, " or "))
}

// unknownFile is which of an attempt's files was probably meant by a path, as a hint; "" for none.
func (s *Service) unknownFile(ctx context.Context, jobID string, attempt int, file string) string {
	list, err := s.store.ListArtifacts(ctx, jobID, attempt, "", nearBy)
	if err != nil {
		return ""
	}
	var paths []string
	for _, a := range list {
		if path.Base(a.Path) == path.Base(file) || a.Name == file {
			return fmt.Sprintf("did you mean %s? ", a.Path)
		}
		paths = append(paths, a.Path)
	}
	if near := topology.Nearest(file, paths); near != "" {
		return fmt.Sprintf("did you mean %s? ", near)
	}
	return ""
}

// unknownSource says of a step or service that log lines are looked for of, and that the job's spec does not have, which there are;
// "" when it has it, or nobody can tell.
func (s *Service) unknownSource(ctx context.Context, jobID string, f lineFilter) string {
	if f.step == "" && f.service == "" {
		return ""
	}
	payload, err := s.store.GetPayload(ctx, jobID)
	if err != nil {
		return ""
	}
	spec, err := topology.Parse(payload.Spec)
	if err != nil {
		return "" // another release's
	}
	var steps []string
	for _, step := range spec.Steps {
		steps = append(steps, step.Name)
	}
	switch {
	case f.step != "" && !slices.Contains(steps, f.step):
		return absent("step", f.step, steps)
	case f.service != "" && len(spec.Compose.Files) == 0: // Compose files may have more, which the hub has not read
		if _, ok := spec.Services[f.service]; !ok {
			return absent("service", f.service, slices.Sorted(maps.Keys(spec.Services)))
		}
	}
	return ""
}

func absent(what, name string, known []string) string {
	out := fmt.Sprintf("The job has no %s %q", what, clip(name, 80))
	if len(known) == 0 {
		return out + ": it has none."
	}
	if near := topology.Nearest(name, known); near != "" {
		out += fmt.Sprintf("; did you mean %q", near)
		return out + fmt.Sprintf("? Its %ss are %s.", what, strings.Join(known, ", "))
	}
	return out + fmt.Sprintf(": its %ss are %s.", what, strings.Join(known, ", "))
}
