package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/migrations"
)

// Several hubs start at once on a fresh database: one migrates, all serve, and agree on who they are.
func TestOpenAtOnce(t *testing.T) {
	t.Parallel()
	url := newEmptyDatabase(t)
	var g errgroup.Group
	stores := make([]*Store, 4)
	for i := range stores {
		g.Go(func() (err error) {
			stores[i], err = Open(t.Context(), url, Options{MaxConns: 2})
			return err
		})
	}
	err := g.Wait()
	ids := map[string]bool{}
	for _, s := range stores {
		if s == nil {
			continue
		}
		if pingErr := s.Ping(t.Context()); pingErr != nil {
			t.Error(pingErr)
		}
		id, idErr := s.HubID(t.Context())
		ids[id] = true
		err = errors.Join(err, idErr, s.Close())
	}
	if err != nil || len(ids) != 1 {
		t.Errorf("hub ids %v, error %v", ids, err)
	}
}

func TestOpenWithoutMigrations(t *testing.T) {
	t.Parallel()
	s := openAt(t, newEmptyDatabase(t), Options{MaxConns: 2, SkipMigrations: true})
	for doing, err := range map[string]error{
		"ping":    s.Ping(t.Context()),
		"enqueue": func() error { _, _, err := s.Enqueue(t.Context(), newJob(owner, "")); return err }(),
	} {
		e, ok := errors.AsType[*hub.Error](err)
		if !ok || e.Code != hub.Unavailable || !strings.Contains(e.Hint, "runnerhub migrate up") {
			t.Errorf("%s: got %v", doing, err)
		}
	}
}

// A newer hub migrates first. Those of this version go on and may even start, until a migration takes away what they use.
func TestSchemaVersions(t *testing.T) {
	t.Parallel()
	url := newDatabase(t)
	s := openAt(t, url, Options{MaxConns: 2})
	latest := migrations.Latest(migrations.Postgres)
	sqlExec(t, s, "INSERT INTO goose_db_version (version_id, is_applied) VALUES ($1, true)", latest+1)
	for _, skip := range []bool{false, true} {
		openAt(t, url, Options{MaxConns: 2, SkipMigrations: skip})
	}
	if err := s.Ping(t.Context()); err != nil {
		t.Errorf("a hub that serves already, when a newer one migrates: %v", err)
	}
	sqlExec(t, s, "UPDATE meta SET value = $1 WHERE key = 'needs_version'", fmt.Sprint(latest+1))
	for _, skip := range []bool{false, true} {
		_, err := Open(t.Context(), url, Options{SkipMigrations: skip})
		e, ok := errors.AsType[*hub.Error](err)
		if !ok || e.Code != hub.UpdateRequired || e.Hint == "" {
			t.Errorf("a schema that this program is too old for: got %v", err)
		}
	}
	if err := s.Ping(t.Context()); hub.CodeOf(err) != hub.UpdateRequired {
		t.Errorf("a hub that serves already, when a newer one takes away: got %v", err)
	}
	sqlExec(t, s, "DELETE FROM goose_db_version WHERE version_id >= $1", latest)
	if err := s.Ping(t.Context()); hub.CodeOf(err) != hub.Unavailable {
		t.Errorf("an older schema: got %v", err)
	}
}

func TestReadOnlyServer(t *testing.T) {
	t.Parallel()
	url := newDatabase(t)
	s := openAt(t, url, Options{MaxConns: 2})
	sqlExec(t, s, "DO $$ BEGIN EXECUTE 'ALTER DATABASE ' || current_database() || ' SET default_transaction_read_only = on'; END $$")
	s.pool.Reset()
	if err := s.Ping(t.Context()); hub.CodeOf(err) != hub.Unavailable {
		t.Errorf("ping: got %v", err)
	}
	if _, _, err := s.Enqueue(t.Context(), newJob(owner, "")); hub.CodeOf(err) != hub.Unavailable {
		t.Errorf("enqueue: got %v", err)
	}
}

func TestTooManyConnections(t *testing.T) {
	t.Parallel()
	base := newDatabase(t)
	s := openAt(t, base, Options{MaxConns: 2})
	role, password := "rh_test_"+strings.ToLower(rand.Text()[:16]), rand.Text()
	// A superuser has no limit.
	sqlExec(t, s, "CREATE ROLE "+role+" LOGIN CONNECTION LIMIT 1 PASSWORD '"+password+"'")
	sqlExec(t, s, "GRANT ALL ON ALL TABLES IN SCHEMA public TO "+role)
	t.Cleanup(func() {
		for _, sql := range []string{"DROP OWNED BY " + role, "DROP ROLE " + role} {
			if _, err := s.pool.Exec(context.Background(), sql); err != nil {
				t.Error(err)
			}
		}
	})
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(role, password)
	one := openAt(t, u.String(), Options{MaxConns: 2})
	held, err := one.pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer held.Release()
	err = one.Ping(t.Context())
	e, ok := errors.AsType[*hub.Error](err)
	if !ok || e.Code != hub.Unavailable || !strings.Contains(e.Hint, "max_connections") {
		t.Errorf("got %v", err)
	}
}

func TestPoolSize(t *testing.T) {
	t.Parallel()
	const base = "postgres://u:p@h/d"
	for _, c := range []struct {
		url  string
		o    Options
		want int32
	}{
		{base, Options{}, defaultConns},
		{base + "?pool_max_conns=7", Options{}, 7},
		{base + "?pool_max_conns=7", Options{MaxConns: 3}, 3},
	} {
		cfg, err := poolConfig(c.url, c.o.withDefaults())
		if err != nil || cfg.MaxConns != c.want {
			t.Errorf("%s, %d: got %d, error %v", c.url, c.o.MaxConns, cfg.MaxConns, err)
		}
	}
}

// What the URL says of time-outs counts, the pinned plans do not bend, and the listener has neither.
func TestSession(t *testing.T) {
	t.Parallel()
	cfg, err := poolConfig("postgres://u:p@h/d?statement_timeout=77&enable_seqscan=on&application_name=mine", Options{}.withDefaults())
	if err != nil {
		t.Fatal(err)
	}
	got, plain := cfg.ConnConfig.RuntimeParams, plainConfig(cfg).RuntimeParams
	if got["statement_timeout"] != "77" || got["enable_seqscan"] != "off" || got["lock_timeout"] != "5000" ||
		got["application_name"] != "mine" {
		t.Errorf("the pool's session is %v", got)
	}
	for _, k := range []string{"statement_timeout", "lock_timeout", "enable_seqscan"} {
		if v, ok := plain[k]; ok {
			t.Errorf("the listener's session has %s = %s", k, v)
		}
	}
	if plain["application_name"] != "mine" || plain["timezone"] != "UTC" {
		t.Errorf("the listener's session is %v", plain)
	}
}
