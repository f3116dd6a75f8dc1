package postgres

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/runnerhub/runnerhub/hub"
)

// The answer to a commit is lost: the write took effect, the caller cannot know, and so is not told that
// it worked. Reading and deciding again, as a caller then does, finds out.
func TestCommitWithoutAnswer(t *testing.T) {
	t.Parallel()
	for name, most := range map[string]int{"one statement": 0, "behind a lock": 10} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := newDatabase(t)
			p := newProxy(t, url)
			direct, s := openAt(t, url, Options{MaxConns: 2}), openAt(t, p.url, Options{MaxConns: 1})

			// Once before, so that the statements are prepared and what is cut is the answer to the commit.
			warm := newJob(owner, "")
			warm.MaxQueued = most
			lease, _ := leased(t, warm, enqueued(t, s, warm), newRunner(owner))
			lease.MaxRunning = most
			apply(t, s, lease)

			q := newJob(owner, "")
			q.MaxQueued, q.IdempotencyKey, q.Fingerprint = most, "key", []byte("f")
			p.cut.Store(true)
			if _, _, err := s.Enqueue(t.Context(), q); hub.CodeOf(err) != hub.Unavailable {
				t.Fatalf("got %v", err)
			}
			if p.cut.Load() {
				t.Fatal("nothing was cut")
			}
			j, err := direct.GetJob(t.Context(), q.Job.ID)
			if err != nil {
				t.Fatalf("the job was to be stored: %v", err)
			}
			again := newJob(owner, "")
			again.MaxQueued, again.IdempotencyKey, again.Fingerprint = most, "key", []byte("f")
			if got, existing, err := s.Enqueue(t.Context(), again); err != nil || !existing || got.ID != j.ID {
				t.Fatalf("a repeat got %s, existing %v, error %v", got.ID, existing, err)
			}

			warm2 := newJob(owner, "") // the connection is a new one, which has prepared nothing yet
			c, _ := leased(t, warm2, enqueued(t, s, warm2), newRunner(owner))
			c.MaxRunning = most
			apply(t, s, c)
			c, _ = leased(t, q, j, newRunner(owner))
			c.MaxRunning = most
			p.cut.Store(true)
			if err := s.Apply(t.Context(), c); hub.CodeOf(err) != hub.Unavailable {
				t.Fatalf("got %v", err)
			}
			if got, err := direct.GetJob(t.Context(), j.ID); err != nil || got.State != hub.JobLeased {
				t.Fatalf("the job is %s, error %v", got.State, err)
			}
			if err := s.Apply(t.Context(), c); !errors.Is(err, hub.ErrConflict) {
				t.Errorf("the same again: %v", err)
			}
		})
	}
}

// A read whose answer is lost is asked again.
func TestReadWithoutAnswer(t *testing.T) {
	t.Parallel()
	p := newProxy(t, newDatabase(t))
	s := openAt(t, p.url, Options{MaxConns: 1})
	j := enqueued(t, s, newJob(owner, ""))
	p.cut.Store(true)
	if got, err := s.GetJob(t.Context(), j.ID); err != nil || got.ID != j.ID {
		t.Errorf("got %s, error %v", got.ID, err)
	}
	if p.cut.Load() {
		t.Error("nothing was cut")
	}
}

// The backend is ended while a write waits in it: nothing was written, and the caller is told to try again.
func TestBackendEndedInApply(t *testing.T) {
	t.Parallel()
	url := newDatabase(t)
	s, other := openAt(t, url, Options{MaxConns: 2}), openAt(t, url, Options{MaxConns: 2})
	p := newJob(owner, "")
	j := enqueued(t, s, p)
	release := hold(t, other, "SELECT FROM jobs FOR UPDATE")
	c, _ := leased(t, p, j, newRunner(owner))
	done := make(chan error, 1)
	go func() { done <- s.Apply(context.Background(), c) }()
	endWaiting(t, other)
	if err := <-done; hub.CodeOf(err) != hub.Unavailable {
		t.Fatalf("got %v", err)
	}
	release()
	if got, err := s.GetJob(t.Context(), j.ID); err != nil || got.State != hub.JobQueued {
		t.Fatalf("the job is %s, error %v", got.State, err)
	}
	if n := sqlInt(t, s, "SELECT count(*) FROM attempts"); n != 0 {
		t.Errorf("%d attempts were written", n)
	}
	if n := sqlInt(t, s, "SELECT count(*) FROM events"); n != 1 {
		t.Errorf("there are %d events, want that of the enqueue", n)
	}
	apply(t, s, c)
}

// The backend is ended while a read waits in it: it is asked again, and nobody notices.
func TestBackendEndedInRead(t *testing.T) {
	t.Parallel()
	url := newDatabase(t)
	s, other := openAt(t, url, Options{MaxConns: 2}), openAt(t, url, Options{MaxConns: 2})
	j := enqueued(t, s, newJob(owner, ""))
	release := hold(t, other, "LOCK TABLE jobs IN ACCESS EXCLUSIVE MODE")
	done := make(chan error, 1)
	go func() {
		_, err := s.GetJob(context.Background(), j.ID)
		done <- err
	}()
	endWaiting(t, other)
	release()
	if err := <-done; err != nil {
		t.Errorf("got %v", err)
	}
}

// hold runs a statement that locks something until release is called.
func hold(t *testing.T, s *Store, sql string) (release func()) {
	t.Helper()
	tx, err := s.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tx.Rollback(context.Background()) })
	if _, err := tx.Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		if err := tx.Rollback(t.Context()); err != nil && !errors.Is(err, pgx.ErrTxClosed) {
			t.Fatal(err)
		}
	}
}

// endWaiting ends the one backend of this database that waits for a lock, as soon as there is one.
func endWaiting(t *testing.T, s *Store) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); {
		if sqlInt(t, s, `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock'`) > 0 {
			return
		}
	}
	t.Fatal("no backend waits for a lock")
}
