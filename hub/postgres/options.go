package postgres

import (
	"log/slog"
	"time"
)

// Options are the knobs of a Store. The zero value is what a hub runs with.
type Options struct {
	// MaxConns caps the pool. Zero: what the URL says (pool_max_conns), else 16. Listen has a connection of its own besides.
	MaxConns int
	// DirectWrites gives each write a transaction of its own instead of letting those that are made at the same
	// time share one. It is there to measure what sharing gains.
	DirectWrites bool
	// SkipMigrations opens the store without bringing its schema up to date.
	SkipMigrations bool

	ConnectTimeout   time.Duration // to open one connection; 5 s
	StatementTimeout time.Duration // after which the server ends a statement; 10 s
	LockTimeout      time.Duration // after which a statement gives up waiting for a lock; 5 s
	ClockRefresh     time.Duration // how often the database's clock is compared with ours; 30 s
	ListenPing       time.Duration // how long the listening connection may be silent before it is tried; 30 s

	// Now is the local clock, time.Now unless a test says otherwise. Only differences of it are used.
	Now func() time.Time
	// Log gets what no caller sees: lost connections and a clock that cannot be read. Nil: nowhere.
	Log *slog.Logger
}

func (o Options) withDefaults() Options {
	def := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	def(&o.ConnectTimeout, 5*time.Second)
	def(&o.StatementTimeout, 10*time.Second)
	def(&o.LockTimeout, 5*time.Second)
	def(&o.ClockRefresh, 30*time.Second)
	def(&o.ListenPing, 30*time.Second)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// callTimeout bounds a call whose caller set no bound, so that a server which
// stops answering without closing its connections holds nobody for ever. It
// leaves the server time to end the statement itself, which says more.
func (o Options) callTimeout() time.Duration {
	return o.ConnectTimeout + o.StatementTimeout + 5*time.Second
}
