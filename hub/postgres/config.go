package postgres

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/runnerhub/runnerhub/hub"
)

// defaultConns is the pool's size where neither options nor URL name one. With
// an fsync in every commit, more connections mean that more commits share one.
const defaultConns = 16

// poolConfig turns a URL into the pool's configuration.
func poolConfig(url string, o Options) (*pgxpool.Config, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, hub.Errorf(hub.InvalidArgument, "the database URL cannot be read").
			WithHint("write it as postgres://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=verify-full")
	}
	switch {
	case o.MaxConns > 0:
		cfg.MaxConns = int32(o.MaxConns)
	case !strings.Contains(url, "pool_max_conns"):
		cfg.MaxConns = defaultConns
	}
	cfg.ConnConfig.ConnectTimeout = o.ConnectTimeout
	cfg.PingTimeout = o.ConnectTimeout
	// Recycling all connections of a pool at the same moment would be felt.
	cfg.MaxConnLifetimeJitter = cfg.MaxConnLifetime / 10
	cfg.AfterConnect = func(_ context.Context, c *pgx.Conn) error {
		useUTC(c)
		return nil
	}
	session(cfg.ConnConfig.RuntimeParams, o)
	pinPlans(cfg.ConnConfig.RuntimeParams)
	return cfg, nil
}

// plainConfig is the configuration of connections that need no pinned plans and
// no time-outs: the listener, which waits, and migrations, which may take long.
func plainConfig(cfg *pgxpool.Config) *pgx.ConnConfig {
	c := cfg.ConnConfig.Copy()
	for k := range planPins() {
		delete(c.RuntimeParams, k)
	}
	delete(c.RuntimeParams, "statement_timeout")
	delete(c.RuntimeParams, "lock_timeout")
	return c
}

// session sets what every statement runs under; the URL may say otherwise.
func session(params map[string]string, o Options) {
	ms := func(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
	for k, v := range map[string]string{
		"application_name":                    "runnerhub",
		"statement_timeout":                   ms(o.StatementTimeout),
		"lock_timeout":                        ms(o.LockTimeout),
		"idle_in_transaction_session_timeout": ms(2 * o.StatementTimeout),
	} {
		if _, ok := params[k]; !ok {
			params[k] = v
		}
	}
	params["timezone"] = "UTC"
	params["default_transaction_isolation"] = "read committed" // what every guard here is written for
}

// planPins hold the planner to the plans that the statements are written for:
// every one walks an index to few rows. A table that was never analysed looks
// empty to the planner, so that it would read the whole of it and keep that plan
// in the prepared statement for as long as the connection lives.
func planPins() map[string]string {
	return map[string]string{
		"enable_seqscan":    "off",
		"enable_bitmapscan": "off",
		"enable_hashjoin":   "off",
		"enable_mergejoin":  "off",
		"jit":               "off",
		// With those pins a plan for any parameters is the plan for all, and
		// planning once a connection is cheaper than once an execution.
		"plan_cache_mode": "force_generic_plan",
	}
}

func pinPlans(params map[string]string) {
	for k, v := range planPins() {
		params[k] = v
	}
}

// useUTC makes timestamps scan as UTC, which is how the domain compares them.
func useUTC(c *pgx.Conn) {
	c.TypeMap().RegisterType(&pgtype.Type{
		Name: "timestamptz", OID: pgtype.TimestamptzOID, Codec: &pgtype.TimestamptzCodec{ScanLocation: time.UTC},
	})
}
