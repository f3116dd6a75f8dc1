package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/runnerhub/runnerhub/hub"
)

// Bootstrap implements hub.AccountStore.
func (s *Store) Bootstrap(ctx context.Context, u hub.User, w hub.Workspace, k hub.APIKey, e hub.Event) (created bool, err error) {
	args := append(append(append(eventArgs(e), userArgs(u)...), workspaceArgs(w)...), keyArgs(k)...)
	err = s.write(ctx, "create the first admin", func(ctx context.Context) error {
		var b pgx.Batch
		lock(&b, lockBootstrap, []string{""})
		b.Queue(bootstrap, args...).QueryRow(func(r pgx.Row) error { return r.Scan(&created) })
		return s.send(ctx, &b)
	})
	return created, err
}

// CreateUser implements hub.AccountStore.
func (s *Store) CreateUser(ctx context.Context, u hub.User, e hub.Event) error {
	return s.exec(ctx, "create a user", createUser, append(eventArgs(e), userArgs(u)...)...)
}

// CreateWorkspace implements hub.AccountStore.
func (s *Store) CreateWorkspace(ctx context.Context, w hub.Workspace, e hub.Event) error {
	return s.exec(ctx, "create a workspace", createWorkspace, append(eventArgs(e), workspaceArgs(w)...)...)
}

// PutMember implements hub.AccountStore.
func (s *Store) PutMember(ctx context.Context, m hub.Membership, e hub.Event) error {
	return s.exec(ctx, "put a member", putMember, append(eventArgs(e), m.Workspace.ID, m.UserID, string(m.Role))...)
}

// CreateKey implements hub.AccountStore.
func (s *Store) CreateKey(ctx context.Context, k hub.APIKey, e hub.Event) error {
	return s.exec(ctx, "create a key", createKey, append(eventArgs(e), keyArgs(k)...)...)
}

// RevokeKey implements hub.AccountStore.
func (s *Store) RevokeKey(ctx context.Context, id string, at time.Time, e hub.Event) error {
	return s.write(ctx, "revoke a key", func(ctx context.Context) error {
		var found bool
		err := s.pool.QueryRow(ctx, revokeKey, append(eventArgs(e), id, at)...).Scan(&found)
		if err == nil && !found {
			err = missing(pgx.ErrNoRows, "API key")
		}
		return err
	})
}

// UserByKey implements hub.AccountStore.
func (s *Store) UserByKey(ctx context.Context, digest []byte) (hub.User, hub.APIKey, error) {
	p, err := s.lookups.keys.one(ctx, string(digest), "API key")
	return p.user, p.key, err
}

// GetUser implements hub.AccountStore.
func (s *Store) GetUser(ctx context.Context, id string) (hub.User, error) {
	return one(ctx, s, "user", scanUser, selectUser, id)
}

// UserByLogin implements hub.AccountStore.
func (s *Store) UserByLogin(ctx context.Context, login string) (hub.User, error) {
	return one(ctx, s, "user", scanUser, selectUserByLogin, login)
}

// GetWorkspace implements hub.AccountStore.
func (s *Store) GetWorkspace(ctx context.Context, id string) (hub.Workspace, error) {
	return s.lookups.workspaces.one(ctx, id, "workspace")
}

// WorkspaceBySlug implements hub.AccountStore.
func (s *Store) WorkspaceBySlug(ctx context.Context, slug string) (hub.Workspace, error) {
	return one(ctx, s, "workspace", scanWorkspace, selectWorkspaceBySlug, slug)
}

// Memberships implements hub.AccountStore.
func (s *Store) Memberships(ctx context.Context, userID string) ([]hub.Membership, error) {
	return s.lookups.memberships.get(ctx, userID)
}

// exec runs one statement that writes, guarded by nothing but constraints.
func (s *Store) exec(ctx context.Context, doing, sql string, args ...any) error {
	return s.write(ctx, doing, func(ctx context.Context) error {
		_, err := s.pool.Exec(ctx, sql, args...)
		return err
	})
}

func userArgs(u hub.User) []any { return []any{u.ID, text(u.Login), u.Admin, stamp(u.CreatedAt)} }

func workspaceArgs(w hub.Workspace) []any { return []any{w.ID, text(w.Slug), stamp(w.CreatedAt)} }

func keyArgs(k hub.APIKey) []any {
	return []any{k.ID, k.UserID, text(k.Name), k.Digest, stamp(k.CreatedAt), stamp(k.ExpiresAt), stamp(k.RevokedAt),
		k.Scope.ReadOnly, text(k.Scope.Toolsets)}
}

func scanUser(row pgx.CollectableRow) (u hub.User, err error) {
	err = row.Scan(&u.ID, &u.Login, &u.Admin, (*stamp)(&u.CreatedAt))
	return u, err
}

// userKey is an API key and whose it is.
type userKey struct {
	user hub.User
	key  hub.APIKey
}

func scanUserKey(row pgx.CollectableRow) (p userKey, err error) {
	u, k := &p.user, &p.key
	err = row.Scan(&u.ID, &u.Login, &u.Admin, (*stamp)(&u.CreatedAt), &k.ID, &k.UserID, &k.Name, &k.Digest,
		(*stamp)(&k.CreatedAt), (*stamp)(&k.ExpiresAt), (*stamp)(&k.RevokedAt), &k.Scope.ReadOnly, &k.Scope.Toolsets)
	return p, err
}

func scanMembership(row pgx.CollectableRow) (m hub.Membership, err error) {
	w := &m.Workspace
	err = row.Scan(&w.ID, &w.Slug, (*stamp)(&w.CreatedAt), &m.UserID, (*string)(&m.Role))
	return m, err
}

func scanWorkspace(row pgx.CollectableRow) (w hub.Workspace, err error) {
	err = row.Scan(&w.ID, &w.Slug, (*stamp)(&w.CreatedAt))
	return w, err
}
