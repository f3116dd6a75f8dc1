package memory

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/runnerhub/runnerhub/hub"
)

// Bootstrap implements hub.AccountStore.
func (s *Store) Bootstrap(ctx context.Context, u hub.User, w hub.Workspace, k hub.APIKey, e hub.Event) (created bool, err error) {
	err = s.write(ctx, func() error {
		if len(s.users) > 0 {
			return nil
		}
		created = true
		s.addUser(u)
		s.addWorkspace(w)
		s.putMember(hub.Membership{Workspace: w, UserID: u.ID, Role: hub.RoleAdmin})
		s.addKey(k)
		s.record(e)
		return nil
	})
	return created, err
}

// CreateUser implements hub.AccountStore.
func (s *Store) CreateUser(ctx context.Context, u hub.User, e hub.Event) error {
	return s.write(ctx, func() error {
		if _, ok := s.logins[u.Login]; ok {
			return hub.Errorf(hub.Conflict, "the login is taken").WithHint("choose another login")
		}
		if _, ok := s.users[u.ID]; ok {
			return taken()
		}
		s.addUser(u)
		s.record(e)
		return nil
	})
}

func (s *Store) addUser(u hub.User) {
	u.CreatedAt = stored(u.CreatedAt)
	s.users[u.ID], s.logins[u.Login] = u, u.ID
}

// CreateWorkspace implements hub.AccountStore.
func (s *Store) CreateWorkspace(ctx context.Context, w hub.Workspace, e hub.Event) error {
	return s.write(ctx, func() error {
		if _, ok := s.slugs[w.Slug]; ok {
			return hub.Errorf(hub.Conflict, "the slug is taken").WithHint("choose another slug")
		}
		if _, ok := s.workspaces[w.ID]; ok {
			return taken()
		}
		s.addWorkspace(w)
		s.record(e)
		return nil
	})
}

func (s *Store) addWorkspace(w hub.Workspace) {
	w.CreatedAt = stored(w.CreatedAt)
	s.workspaces[w.ID], s.slugs[w.Slug] = w, w.ID
}

// PutMember implements hub.AccountStore.
func (s *Store) PutMember(ctx context.Context, m hub.Membership, e hub.Event) error {
	return s.write(ctx, func() error {
		_, user := s.users[m.UserID]
		_, workspace := s.workspaces[m.Workspace.ID]
		if !user || !workspace {
			return missing("user or workspace")
		}
		if m.Role != hub.RoleMember && m.Role != hub.RoleAdmin {
			return errors.New("memory: there is no such role")
		}
		s.putMember(m)
		s.record(e)
		return nil
	})
}

// putMember keeps the place of a membership whose role changes.
func (s *Store) putMember(m hub.Membership) {
	of := s.members[m.UserID]
	i := slices.IndexFunc(of, func(n hub.Membership) bool { return n.Workspace.ID == m.Workspace.ID })
	if i >= 0 {
		of[i].Role = m.Role
		return
	}
	m.Workspace = s.workspaces[m.Workspace.ID]
	s.members[m.UserID] = append(of, m)
}

// Memberships implements hub.AccountStore.
func (s *Store) Memberships(ctx context.Context, userID string) (out []hub.Membership, err error) {
	err = s.read(ctx, func() error {
		out = slices.Clone(s.members[userID])
		return nil
	})
	return out, err
}

// CreateKey implements hub.AccountStore.
func (s *Store) CreateKey(ctx context.Context, k hub.APIKey, e hub.Event) error {
	return s.write(ctx, func() error {
		if _, ok := s.users[k.UserID]; !ok {
			return missing("user")
		}
		if s.apiKeys[k.ID] != nil || s.keyDigests[string(k.Digest)] != nil {
			return taken()
		}
		s.addKey(k)
		s.record(e)
		return nil
	})
}

func (s *Store) addKey(k hub.APIKey) {
	k = copyKey(k)
	k.CreatedAt, k.ExpiresAt, k.RevokedAt = stored(k.CreatedAt), stored(k.ExpiresAt), stored(k.RevokedAt)
	s.apiKeys[k.ID], s.keyDigests[string(k.Digest)] = &k, &k
}

// RevokeKey implements hub.AccountStore.
func (s *Store) RevokeKey(ctx context.Context, id string, at time.Time, e hub.Event) error {
	return s.write(ctx, func() error {
		k := s.apiKeys[id]
		if k == nil {
			return missing("API key")
		}
		if k.RevokedAt.IsZero() {
			k.RevokedAt = stored(at)
			s.record(e)
		}
		return nil
	})
}

// UserByKey implements hub.AccountStore.
func (s *Store) UserByKey(ctx context.Context, digest []byte) (u hub.User, k hub.APIKey, err error) {
	err = s.read(ctx, func() error {
		found := s.keyDigests[string(digest)]
		if found == nil {
			return missing("API key")
		}
		u, k = s.users[found.UserID], copyKey(*found)
		return nil
	})
	return u, k, err
}

// GetUser implements hub.AccountStore.
func (s *Store) GetUser(ctx context.Context, id string) (hub.User, error) {
	return one(ctx, s, "user", s.users, func() string { return id })
}

// UserByLogin implements hub.AccountStore.
func (s *Store) UserByLogin(ctx context.Context, login string) (hub.User, error) {
	return one(ctx, s, "user", s.users, func() string { return s.logins[login] })
}

// GetWorkspace implements hub.AccountStore.
func (s *Store) GetWorkspace(ctx context.Context, id string) (hub.Workspace, error) {
	return one(ctx, s, "workspace", s.workspaces, func() string { return id })
}

// WorkspaceBySlug implements hub.AccountStore.
func (s *Store) WorkspaceBySlug(ctx context.Context, slug string) (hub.Workspace, error) {
	return one(ctx, s, "workspace", s.workspaces, func() string { return s.slugs[slug] })
}

// one reads the value of an id, which is found under the lock.
func one[T any](ctx context.Context, s *Store, what string, from map[string]T, id func() string) (out T, err error) {
	err = s.read(ctx, func() error {
		v, ok := from[id()]
		if !ok {
			return missing(what)
		}
		out = v
		return nil
	})
	return out, err
}
