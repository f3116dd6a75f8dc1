package postgres

import (
	"context"
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/runnerhub/runnerhub/hub"
)

// GetRunner implements hub.RunnerStore.
func (s *Store) GetRunner(ctx context.Context, id string) (hub.Runner, error) {
	return s.lookups.runners.one(ctx, id, "runner")
}

// RunnerByToken implements hub.RunnerStore.
func (s *Store) RunnerByToken(ctx context.Context, digest []byte) (hub.Runner, error) {
	return s.lookups.tokens.one(ctx, string(digest), "runner")
}

// ListRunners implements hub.RunnerStore.
func (s *Store) ListRunners(ctx context.Context, o hub.Owner, revoked bool, afterID string, limit int) ([]hub.Runner, error) {
	return collect(ctx, s, "list runners", scanRunner, listRunners, string(o), revoked, afterID, limit)
}

// RunnersByLabel implements hub.RunnerStore.
func (s *Store) RunnersByLabel(ctx context.Context, owners []hub.Owner, label string) ([]hub.Runner, error) {
	return collect(ctx, s, "find runners by label", scanRunner, selectRunnersByLabel, texts(owners), label)
}

// RevokeRunner implements hub.RunnerStore.
func (s *Store) RevokeRunner(ctx context.Context, id string, at time.Time, e hub.Event) (r hub.Runner, err error) {
	err = s.write(ctx, "revoke a runner", func(ctx context.Context) error {
		var b pgx.Batch
		b.Queue(revokeRunner, append(eventArgs(e), id, at)...)
		b.Queue(selectRunner, id).Query(func(rows pgx.Rows) error {
			r, err = pgx.CollectExactlyOneRow(rows, scanRunner)
			return err
		})
		return missing(s.pool.SendBatch(ctx, &b).Close(), "runner")
	})
	return r, err
}

// SavePolicy implements hub.RunnerStore.
func (s *Store) SavePolicy(ctx context.Context, id, policy string, e hub.Event) error {
	return s.write(ctx, "save a policy", func(ctx context.Context) error {
		var b pgx.Batch
		b.Queue(savePolicy, append(eventArgs(e), id, text(policy))...)
		b.Queue(selectRunner, id).Query(func(rows pgx.Rows) error {
			_, err := pgx.CollectExactlyOneRow(rows, scanRunner)
			return err
		})
		return missing(s.pool.SendBatch(ctx, &b).Close(), "runner")
	})
}

// SavePresence implements hub.RunnerStore.
func (s *Store) SavePresence(ctx context.Context, presence map[string]hub.Presence) error {
	if len(presence) == 0 {
		return nil
	}
	rows := make([]presenceJSON, 0, len(presence))
	for id, p := range presence {
		rows = append(rows, presenceRow(id, p))
	}
	list, err := json.Marshal(rows)
	if err != nil {
		return failure(ctx, "save presence", err)
	}
	return s.write(ctx, "save presence", func(ctx context.Context) error {
		_, err := s.pool.Exec(ctx, savePresence, list)
		return err
	})
}

func runnerArgs(r hub.Runner) []any {
	return []any{
		r.ID, string(r.Owner), text(r.Label), texts(r.Labels), r.TokenDigest, text(r.Hostname), r.PairedBy, stamp(r.PairedAt),
	}
}

func presenceArgs(p hub.Presence) []any {
	return []any{
		text(p.OS), text(p.Arch), text(p.Version), p.Protocol, texts(p.Capabilities), p.Slots, p.FreeSlots, p.Draining,
		text(p.StatusText), text(p.StatusLevel), stamp(p.SeenAt), stamp(p.LeftAt),
	}
}

// presenceJSON is one object of savePresence: arrays of arrays cannot be unnested by rows.
type presenceJSON struct {
	ID           string     `json:"id"`
	OS           string     `json:"os"`
	Arch         string     `json:"arch"`
	Version      string     `json:"version"`
	Protocol     int        `json:"protocol"`
	Capabilities []string   `json:"capabilities"`
	Slots        int        `json:"slots"`
	FreeSlots    int        `json:"free_slots"`
	Draining     bool       `json:"draining"`
	StatusText   string     `json:"status_text"`
	StatusLevel  string     `json:"status_level"`
	SeenAt       *time.Time `json:"seen_at"`
	LeftAt       *time.Time `json:"left_at"`
}

func presenceRow(id string, p hub.Presence) presenceJSON {
	row := presenceJSON{
		ID: text(id), OS: text(p.OS), Arch: text(p.Arch), Version: text(p.Version), Protocol: p.Protocol,
		Capabilities: texts(p.Capabilities), Slots: p.Slots, FreeSlots: p.FreeSlots, Draining: p.Draining,
		StatusText: text(p.StatusText), StatusLevel: text(p.StatusLevel),
	}
	row.SeenAt, row.LeftAt = orNoTime(p.SeenAt), orNoTime(p.LeftAt)
	return row
}

// orNoTime is a time as JSON has it, null for the zero one. The server would round what this cuts off.
func orNoTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = stored(t)
	return &t
}

func scanRunner(row pgx.CollectableRow) (hub.Runner, error) {
	var r hub.Runner
	var labels, capabilities []string
	p := &r.Presence
	err := row.Scan(&r.ID, (*string)(&r.Owner), &r.Label, &labels, &r.TokenDigest, &r.Hostname, &r.PairedBy,
		(*stamp)(&r.PairedAt), (*stamp)(&r.RevokedAt), &r.Policy,
		&p.OS, &p.Arch, &p.Version, &p.Protocol, &capabilities, &p.Slots, &p.FreeSlots, &p.Draining,
		&p.StatusText, &p.StatusLevel, (*stamp)(&p.SeenAt), (*stamp)(&p.LeftAt))
	r.Labels, p.Capabilities = orNil[string](labels), orNil[string](capabilities)
	return r, err
}

// one runs a query that changes nothing and takes its one row; what names it in NotFound.
func one[T any](ctx context.Context, s *Store, what string, scan pgx.RowToFunc[T], sql string, args ...any) (v T, err error) {
	err = s.read(ctx, "get a "+what, func(ctx context.Context) error {
		rows, err := s.pool.Query(ctx, sql, args...)
		if err != nil {
			return err
		}
		v, err = pgx.CollectExactlyOneRow(rows, scan)
		return missing(err, what)
	})
	return v, err
}
