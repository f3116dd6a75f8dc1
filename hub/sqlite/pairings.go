package sqlite

import (
	"context"
	"time"

	"github.com/runnerhub/runnerhub/hub"
)

const (
	pairingColumns = `id, state, code_digest, token_digest, public_key, owner, workspace, hostname, os, arch, version, address,
		label, labels, approved_by, runner_id, created_at, expires_at`
	insertPairing = `INSERT INTO pairings (` + pairingColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	// Not its credentials and times, which never change.
	updatePairing = `UPDATE pairings SET state = ?, public_key = ?, owner = ?, workspace = ?, hostname = ?, os = ?, arch = ?,
			version = ?, address = ?, label = ?, labels = ?, approved_by = ?, runner_id = ?
		WHERE id = ? AND state = ?`
	pairingByID    = `SELECT ` + pairingColumns + ` FROM pairings WHERE id = ?`
	pairingByCode  = `SELECT ` + pairingColumns + ` FROM pairings WHERE code_digest = ?`
	pairingByToken = `SELECT ` + pairingColumns + ` FROM pairings WHERE token_digest = ?`
	deletePairings = `DELETE FROM pairings WHERE expires_at < ?`
)

// CreatePairing implements hub.PairingStore.
func (s *Store) CreatePairing(ctx context.Context, p hub.Pairing, e hub.Event) error {
	return s.recorded(ctx, "create a pairing", e, func(t *tx) error {
		_, err := t.exec(insertPairing, p.ID, string(p.State), orNull(p.CodeDigest), orNull(p.TokenDigest), orNull(p.PublicKey),
			string(p.Owner), p.Workspace, p.Hostname, p.OS, p.Arch, p.Version, p.Address, p.Label, list(p.Labels), p.ApprovedBy, p.RunnerID,
			stamp(p.CreatedAt), stamp(p.ExpiresAt))
		return err
	})
}

// GetPairing implements hub.PairingStore.
func (s *Store) GetPairing(ctx context.Context, id string) (hub.Pairing, error) {
	return s.pairing(ctx, pairingByID, id)
}

// PairingByCode implements hub.PairingStore.
func (s *Store) PairingByCode(ctx context.Context, digest []byte) (hub.Pairing, error) {
	return s.pairing(ctx, pairingByCode, orNull(digest))
}

// PairingByToken implements hub.PairingStore.
func (s *Store) PairingByToken(ctx context.Context, digest []byte) (hub.Pairing, error) {
	return s.pairing(ctx, pairingByToken, orNull(digest))
}

func (s *Store) pairing(ctx context.Context, query string, key any) (p hub.Pairing, err error) {
	err = s.read(ctx, "read a pairing", "pairing", query, []any{key},
		&p.ID, &p.State, &p.CodeDigest, &p.TokenDigest, &p.PublicKey, &p.Owner, &p.Workspace, &p.Hostname, &p.OS, &p.Arch, &p.Version,
		&p.Address, &p.Label, words(&p.Labels), &p.ApprovedBy, &p.RunnerID, at(&p.CreatedAt), at(&p.ExpiresAt))
	return p, err
}

// DecidePairing implements hub.PairingStore.
func (s *Store) DecidePairing(ctx context.Context, p hub.Pairing, e hub.Event) error {
	return s.recorded(ctx, "decide on a pairing", e, func(t *tx) error { return t.pairing(p, hub.PairingPending) })
}

// RedeemPairing implements hub.PairingStore.
func (s *Store) RedeemPairing(ctx context.Context, p hub.Pairing, r hub.Runner, e hub.Event) error {
	return s.recorded(ctx, "redeem a pairing", e, func(t *tx) error {
		if err := t.pairing(p, hub.PairingApproved); err != nil {
			return err
		}
		return t.insertRunner(r)
	})
}

// pairing writes p where its state is still another one.
func (t *tx) pairing(p hub.Pairing, guard hub.PairingState) error {
	return t.one(updatePairing, string(p.State), orNull(p.PublicKey), string(p.Owner), p.Workspace, p.Hostname, p.OS, p.Arch,
		p.Version, p.Address, p.Label, list(p.Labels), p.ApprovedBy, p.RunnerID, p.ID, string(guard))
}

// DeletePairings implements hub.PairingStore.
func (s *Store) DeletePairings(ctx context.Context, before time.Time) (int, error) {
	var n int64
	err := s.write(ctx, "forget pairings", func(t *tx) (err error) {
		n, err = t.exec(deletePairings, stamp(before))
		return err
	})
	return int(n), err
}
