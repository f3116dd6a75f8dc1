package dispatch

import (
	"context"
	"strings"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/topology"
)

// caller is a person and the workspaces that they belong to.
type caller struct {
	hub.Principal
	self    hub.Owner
	members []hub.Membership
}

// person reads who calls. Runners are refused: people's use cases are not theirs.
func (s *Service) person(ctx context.Context, p hub.Principal) (caller, error) {
	if p.Kind != hub.KindUser {
		return caller{}, hub.Errorf(hub.PermissionDenied, "this is for people and agents").
			WithHint("call it with an API key (ak_…)")
	}
	ms, err := s.store.Memberships(ctx, p.User.ID)
	if err != nil {
		return caller{}, err
	}
	return caller{Principal: p, self: hub.UserOwner(p.User.ID), members: ms}, nil
}

// owners lists whose jobs the caller may see.
func (c caller) owners() []hub.Owner { return append([]hub.Owner{c.self}, c.workspaceOwners()...) }

func (c caller) workspaceOwners() []hub.Owner {
	out := make([]hub.Owner, len(c.members))
	for i, m := range c.members {
		out[i] = hub.WorkspaceOwner(m.Workspace.ID)
	}
	return out
}

func (c caller) sees(o hub.Owner) bool {
	if o == c.self {
		return true
	}
	for _, m := range c.members {
		if o == hub.WorkspaceOwner(m.Workspace.ID) {
			return true
		}
	}
	return false
}

// workspace finds one of the caller's workspaces by slug, or the first one for "".
func (c caller) workspace(slug string) (hub.Workspace, error) {
	if slug == "" {
		if len(c.members) == 0 {
			return hub.Workspace{}, hub.Errorf(hub.InvalidArgument, "you belong to no workspace, and every job belongs to one").
				WithHint("ask an admin to add you: `runnerhub admin add-member`")
		}
		return c.members[0].Workspace, nil
	}
	for _, m := range c.members {
		if m.Workspace.Slug == slug {
			return m.Workspace, nil
		}
	}
	missing := hub.Errorf(hub.NotFound, "no workspace %q that you belong to", clip(slug, 80))
	if len(c.members) == 0 {
		return hub.Workspace{}, missing.WithHint("you belong to none: ask an admin to add you")
	}
	slugs := make([]string, len(c.members))
	for i, m := range c.members {
		slugs[i] = m.Workspace.Slug
	}
	if near := topology.Nearest(slug, slugs); near != "" {
		return hub.Workspace{}, missing.WithHint("did you mean %s? whoami lists your workspaces", near)
	}
	return hub.Workspace{}, missing.WithHint("yours are %s", strings.Join(slugs[:min(len(slugs), 10)], ", "))
}

// job reads a job that the caller may see. What belongs to someone else is not found.
func (s *Service) job(ctx context.Context, p hub.Principal, id string) (hub.Job, caller, error) {
	c, err := s.person(ctx, p)
	if err != nil {
		return hub.Job{}, c, err
	}
	if !printable(id) {
		return hub.Job{}, c, s.unknownJob(ctx, c, id)
	}
	j, err := s.store.GetJob(ctx, id)
	if hub.CodeOf(err) == hub.NotFound || (err == nil && !c.sees(j.Owner)) {
		return hub.Job{}, c, s.unknownJob(ctx, c, id)
	}
	return j, c, err
}

func noJob(id string) error {
	return hub.Errorf(hub.NotFound, "no job %q", clip(id, 80)).WithHint("list_jobs shows the jobs that you may see")
}

// printable says whether s could be an id: not every store can even look for other text.
func printable(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return s != ""
}

// clip cuts what a caller sent before it is repeated in a message.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
