package sqlite

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/runnerhub/runnerhub/hub"
)

const (
	selectRunner = `SELECT r.id, r.owner, r.label, r.labels, r.token_digest, r.hostname, r.paired_by, r.paired_at, r.revoked_at, r.policy,
			coalesce(p.os, ''), coalesce(p.arch, ''), coalesce(p.version, ''), coalesce(p.protocol, 0), p.capabilities,
			coalesce(p.slots, 0), coalesce(p.free_slots, 0), coalesce(p.draining, 0),
			coalesce(p.status_text, ''), coalesce(p.status_level, ''), p.seen_at, p.left_at
		FROM runners r LEFT JOIN runner_presence p ON p.runner_id = r.id `
	runnerByID     = selectRunner + `WHERE r.id = ?`
	runnerByToken  = selectRunner + `WHERE r.token_digest = ?`
	listRunners    = selectRunner + `WHERE r.owner = ? AND r.id > ? AND (? OR r.revoked_at IS NULL) ORDER BY r.id LIMIT ?`
	runnersByLabel = selectRunner + `WHERE r.owner IN (SELECT value FROM json_each(?)) AND r.label = ? AND r.revoked_at IS NULL ORDER BY r.id`
	revokeRunner   = `UPDATE runners SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL`
	savePolicy     = `UPDATE runners SET policy = ? WHERE id = ? AND policy <> ?`
	insertRunner   = `INSERT INTO runners (id, owner, label, labels, token_digest, hostname, paired_by, paired_at, revoked_at, policy)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	// Leaves what another hub has heard since, and makes no row for a runner that there is not.
	upsertPresence = `INSERT INTO runner_presence
			(runner_id, os, arch, version, protocol, capabilities, slots, free_slots, draining, status_text, status_level, seen_at, left_at)
		SELECT id, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ? FROM runners WHERE id = ?
		ON CONFLICT (runner_id) DO UPDATE SET
			os = excluded.os, arch = excluded.arch, version = excluded.version, protocol = excluded.protocol,
			capabilities = excluded.capabilities, slots = excluded.slots, free_slots = excluded.free_slots,
			draining = excluded.draining, status_text = excluded.status_text, status_level = excluded.status_level,
			seen_at = excluded.seen_at, left_at = excluded.left_at
		WHERE runner_presence.seen_at IS NULL OR excluded.seen_at >= runner_presence.seen_at`
)

// GetRunner implements hub.RunnerStore.
func (s *Store) GetRunner(ctx context.Context, id string) (hub.Runner, error) {
	return s.runner(ctx, runnerByID, id)
}

// RunnerByToken implements hub.RunnerStore.
func (s *Store) RunnerByToken(ctx context.Context, digest []byte) (hub.Runner, error) {
	return s.runner(ctx, runnerByToken, orNull(digest))
}

func (s *Store) runner(ctx context.Context, query string, key any) (r hub.Runner, err error) {
	err = s.readRow(ctx, "read a runner", "runner", query, []any{key}, func(row rowScanner) (err error) {
		r, err = scanRunner(row)
		return err
	})
	return r, err
}

// ListRunners implements hub.RunnerStore.
func (s *Store) ListRunners(ctx context.Context, o hub.Owner, revoked bool, afterID string, limit int) ([]hub.Runner, error) {
	return readAll(ctx, s, "list runners", listRunners, []any{string(o), afterID, revoked, limit}, scanRunner)
}

// RunnersByLabel implements hub.RunnerStore.
func (s *Store) RunnersByLabel(ctx context.Context, owners []hub.Owner, label string) ([]hub.Runner, error) {
	return readAll(ctx, s, "find runners", runnersByLabel, []any{list(owners), label}, scanRunner)
}

// RevokeRunner implements hub.RunnerStore.
func (s *Store) RevokeRunner(ctx context.Context, id string, at time.Time, e hub.Event) (r hub.Runner, err error) {
	err = s.write(ctx, "revoke a runner", func(t *tx) error {
		n, err := t.exec(revokeRunner, stamp(at), id)
		if err == nil && n > 0 {
			err = t.event(e)
		}
		if err != nil {
			return err
		}
		r, err = scanRunner(t.row(runnerByID, id))
		return missing(err, "runner")
	})
	return r, err
}

// SavePolicy implements hub.RunnerStore.
func (s *Store) SavePolicy(ctx context.Context, id, policy string, e hub.Event) error {
	return s.write(ctx, "save a policy", func(t *tx) error {
		n, err := t.exec(savePolicy, policy, id, policy)
		if err != nil {
			return err
		}
		if n > 0 {
			return t.event(e)
		}
		_, err = scanRunner(t.row(runnerByID, id))
		return missing(err, "runner")
	})
}

// SavePresence implements hub.RunnerStore.
func (s *Store) SavePresence(ctx context.Context, p map[string]hub.Presence) error {
	if len(p) == 0 {
		return nil
	}
	return s.write(ctx, "save presence", func(t *tx) error {
		for _, id := range slices.Sorted(maps.Keys(p)) {
			if err := t.presence(id, p[id]); err != nil {
				return err
			}
		}
		return nil
	})
}

func (t *tx) presence(id string, p hub.Presence) error {
	_, err := t.exec(upsertPresence, p.OS, p.Arch, p.Version, p.Protocol, list(p.Capabilities), p.Slots, p.FreeSlots, p.Draining,
		p.StatusText, p.StatusLevel, stamp(p.SeenAt), stamp(p.LeftAt), id)
	return err
}

func (t *tx) insertRunner(r hub.Runner) error {
	if _, err := t.exec(insertRunner, r.ID, string(r.Owner), r.Label, list(r.Labels), orEmpty(r.TokenDigest), r.Hostname,
		r.PairedBy, stamp(r.PairedAt), stamp(r.RevokedAt), r.Policy); err != nil {
		return err
	}
	return t.presence(r.ID, r.Presence)
}

func scanRunner(row rowScanner) (r hub.Runner, err error) {
	p := &r.Presence
	err = row.Scan(&r.ID, &r.Owner, &r.Label, words(&r.Labels), &r.TokenDigest, &r.Hostname, &r.PairedBy, at(&r.PairedAt), at(&r.RevokedAt), &r.Policy,
		&p.OS, &p.Arch, &p.Version, &p.Protocol, words(&p.Capabilities),
		&p.Slots, &p.FreeSlots, &p.Draining, &p.StatusText, &p.StatusLevel, at(&p.SeenAt), at(&p.LeftAt))
	return r, err
}
