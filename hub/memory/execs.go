package memory

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/runnerhub/runnerhub/hub"
)

// CreateExec implements hub.ExecStore.
func (s *Store) CreateExec(ctx context.Context, x hub.Exec, most int, e hub.Event) error {
	return s.write(ctx, func() error {
		if s.execs[x.ID] != nil {
			return taken()
		}
		if len(s.selectExecs(func(o hub.Exec) bool { return o.JobID == x.JobID && o.Open() })) >= most {
			return hub.OverExecs(most)
		}
		s.putExec(x, e)
		return nil
	})
}

// UpdateExec implements hub.ExecStore.
func (s *Store) UpdateExec(ctx context.Context, x hub.Exec, e hub.Event) error {
	return s.write(ctx, func() error {
		if old := s.execs[x.ID]; old == nil || old.Revision != x.Revision-1 {
			return hub.ErrConflict
		}
		s.putExec(x, e)
		return nil
	})
}

func (s *Store) putExec(x hub.Exec, e hub.Event) {
	c := copyExec(x)
	s.execs[x.ID] = &c
	if e.Action != "" {
		s.record(e)
	}
}

// GetExec implements hub.ExecStore.
func (s *Store) GetExec(ctx context.Context, id string) (x hub.Exec, err error) {
	err = s.read(ctx, func() error {
		found := s.execs[id]
		if found == nil {
			return missing("request")
		}
		x = copyExec(*found)
		return nil
	})
	return x, err
}

// OpenExecs implements hub.ExecStore.
func (s *Store) OpenExecs(ctx context.Context, jobID string) (out []hub.Exec, err error) {
	err = s.read(ctx, func() error {
		out = s.selectExecs(func(x hub.Exec) bool { return x.JobID == jobID && x.Open() })
		return nil
	})
	return out, err
}

// ExpiredExecs implements hub.ExecStore.
func (s *Store) ExpiredExecs(ctx context.Context, before time.Time, limit int) (out []hub.Exec, err error) {
	err = s.read(ctx, func() error {
		out = s.selectExecs(func(x hub.Exec) bool { return x.ExpiresAt.Before(before) })
		out = out[:min(len(out), limit)]
		return nil
	})
	return out, err
}

// DeleteExecs implements hub.ExecStore.
func (s *Store) DeleteExecs(ctx context.Context, ids []string) error {
	return s.write(ctx, func() error {
		for _, id := range ids {
			delete(s.execs, id)
		}
		return nil
	})
}

// selectExecs lists the requests that are wanted, the oldest first.
func (s *Store) selectExecs(wanted func(hub.Exec) bool) (out []hub.Exec) {
	for _, x := range s.execs {
		if wanted(*x) {
			out = append(out, copyExec(*x))
		}
	}
	slices.SortFunc(out, func(a, b hub.Exec) int { return strings.Compare(a.ID, b.ID) })
	return out
}

func copyExec(x hub.Exec) hub.Exec {
	x.Claim = bytes.Clone(x.Claim)
	x.Order.Command, x.Order.Env = slices.Clone(x.Order.Command), maps.Clone(x.Order.Env)
	x.CreatedAt, x.ExpiresAt, x.StopAt = stored(x.CreatedAt), stored(x.ExpiresAt), stored(x.StopAt)
	if x.End != nil {
		e := *x.End
		e.At = stored(e.At)
		if e.ExitCode != nil {
			code := *e.ExitCode
			e.ExitCode = &code
		}
		x.End = &e
	}
	return x
}
