package enroll

import (
	"context"
	"strings"

	"github.com/runnerhub/runnerhub/hub"
)

// Entry is a runner and how it is doing.
type Entry struct {
	Runner    hub.Runner
	Workspace string // slug, of a workspace runner
	Status    hub.RunnerStatus
	Busy      int // live attempts
}

// ListRequest pages a roster by runner id.
type ListRequest struct {
	Workspace string // slug; "" lists the caller's own
	Revoked   bool   // the unpaired ones too
	AfterID   string
	Limit     int
}

// List pages the caller's own runners, or a workspace's that the caller is in.
func (s *Service) List(ctx context.Context, p hub.Principal, r ListRequest) ([]Entry, error) {
	owner, _, err := s.owner(ctx, p, r.Workspace, hub.RoleMember)
	if err != nil {
		return nil, err
	}
	runners, err := s.store.ListRunners(ctx, owner, r.Revoked, r.AfterID, r.Limit)
	if err != nil {
		return nil, err
	}
	live, err := s.store.CountLive(ctx, owner)
	if err != nil {
		return nil, err
	}
	now := s.now()
	out := make([]Entry, len(runners))
	for i, x := range runners {
		out[i] = Entry{Runner: x, Workspace: r.Workspace, Status: x.Status(now, live[x.ID], s.policy), Busy: live[x.ID]}
	}
	return out, nil
}

// Revoke ends a pairing by the runner's id or label, of the caller's own or, by an
// admin, of a workspace's runners. What is someone else's is NotFound.
func (s *Service) Revoke(ctx context.Context, p hub.Principal, workspace, idOrLabel string) (Entry, error) {
	owner, _, err := s.owner(ctx, p, workspace, hub.RoleAdmin)
	if err != nil {
		return Entry{}, err
	}
	unknown := hub.Errorf(hub.NotFound, "there is no runner %q here", idOrLabel).
		WithHint("list_runners shows your own, list_workspace_runners a workspace's")
	var r hub.Runner
	if strings.HasPrefix(idOrLabel, hub.RunnerIDPrefix) {
		r, err = s.store.GetRunner(ctx, idOrLabel)
		if hub.CodeOf(err) == hub.NotFound || (err == nil && r.Owner != owner) {
			return Entry{}, unknown
		}
	} else {
		var found []hub.Runner
		found, err = s.store.RunnersByLabel(ctx, []hub.Owner{owner}, idOrLabel)
		if err == nil && len(found) == 0 {
			return Entry{}, s.withLabels(ctx, owner, unknown)
		}
		if len(found) > 0 {
			r = found[0]
		}
	}
	if err != nil {
		return Entry{}, err
	}
	r, err = s.revoke(ctx, p, r)
	return Entry{Runner: r, Workspace: workspace, Status: hub.RunnerRevoked}, err
}

// withLabels adds the labels of an owner's runners to an error that says that there is none of some label.
func (s *Service) withLabels(ctx context.Context, owner hub.Owner, missing *hub.Error) error {
	runners, err := s.store.ListRunners(ctx, owner, false, "", 10)
	if err != nil || len(runners) == 0 {
		return missing
	}
	labels := make([]string, len(runners))
	for i, r := range runners {
		labels[i] = r.Label
	}
	return missing.WithHint("there are %s; %s", strings.Join(labels, ", "), missing.Hint)
}

// Unpair ends the calling runner's own pairing.
func (s *Service) Unpair(ctx context.Context, p hub.Principal) (hub.Runner, error) {
	return s.revoke(ctx, p, p.Runner)
}

func (s *Service) revoke(ctx context.Context, p hub.Principal, r hub.Runner) (hub.Runner, error) {
	e := s.event(p, hub.ActRunnerRevoked, r.Owner)
	e.RunnerID, e.Detail = r.ID, map[string]string{"label": r.Label}
	e.WorkspaceID, _ = r.Owner.Workspace()
	if p.Kind == hub.KindRunner {
		e.OnBehalfOf = string(r.Owner)
	}
	return s.store.RevokeRunner(ctx, r.ID, s.now(), e)
}
