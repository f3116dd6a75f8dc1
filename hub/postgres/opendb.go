package postgres

import (
	"context"
	"database/sql"
	"errors"

	"github.com/jackc/pgx/v5/stdlib"
)

// OpenDB opens the database as a plain pool of connections, for looking at its
// migrations. It migrates nothing.
func OpenDB(ctx context.Context, url string) (*sql.DB, error) {
	cfg, err := poolConfig(url, Options{}.withDefaults())
	if err != nil {
		return nil, err
	}
	db := stdlib.OpenDB(*plainConfig(cfg))
	if err := db.PingContext(ctx); err != nil {
		return nil, errors.Join(failure(ctx, "reach the database", err), db.Close())
	}
	return db, nil
}
