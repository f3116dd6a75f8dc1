package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/stdlib"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/migrations"
)

// selectState asks what Ping wants to know: whether the server takes no writes, the schema's version, and the
// oldest that a program must know.
const selectState = `SELECT current_setting('transaction_read_only')::bool,
	coalesce((SELECT max(version_id) FROM goose_db_version WHERE is_applied), 0),
	coalesce((` + migrations.NeedsVersion + `)::bigint, 0)`

// migrate brings the schema up to date, or only refuses one that this program is too old for.
func (s *Store) migrate(ctx context.Context) error {
	db := stdlib.OpenDB(*s.plain)
	defer db.Close()
	current, err := migrations.Current(ctx, migrations.Postgres, db)
	if err != nil {
		return failure(ctx, "read the schema's version", err)
	}
	if current < migrations.Latest(migrations.Postgres) && !s.opts.SkipMigrations {
		err = migrations.Up(ctx, migrations.Postgres, db)
	} else {
		err = migrations.Check(ctx, migrations.Postgres, db) // without the lock for which other hubs may be waiting
	}
	if newer, ok := errors.AsType[*migrations.NewerError](err); ok {
		return newerSchema(newer)
	}
	return failure(ctx, "bring the schema up to date", err)
}

func newerSchema(err *migrations.NewerError) error {
	return &hub.Error{
		Code: hub.UpdateRequired, Message: "the database was written by a newer Runner Hub: " + err.Error(),
		Hint: "start the newer version of runnerhub, or restore a backup from before the upgrade", Err: err,
	}
}

// Ping implements hub.Store. A schema newer than this program is none of its concern, as long as it has all that
// this program uses: during a rolling upgrade the hubs of the version before go on serving.
func (s *Store) Ping(ctx context.Context) error {
	return s.read(ctx, "ping", func(ctx context.Context) error {
		var readOnly bool
		var current, needs int64
		if err := s.pool.QueryRow(ctx, selectState).Scan(&readOnly, &current, &needs); err != nil {
			return err
		}
		switch latest := migrations.Latest(migrations.Postgres); {
		case readOnly:
			return unavailable("ping", errors.New("the server is read-only")).
				WithHint("point the hub's database URL at the primary")
		case current < latest:
			return unavailable("ping", &schemaError{current, latest}).WithHint("run `runnerhub migrate up`")
		case needs > latest:
			return newerSchema(&migrations.NewerError{Current: current, Latest: latest})
		}
		return nil
	})
}
