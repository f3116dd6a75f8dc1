package server

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/runnerhub/runnerhub/hub/postgres"
	"github.com/runnerhub/runnerhub/hub/sqlite"
	"github.com/runnerhub/runnerhub/migrations"
)

// newMigrate is for operators who migrate apart from a hub's start, which does it by itself.
func newMigrate(environ func(string) (string, bool)) *cobra.Command {
	m := &cobra.Command{
		Use:   "migrate",
		Short: "Bring the store's schema up to date, or show where it stands",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	m.AddCommand(
		newMigrateUp(environ),
		migration(environ, "status", "List migrations and when they were applied", func(ctx context.Context, c *cobra.Command, d migrations.Dialect, db *sql.DB) error {
			all, err := migrations.Status(ctx, d, db)
			if err != nil {
				return err
			}
			for _, m := range all {
				state := "pending"
				if !m.AppliedAt.IsZero() {
					state = "applied " + m.AppliedAt.UTC().Format("2006-01-02 15:04:05")
				}
				if _, err := fmt.Fprintf(c.OutOrStdout(), "%04d  %-28s  %s\n", m.Version, m.Name, state); err != nil {
					return err
				}
			}
			return nil
		}),
	)
	return m
}

// newMigrateUp opens the store as a hub does, which migrates it; the embedded one only while no hub holds it.
func newMigrateUp(environ func(string) (string, bool)) *cobra.Command {
	s := Defaults()
	c := &cobra.Command{
		Use: "up", Short: "Apply what is missing; a hub's start does the same", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := configured(c, &s, environ); err != nil {
				return err
			}
			log, err := newLogger(c.ErrOrStderr(), s)
			if err != nil {
				return usageError{err}
			}
			store, err := openStore(c.Context(), s, asOperator, log)
			if err != nil {
				return err
			}
			dialect := migrations.Postgres
			if _, ok := sqlitePath(s.Database); ok {
				dialect = migrations.SQLite
			}
			if err := store.Close(); err != nil {
				return err
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "schema is at version %d\n", migrations.Latest(dialect))
			return err
		},
	}
	s.storeFlags(c.Flags())
	return c
}

func migration(environ func(string) (string, bool), use, short string, f func(context.Context, *cobra.Command, migrations.Dialect, *sql.DB) error) *cobra.Command {
	s := Defaults()
	c := &cobra.Command{
		Use: use, Short: short, Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := configured(c, &s, environ); err != nil {
				return err
			}
			d, db, err := openDB(c.Context(), s)
			if err != nil {
				return err
			}
			err = f(c.Context(), c, d, db)
			if closeErr := db.Close(); err == nil {
				err = closeErr
			}
			return err
		},
	}
	s.storeFlags(c.Flags())
	return c
}

func openDB(ctx context.Context, s Settings) (migrations.Dialect, *sql.DB, error) {
	if path, ok := sqlitePath(s.Database); ok {
		db, err := sqlite.OpenDB(ctx, path)
		return migrations.SQLite, db, err
	}
	if isPostgres(s.Database) {
		db, err := postgres.OpenDB(ctx, s.Database)
		return migrations.Postgres, db, err
	}
	return "", nil, badDatabase()
}
