package hubproc

import (
	"context"
	"log/slog"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/postgres"
)

// openDirect opens the store without its group commit: each write is a transaction of its own.
func openDirect(ctx context.Context, database string, log *slog.Logger) (hub.Store, error) {
	return postgres.Open(ctx, database, postgres.Options{Log: log, DirectWrites: true})
}
