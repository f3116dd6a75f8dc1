package sqlite

import (
	"context"
	"time"

	"github.com/runnerhub/runnerhub/hub"
)

const (
	hasUsers        = `SELECT EXISTS (SELECT 1 FROM users)`
	insertUser      = `INSERT INTO users (id, login, admin, created_at) VALUES (?, ?, ?, ?)`
	insertWorkspace = `INSERT INTO workspaces (id, slug, created_at) VALUES (?, ?, ?)`
	upsertMember    = `INSERT INTO members (workspace_id, user_id, role) VALUES (?, ?, ?)
		ON CONFLICT (user_id, workspace_id) DO UPDATE SET role = excluded.role`
	insertAPIKey = `INSERT INTO api_keys (id, user_id, name, digest, created_at, expires_at, revoked_at, read_only, toolsets)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`
	revokeAPIKey = `UPDATE api_keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL`
	hasAPIKey    = `SELECT 1 FROM api_keys WHERE id = ?`

	userByID    = `SELECT id, login, admin, created_at FROM users WHERE id = ?`
	userByLogin = `SELECT id, login, admin, created_at FROM users WHERE login = ?`
	userByKey   = `SELECT u.id, u.login, u.admin, u.created_at, k.id, k.user_id, k.name, k.digest, k.created_at, k.expires_at, k.revoked_at,
			k.read_only, k.toolsets
		FROM api_keys k JOIN users u ON u.id = k.user_id WHERE k.digest = ?`
	workspaceByID   = `SELECT id, slug, created_at FROM workspaces WHERE id = ?`
	workspaceBySlug = `SELECT id, slug, created_at FROM workspaces WHERE slug = ?`
	memberships     = `SELECT w.id, w.slug, w.created_at, m.user_id, m.role
		FROM members m JOIN workspaces w ON w.id = m.workspace_id WHERE m.user_id = ? ORDER BY m.seq`
)

// Bootstrap implements hub.AccountStore.
func (s *Store) Bootstrap(ctx context.Context, u hub.User, w hub.Workspace, k hub.APIKey, e hub.Event) (created bool, err error) {
	err = s.write(ctx, "bootstrap", func(t *tx) error {
		var users bool
		err := t.row(hasUsers).Scan(&users)
		created = err == nil && !users
		if !created {
			return err
		}
		return firstError(
			func() error { return t.insertUser(u) },
			func() error { return t.insertWorkspace(w) },
			func() error { return t.member(hub.Membership{Workspace: w, UserID: u.ID, Role: hub.RoleAdmin}) },
			func() error { return t.insertKey(k) },
			func() error { return t.event(e) },
		)
	})
	return created && err == nil, err
}

