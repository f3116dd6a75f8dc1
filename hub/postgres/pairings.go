package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/runnerhub/runnerhub/hub"
)

// CreatePairing implements hub.PairingStore.
func (s *Store) CreatePairing(ctx context.Context, p hub.Pairing, e hub.Event) error {
	return s.exec(ctx, "open a pairing", createPairing, append(eventArgs(e),
		p.ID, string(p.State), p.CodeDigest, p.TokenDigest, p.PublicKey, text(p.Owner), text(p.Workspace),
		text(p.Hostname), text(p.OS), text(p.Arch), text(p.Version), text(p.Address), text(p.Label), texts(p.Labels),
		p.ApprovedBy, p.RunnerID, stamp(p.CreatedAt), stamp(p.ExpiresAt))...)
}

// GetPairing implements hub.PairingStore.
func (s *Store) GetPairing(ctx context.Context, id string) (hub.Pairing, error) {
	return one(ctx, s, "pairing request", scanPairing, selectPairing, id)
}

// PairingByCode implements hub.PairingStore.
func (s *Store) PairingByCode(ctx context.Context, digest []byte) (hub.Pairing, error) {
	return one(ctx, s, "pairing request", scanPairing, selectPairingByCode, digest)
}

// PairingByToken implements hub.PairingStore.
func (s *Store) PairingByToken(ctx context.Context, digest []byte) (hub.Pairing, error) {
	return one(ctx, s, "pairing request", scanPairing, selectPairingByToken, digest)
}

// DecidePairing implements hub.PairingStore.
func (s *Store) DecidePairing(ctx context.Context, p hub.Pairing, e hub.Event) error {
	return s.movePairing(ctx, "decide a pairing", decidePairing, append(eventArgs(e), moveArgs(p, hub.PairingPending)...))
}

// RedeemPairing implements hub.PairingStore.
func (s *Store) RedeemPairing(ctx context.Context, p hub.Pairing, r hub.Runner, e hub.Event) error {
	args := append(eventArgs(e), moveArgs(p, hub.PairingApproved)...)
	args = append(append(args, runnerArgs(r)...), presenceArgs(r.Presence)...)
	return s.movePairing(ctx, "redeem a pairing", redeemPairing, args)
}

func (s *Store) movePairing(ctx context.Context, doing, sql string, args []any) error {
	return s.write(ctx, doing, func(ctx context.Context) error {
		tag, err := s.pool.Exec(ctx, sql, args...)
		if err == nil && tag.RowsAffected() == 0 { // no event, so nothing else either
			err = hub.ErrConflict
		}
		return err
	})
}

// DeletePairings implements hub.PairingStore.
func (s *Store) DeletePairings(ctx context.Context, before time.Time) (n int, err error) {
	err = s.write(ctx, "forget pairings", func(ctx context.Context) error {
		tag, err := s.pool.Exec(ctx, deletePairings, before)
		n = int(tag.RowsAffected())
		return err
	})
	return n, err
}

func moveArgs(p hub.Pairing, from hub.PairingState) []any {
	return []any{
		p.ID, string(p.State), p.PublicKey, text(p.Owner), text(p.Workspace), text(p.Hostname), text(p.OS), // 12
		text(p.Arch), text(p.Version), text(p.Address), text(p.Label), texts(p.Labels), p.ApprovedBy, p.RunnerID, // 19
		string(from), // 26
	}
}

func scanPairing(row pgx.CollectableRow) (p hub.Pairing, err error) {
	var labels []string
	err = row.Scan(&p.ID, (*string)(&p.State), &p.CodeDigest, &p.TokenDigest, &p.PublicKey, (*string)(&p.Owner),
		&p.Workspace, &p.Hostname, &p.OS, &p.Arch, &p.Version, &p.Address, &p.Label, &labels, &p.ApprovedBy,
		&p.RunnerID, (*stamp)(&p.CreatedAt), (*stamp)(&p.ExpiresAt))
	p.Labels = orNil[string](labels)
	return p, err
}
