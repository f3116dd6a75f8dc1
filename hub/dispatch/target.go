package dispatch

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"

	"github.com/runnerhub/runnerhub/hub"
)

// place is where a job goes and whose it is.
type place struct {
	owner    hub.Owner
	runnerID string // "" is the pool
	tenant   hub.Workspace
}

// place finds a target: the caller's own runners come before the workspaces'.
func (s *Service) place(ctx context.Context, c caller, target, workspace string) (place, error) {
	tenant, err := c.workspace(workspace)
	if err != nil {
		return place{}, err
	}
	switch target {
	case "", TargetSelf:
		return place{owner: c.self, tenant: tenant}, nil
	case TargetWorkspace:
		return place{owner: hub.WorkspaceOwner(tenant.ID), tenant: tenant}, nil
	}
	r, err := s.target(ctx, c, target, workspace)
	if err != nil {
		return place{}, err
	}
	if id, ok := r.Owner.Workspace(); ok {
		// A workspace's runner works for that workspace, which pays.
		for _, m := range c.members {
			if m.Workspace.ID == id {
				tenant = m.Workspace
			}
		}
	}
	return place{owner: r.Owner, runnerID: r.ID, tenant: tenant}, nil
}

// target finds a runner by id or label.
func (s *Service) target(ctx context.Context, c caller, target, workspace string) (hub.Runner, error) {
	if len(target) > 128 || !printable(target) {
		return hub.Runner{}, s.unknownTarget(ctx, c, target)
	}
	in := c.workspaceOwners()
	if workspace != "" {
		w, err := c.workspace(workspace)
		if err != nil {
			return hub.Runner{}, err
		}
		in = []hub.Owner{hub.WorkspaceOwner(w.ID)}
	}
	if strings.HasPrefix(target, hub.RunnerIDPrefix) {
		r, err := s.store.GetRunner(ctx, target)
		switch {
		case hub.CodeOf(err) == hub.NotFound || (err == nil && !c.sees(r.Owner)):
			return hub.Runner{}, s.unknownTarget(ctx, c, target)
		case err != nil:
			return hub.Runner{}, err
		case !r.RevokedAt.IsZero():
			return hub.Runner{}, hub.Errorf(hub.NotFound, "runner %s was unpaired", r.Label).
				WithHint("choose another target; list_runners shows yours")
		case r.Owner != c.self && !slices.Contains(in, r.Owner):
			return hub.Runner{}, hub.Errorf(hub.InvalidArgument, "runner %s does not belong to workspace %q", r.Label, workspace).
				WithHint("leave `workspace` out, or name the runner's own")
		}
		return r, nil
	}
	for _, owners := range [][]hub.Owner{{c.self}, in} {
		if len(owners) == 0 {
			continue
		}
		rs, err := s.store.RunnersByLabel(ctx, owners, target)
		if err != nil {
			return hub.Runner{}, err
		}
		switch len(rs) {
		case 0:
		case 1:
			return rs[0], nil
		default:
			ids := make([]string, len(rs))
			for i, r := range rs {
				ids[i] = r.ID
			}
			slices.Sort(ids)
			return hub.Runner{}, hub.Errorf(hub.InvalidArgument, "%d runners are labelled %q", len(rs), target).
				WithHint("name one by its id (%s), or the workspace", strings.Join(ids, ", ")).
				WithDetail("runner_ids", ids)
		}
	}
	return hub.Runner{}, s.unknownTarget(ctx, c, target)
}

// unknownTarget says that there is no such runner, and which labels come near.
func (s *Service) unknownTarget(ctx context.Context, c caller, target string) error {
	e := hub.Errorf(hub.NotFound, "no runner %q that you may target", clip(target, 80))
	for _, m := range c.members {
		if m.Workspace.Slug == target {
			return e.WithHint("%s is a workspace: for its runners send target workspace, and workspace %s", target, target)
		}
	}
	var labels []string
	for _, o := range c.owners() {
		rs, err := s.store.ListRunners(ctx, o, false, "", 100)
		if err != nil {
			return err
		}
		for _, r := range rs {
			labels = append(labels, r.Label)
		}
	}
	slices.Sort(labels)
	labels = slices.Compact(labels)
	if len(labels) == 0 {
		return e.WithHint("no runner is paired yet: `runnerctl pair`, or the tool pair_runner")
	}
	short := clip(target, 80)
	slices.SortStableFunc(labels, func(a, b string) int {
		return cmp.Compare(levenshtein.ComputeDistance(a, short), levenshtein.ComputeDistance(b, short))
	})
	labels = labels[:min(len(labels), 5)]
	return e.WithHint("the nearest labels are %s; self and workspace are targets too", strings.Join(labels, ", ")).
		WithDetail("nearest", labels)
}