func firstError(steps ...func() error) error {
	for _, f := range steps {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) insertUser(u hub.User) error {
	_, err := t.exec(insertUser, u.ID, u.Login, u.Admin, stamp(u.CreatedAt))
	return err
}

func (t *tx) insertWorkspace(w hub.Workspace) error {
	_, err := t.exec(insertWorkspace, w.ID, w.Slug, stamp(w.CreatedAt))
	return err
}

func (t *tx) member(m hub.Membership) error {
	_, err := t.exec(upsertMember, m.Workspace.ID, m.UserID, string(m.Role))
	return err
}

func (t *tx) insertKey(k hub.APIKey) error {
	_, err := t.exec(insertAPIKey, k.ID, k.UserID, k.Name, orEmpty(k.Digest), stamp(k.CreatedAt), stamp(k.ExpiresAt), stamp(k.RevokedAt),
		k.Scope.ReadOnly, k.Scope.Toolsets)
	return err
}

// recorded writes something and its event.
func (s *Store) recorded(ctx context.Context, doing string, e hub.Event, f func(t *tx) error) error {
	return s.write(ctx, doing, func(t *tx) error {
		if err := f(t); err != nil {
			return err
		}
		return t.event(e)
	})
}

// CreateUser implements hub.AccountStore.
func (s *Store) CreateUser(ctx context.Context, u hub.User, e hub.Event) error {
	return s.recorded(ctx, "create a user", e, func(t *tx) error { return t.insertUser(u) })
}

// CreateWorkspace implements hub.AccountStore.
func (s *Store) CreateWorkspace(ctx context.Context, w hub.Workspace, e hub.Event) error {
	return s.recorded(ctx, "create a workspace", e, func(t *tx) error { return t.insertWorkspace(w) })
}

// PutMember implements hub.AccountStore.
func (s *Store) PutMember(ctx context.Context, m hub.Membership, e hub.Event) error {
	return s.recorded(ctx, "add a member", e, func(t *tx) error { return t.member(m) })
}

// CreateKey implements hub.AccountStore.
func (s *Store) CreateKey(ctx context.Context, k hub.APIKey, e hub.Event) error {
	return s.recorded(ctx, "create an API key", e, func(t *tx) error { return t.insertKey(k) })
}

// RevokeKey implements hub.AccountStore.
func (s *Store) RevokeKey(ctx context.Context, id string, at time.Time, e hub.Event) error {
	return s.write(ctx, "revoke an API key", func(t *tx) error {
		n, err := t.exec(revokeAPIKey, stamp(at), id)
		if err != nil {
			return err
		}
		if n > 0 {
			return t.event(e)
		}
		return missing(t.row(hasAPIKey, id).Scan(&n), "API key")
	})
}

// UserByKey implements hub.AccountStore.
func (s *Store) UserByKey(ctx context.Context, digest []byte) (u hub.User, k hub.APIKey, err error) {
	err = s.read(ctx, "read an API key", "API key", userByKey, []any{orNull(digest)},
		&u.ID, &u.Login, &u.Admin, at(&u.CreatedAt),
		&k.ID, &k.UserID, &k.Name, &k.Digest, at(&k.CreatedAt), at(&k.ExpiresAt), at(&k.RevokedAt), &k.Scope.ReadOnly, &k.Scope.Toolsets)
	return u, k, err
}

// GetUser implements hub.AccountStore.
func (s *Store) GetUser(ctx context.Context, id string) (hub.User, error) {
	return s.user(ctx, userByID, id)
}

// UserByLogin implements hub.AccountStore.
func (s *Store) UserByLogin(ctx context.Context, login string) (hub.User, error) {
	return s.user(ctx, userByLogin, login)
}

func (s *Store) user(ctx context.Context, query, key string) (u hub.User, err error) {
	err = s.read(ctx, "read a user", "user", query, []any{key}, &u.ID, &u.Login, &u.Admin, at(&u.CreatedAt))
	return u, err
}

// GetWorkspace implements hub.AccountStore.
func (s *Store) GetWorkspace(ctx context.Context, id string) (hub.Workspace, error) {
	return s.workspace(ctx, workspaceByID, id)
}

// WorkspaceBySlug implements hub.AccountStore.
func (s *Store) WorkspaceBySlug(ctx context.Context, slug string) (hub.Workspace, error) {
	return s.workspace(ctx, workspaceBySlug, slug)
}

func (s *Store) workspace(ctx context.Context, query, key string) (w hub.Workspace, err error) {
	err = s.read(ctx, "read a workspace", "workspace", query, []any{key}, &w.ID, &w.Slug, at(&w.CreatedAt))
	return w, err
}

// Memberships implements hub.AccountStore.
func (s *Store) Memberships(ctx context.Context, userID string) ([]hub.Membership, error) {
	return readAll(ctx, s, "list memberships", memberships, []any{userID}, func(r rowScanner) (m hub.Membership, err error) {
		err = r.Scan(&m.Workspace.ID, &m.Workspace.Slug, at(&m.Workspace.CreatedAt), &m.UserID, &m.Role)
		return m, err
	})
}
