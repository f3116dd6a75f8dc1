package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/runnerhub/runnerhub/hub"
)

func TestFailures(t *testing.T) {
	t.Parallel()
	own := hub.Errorf(hub.QueueFull, "full")
	for name, c := range map[string]struct {
		err  error
		code hub.Code // Internal: not for the caller's eyes
		hint string
	}{
		"admin shutdown":    {state("57P01"), hub.Unavailable, "restarted"},
		"crash":             {state("57P02"), hub.Unavailable, "restarted"},
		"starting up":       {state("57P03"), hub.Unavailable, "restarted"},
		"too many":          {state("53300"), hub.Unavailable, "max_connections"},
		"disk full":         {state("53100"), hub.Unavailable, "disk is full"},
		"out of memory":     {state("53200"), hub.Unavailable, "busy"},
		"serialization":     {state("40001"), hub.Unavailable, "busy"},
		"deadlock":          {state("40P01"), hub.Unavailable, "busy"},
		"lock timeout":      {state("55P03"), hub.Unavailable, "pg_stat_activity"},
		"statement timeout": {state("57014"), hub.Unavailable, "pg_stat_activity"},
		"read-only":         {state("25006"), hub.Unavailable, "primary"},
		"no schema":         {state("42P01"), hub.Unavailable, "runnerhub migrate up"},
		"bad password":      {state("28P01"), hub.Unavailable, "password"},
		"end of file":       {fmt.Errorf("read: %w", io.ErrUnexpectedEOF), hub.Unavailable, "PostgreSQL runs"},
		"closed":            {net.ErrClosed, hub.Unavailable, "PostgreSQL runs"},
		"no route":          {&net.OpError{Op: "dial", Err: errors.New("no route")}, hub.Unavailable, "PostgreSQL runs"},
		"took too long":     {context.DeadlineExceeded, hub.Unavailable, "PostgreSQL runs"},
		"a check":           {state("23514"), hub.Internal, ""},
		"our SQL is wrong":  {state("42601"), hub.Internal, ""},
		"a zero byte":       {state("22021"), hub.InvalidArgument, ""},
		"login":             {violated("users_login_key"), hub.Conflict, "another login"},
		"slug":              {violated("workspaces_slug_key"), hub.Conflict, "another slug"},
		"label":             {violated("runners_label"), hub.Conflict, "another label"},
		"some constraint":   {violated("attempts_live"), hub.Internal, ""},
		"own":               {own, hub.QueueFull, ""},
		"own, wrapped":      {fmt.Errorf("x: %w", own), hub.QueueFull, ""},
	} {
		err := failure(t.Context(), "test", fmt.Errorf("driver: %w", c.err))
		e, typed := errors.AsType[*hub.Error](err)
		switch {
		case hub.CodeOf(err) != c.code:
			t.Errorf("%s: code %s, want %s", name, hub.CodeOf(err), c.code)
		case typed && !strings.Contains(e.Hint, c.hint):
			t.Errorf("%s: the hint %q lacks %q", name, e.Hint, c.hint)
		case (c.code == hub.Unavailable) != (typed && e.Retryable):
			t.Errorf("%s: retryable is wrong", name)
		case !errors.Is(err, c.err):
			t.Errorf("%s: the cause is lost", name)
		}
	}
	if err := failure(t.Context(), "test", hub.ErrConflict); !errors.Is(err, hub.ErrConflict) {
		t.Errorf("got %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := failure(ended, "test", state("57P01")); !errors.Is(err, context.Canceled) || hub.CodeOf(err) != hub.Internal {
		t.Errorf("a caller who went away gets %v", err)
	}
}

func state(code string) error { return &pgconn.PgError{Code: code} }

func violated(constraint string) error {
	return &pgconn.PgError{Code: stateUniqueViolation, ConstraintName: constraint}
}

// What may run again: only what the server says it has undone, or, for a read, what was cut off.
func TestRetries(t *testing.T) {
	t.Parallel()
	s := &Store{opts: Options{}.withDefaults(), closed: t.Context()}
	for name, c := range map[string]struct {
		err         error
		write, read int // how often it runs in all when it fails each time
	}{
		"deadlock":       {state("40P01"), tries, tries},
		"serialization":  {state("40001"), tries, tries},
		"cached plan":    {state("0A000"), tries, tries},
		"admin shutdown": {state("57P01"), 1, tries},
		"connection":     {io.ErrUnexpectedEOF, 1, tries},
		"disk full":      {state("53100"), 1, 1},
		"lock timeout":   {state("55P03"), 1, 1},
		"conflict":       {hub.ErrConflict, 1, 1},
		"not found":      {hub.Errorf(hub.NotFound, "no"), 1, 1},
	} {
		runs := 0
		f := func(context.Context) error { runs++; return c.err }
		if err := s.write(t.Context(), "test", f); err == nil || runs != c.write {
			t.Errorf("%s: a write ran %d times, error %v", name, runs, err)
		}
		runs = 0
		if err := s.read(t.Context(), "test", f); err == nil || runs != c.read {
			t.Errorf("%s: a read ran %d times, error %v", name, runs, err)
		}
	}
	runs := 0
	if err := s.write(t.Context(), "test", func(context.Context) error {
		if runs++; runs < 3 {
			return state("40P01")
		}
		return nil
	}); err != nil || runs != 3 {
		t.Errorf("ran %d times, error %v", runs, err)
	}
}

func TestNobodyListens(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	_, err = Open(t.Context(), "postgres://nobody:secret@"+l.Addr().String()+"/none", Options{})
	if hub.CodeOf(err) != hub.Unavailable || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v", err)
	}
	_, err = Open(t.Context(), "postgres://nobody:secret@[::bad/none", Options{})
	if hub.CodeOf(err) != hub.InvalidArgument || strings.Contains(fmt.Sprintf("%+v", err), "secret") {
		t.Errorf("got %v", err)
	}
}

// A server that accepts and says nothing holds nobody for longer than the time-out.
func TestServerThatStaysSilent(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, err = Open(t.Context(), "postgres://x:x@"+l.Addr().String()+"/x?sslmode=disable", Options{ConnectTimeout: 100 * time.Millisecond})
	if hub.CodeOf(err) != hub.Unavailable {
		t.Errorf("got %v", err)
	}
}

func TestLockTimeout(t *testing.T) {
	t.Parallel()
	s := openAt(t, newDatabase(t), Options{MaxConns: 2, LockTimeout: 50 * time.Millisecond})
	p := newJob(owner, "")
	j := enqueued(t, s, p)
	tx, err := s.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(context.Background())
	if _, err := tx.Exec(t.Context(), "SELECT FROM jobs WHERE id = $1 FOR UPDATE", j.ID); err != nil {
		t.Fatal(err)
	}
	c, _ := leased(t, p, j, newRunner(owner))
	if err := s.Apply(t.Context(), c); hub.CodeOf(err) != hub.Unavailable {
		t.Fatalf("got %v", err)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	apply(t, s, c)
}

func TestTextThatPostgresRefuses(t *testing.T) {
	t.Parallel()
	s := open(t)
	p := newJob(owner, "")
	p.Payload.Name = "a\x00b\xff"
	p.Event.Detail = map[string]string{"k\x00": "v\x00"}
	j := enqueued(t, s, p)
	got, err := s.GetPayload(t.Context(), j.ID)
	if err != nil || got.Name != "a\uFFFDb\uFFFD" {
		t.Errorf("name %q, error %v", got.Name, err)
	}
	if _, err := s.GetJob(t.Context(), "job_\x00"); hub.CodeOf(err) != hub.NotFound {
		t.Errorf("got %v", err)
	}
}
