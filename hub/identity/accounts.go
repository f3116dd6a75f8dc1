package identity

import (
	"context"
	"time"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/pairing"
)

// The first admin and workspace of an empty store.
const (
	FirstLogin     = "admin"
	FirstWorkspace = "default"
)

// Bootstrap gives an empty store its first admin, with the API key given, and its first
// workspace. created is false when the store has users already.
func (s *Service) Bootstrap(ctx context.Context, key string) (created bool, err error) {
	now := s.now()
	u := hub.User{ID: NewID(hub.UserIDPrefix), Login: FirstLogin, Admin: true, CreatedAt: now}
	w := hub.Workspace{ID: NewID(hub.WorkspaceIDPrefix), Slug: FirstWorkspace, CreatedAt: now}
	k := s.keyRow(key, u.ID, "bootstrap", time.Time{})
	return s.store.Bootstrap(ctx, u, w, k, s.event(hub.ActHubBootstrapped, map[string]string{"login": u.Login, "workspace": w.Slug}))
}

// CreateUser adds a person. Conflict when the login is taken.
func (s *Service) CreateUser(ctx context.Context, login string, admin bool) (hub.User, error) {
	if err := hub.CheckSlug("login", login); err != nil {
		return hub.User{}, err
	}
	u := hub.User{ID: NewID(hub.UserIDPrefix), Login: login, Admin: admin, CreatedAt: s.now()}
	return u, s.store.CreateUser(ctx, u, s.event(hub.ActUserCreated, map[string]string{"login": login}))
}

// CreateWorkspace adds a workspace. Conflict when the slug is taken.
func (s *Service) CreateWorkspace(ctx context.Context, slug string) (hub.Workspace, error) {
	if err := hub.CheckSlug("workspace slug", slug); err != nil {
		return hub.Workspace{}, err
	}
	w := hub.Workspace{ID: NewID(hub.WorkspaceIDPrefix), Slug: slug, CreatedAt: s.now()}
	e := s.event(hub.ActWorkspaceCreated, map[string]string{"slug": slug})
	e.WorkspaceID = w.ID
	return w, s.store.CreateWorkspace(ctx, w, e)
}

// AddMember puts a user into a workspace, or changes the role of one who is in it.
func (s *Service) AddMember(ctx context.Context, slug, login string, role hub.Role) error {
	if role != hub.RoleMember && role != hub.RoleAdmin {
		return hub.Errorf(hub.InvalidArgument, "there is no role %q", role).WithHint("roles are member and admin")
	}
	w, err := s.store.WorkspaceBySlug(ctx, slug)
	if hub.CodeOf(err) == hub.NotFound {
		return hub.Errorf(hub.NotFound, "there is no workspace %q", slug).WithHint("add it with `runnerhub admin create-workspace %s`", slug)
	}
	if err != nil {
		return err
	}
	u, err := s.user(ctx, login)
	if err != nil {
		return err
	}
	e := s.event(hub.ActMemberAdded, map[string]string{"login": login, "role": string(role)})
	e.WorkspaceID = w.ID
	return s.store.PutMember(ctx, hub.Membership{Workspace: w, UserID: u.ID, Role: role}, e)
}

// CreateKey makes an API key for a user and returns it: the only time that it is
// known. ttl 0 never expires. The scope must be readable to package api.
func (s *Service) CreateKey(ctx context.Context, login, name string, ttl time.Duration, scope hub.KeyScope) (string, hub.APIKey, error) {
	if ttl < 0 {
		return "", hub.APIKey{}, hub.Errorf(hub.InvalidArgument, "a key cannot expire before it is made").WithHint("give a positive --expires, such as 720h")
	}
	u, err := s.user(ctx, login)
	if err != nil {
		return "", hub.APIKey{}, err
	}
	var expires time.Time
	if ttl > 0 {
		expires = s.now().Add(ttl)
	}
	key := pairing.New(pairing.APIKey)
	k := s.keyRow(key, u.ID, name, expires)
	k.Scope = scope
	detail := map[string]string{"login": login, "key": k.ID, "name": name}
	if scope.ReadOnly {
		detail["read_only"] = "true"
	}
	if scope.Toolsets != "" {
		detail["toolsets"] = scope.Toolsets
	}
	e := s.event(hub.ActKeyCreated, detail)
	if err := s.store.CreateKey(ctx, k, e); err != nil {
		return "", hub.APIKey{}, err
	}
	return key, k, nil
}

func (s *Service) user(ctx context.Context, login string) (hub.User, error) {
	u, err := s.store.UserByLogin(ctx, login)
	if hub.CodeOf(err) == hub.NotFound {
		return u, hub.Errorf(hub.NotFound, "there is no user %q", login).WithHint("add them with `runnerhub admin create-user %s`", login)
	}
	return u, err
}

// RevokeKey ends an API key by its id; it is dead at the next call.
func (s *Service) RevokeKey(ctx context.Context, id string) error {
	return s.store.RevokeKey(ctx, id, s.now(), s.event(hub.ActKeyRevoked, map[string]string{"key": id}))
}

// Memberships lists the caller's workspaces, the oldest membership first.
func (s *Service) Memberships(ctx context.Context, p hub.Principal) ([]hub.Membership, error) {
	return s.store.Memberships(ctx, p.User.ID)
}

// keyRow is what is stored of a key: its digest, and never the key.
func (s *Service) keyRow(key, userID, name string, expires time.Time) hub.APIKey {
	return hub.APIKey{
		ID: NewID(hub.KeyIDPrefix), UserID: userID, Name: name, Digest: hub.Digest(key),
		CreatedAt: s.now(), ExpiresAt: expires,
	}
}

// event tells of what an operator does on the hub's own machine, so its actor is the system.
func (s *Service) event(a hub.Action, detail map[string]string) hub.Event {
	return hub.Event{Time: s.now(), Actor: string(hub.KindSystem), Action: a, Detail: detail}
}
