package server

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/postgres"
	"github.com/runnerhub/runnerhub/hub/sqlite"
)

// access is how a command uses the store.
type access int

const (
	asHub      access = iota // serves: the embedded store is held for this process alone
	asOperator               // beside a hub that may be serving
)

// openConfigured opens the store of a hub that serves.
func openConfigured(ctx context.Context, s Settings, log *slog.Logger) (hub.Store, error) {
	return openStore(ctx, s, asHub, log)
}

// openStore opens the store that the settings name and migrates it.
func openStore(ctx context.Context, s Settings, a access, log *slog.Logger) (hub.Store, error) {
	if path, ok := sqlitePath(s.Database); ok {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, fmt.Errorf("make the folder of the store: %w", err)
		}
		return sqlite.Open(ctx, path, sqlite.Options{Shared: a == asOperator})
	}
	if isPostgres(s.Database) {
		return postgres.Open(ctx, s.Database, postgres.Options{Log: log})
	}
	return nil, badDatabase()
}

func sqlitePath(database string) (string, bool) { return strings.CutPrefix(database, "sqlite://") }

func isPostgres(database string) bool {
	return strings.HasPrefix(database, "postgres://") || strings.HasPrefix(database, "postgresql://")
}

func badDatabase() error {
	return hub.Errorf(hub.InvalidArgument, "--database is neither sqlite://PATH nor postgres://…").
		WithHint("leave it out for the embedded store in --data")
}
