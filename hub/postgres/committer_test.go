package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/runnerhub/runnerhub/hub"
)

// Writes that come while a transaction is under way share the next one.
func TestWritesShareATransaction(t *testing.T) {
	t.Parallel()
	url := newDatabase(t)
	s, other := openAt(t, url, Options{}), openAt(t, url, Options{})
	release := hold(t, other, "LOCK TABLE jobs IN SHARE MODE")
	const n = enough // one fewer gather than begin a transaction of their own
	errs := make(chan error, n)
	start := func() {
		go func() {
			_, _, err := s.Enqueue(context.Background(), newJob(owner, ""))
			errs <- err
		}()
	}
	start() // waits for the lock, and so the others gather
	waitFor(t, func() bool { return blocked(t, other) == 1 })
	for range n - 1 {
		start()
	}
	waitFor(t, func() bool { return gathered(s.intake) == n-1 })
	release()
	for range n {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if got := sqlInt(t, s, "SELECT count(DISTINCT xmin::text) FROM jobs"); got != 2 {
		t.Errorf("%d jobs took %d transactions", n, got)
	}
}

// Where a transaction takes long the next ones begin beside it, but no more than so many.
func TestTransactionsSideBySide(t *testing.T) {
	t.Parallel()
	s := open(t)
	var mu sync.Mutex
	under, most := 0, 0
	release := make(chan struct{})
	c := newCommitter(s, "write", 2, func(_ context.Context, ops []int) ([]error, error) {
		mu.Lock()
		under++
		most = max(most, under)
		mu.Unlock()
		<-release
		mu.Lock()
		under--
		mu.Unlock()
		return make([]error, len(ops)), nil
	}, func(op int) string { return strconv.Itoa(op) })
	const n = 3 * maxGroup // more than those under way can hold
	errs := make(chan error, n)
	for i := range n {
		go func() { errs <- c.do(context.Background(), i) }()
	}
	waitFor(t, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return under == 2 && gathered(c) >= enough
	})
	close(release)
	for range n {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if most != 2 {
		t.Errorf("%d transactions were under way at a time", most)
	}
}

// What fails for one of those that share a transaction fails for it alone.
func TestOneOfAGroupFailsAlone(t *testing.T) {
	t.Parallel()
	url := newDatabase(t)
	s, other := openAt(t, url, Options{}), openAt(t, url, Options{})
	const n, bad = enough, 7 // fewer wait than begin a transaction of their own
	changes := make([]hub.Change, n)
	for i := range n {
		p := newJob(owner, "")
		changes[i], _ = leased(t, p, enqueued(t, s, p), newRunner(owner))
	}
	changes[bad].NewAttempt.LogDigest = changes[bad+1].NewAttempt.LogDigest // which is unique
	release := hold(t, other, "LOCK TABLE jobs IN SHARE MODE")
	errs := make([]chan error, n)
	start := func(i int) {
		errs[i] = make(chan error, 1)
		go func() { errs[i] <- s.Apply(context.Background(), changes[i]) }()
	}
	start(0) // waits for the lock, and so the others gather
	waitFor(t, func() bool { return blocked(t, other) == 1 })
	for i := 1; i < n; i++ {
		start(i)
	}
	waitFor(t, func() bool { return gathered(s.intake) == n-1 })
	release()
	failed := 0
	for i, ch := range errs {
		err := <-ch
		switch {
		case err == nil:
		case (i == bad || i == bad+1) && hub.CodeOf(err) == hub.Conflict:
			failed++
		default:
			t.Errorf("change %d: %v", i, err)
		}
	}
	if failed != 1 {
		t.Errorf("%d of the two that clash have failed", failed)
	}
	if got := sqlInt(t, s, "SELECT count(*) FROM attempts"); got != n-1 {
		t.Errorf("%d attempts were begun", got)
	}
}

// A caller that has gone is not waited for, and what it wanted is not written once it has.
func TestGoneCallerIsNotWrittenFor(t *testing.T) {
	t.Parallel()
	url := newDatabase(t)
	s, other := openAt(t, url, Options{}), openAt(t, url, Options{})
	release := hold(t, other, "LOCK TABLE jobs IN SHARE MODE")
	first := make(chan error, 1)
	go func() {
		_, _, err := s.Enqueue(context.Background(), newJob(owner, ""))
		first <- err
	}()
	waitFor(t, func() bool { return blocked(t, other) == 1 })
	ctx, cancel := context.WithCancel(t.Context())
	second := make(chan error, 1)
	go func() {
		_, _, err := s.Enqueue(ctx, newJob(owner, ""))
		second <- err
	}()
	waitFor(t, func() bool { return gathered(s.intake) == 1 })
	cancel()
	if err := <-second; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	release()
	if err := <-first; err != nil {
		t.Error(err)
	}
	waitFor(t, func() bool {
		s.intake.mu.Lock()
		defer s.intake.mu.Unlock()
		return s.intake.flights == 0
	})
	if got := sqlInt(t, s, "SELECT count(*) FROM jobs"); got != 1 {
		t.Errorf("%d jobs were stored", got)
	}
}

// The cap holds however many leases share a transaction, and room that is made beside them is used.
func TestCapWithinAGroup(t *testing.T) {
	t.Parallel()
	s := open(t)
	const n, most = 30, 10
	errs := make(chan error, n)
	for range n {
		p := newJob(owner, "")
		c, _ := leased(t, p, enqueued(t, s, p), newRunner(owner))
		c.MaxRunning = most
		go func() { errs <- s.Apply(context.Background(), c) }()
	}
	leases := 0
	for range n {
		switch err := <-errs; {
		case err == nil:
			leases++
		case hub.CodeOf(err) != hub.QuotaExceeded:
			t.Error(err)
		}
	}
	if leases != most {
		t.Errorf("%d leases were given", leases)
	}
}

// What a list holds survives the way through an array of arrays.
func TestListLiteral(t *testing.T) {
	t.Parallel()
	s := open(t)
	for i, list := range [][]string{nil, {}, {""}, {"NULL"}, {"a", "b c"}, {`q"u\o`, "{,}"}, {"ü\n\t"}} {
		p := newJob(owner, "")
		p.Payload.Labels = list
		enqueued(t, s, p)
		got, err := s.GetPayload(t.Context(), p.Job.ID)
		if err != nil || fmt.Sprintf("%q", got.Labels) != fmt.Sprintf("%q", list) {
			t.Errorf("%d: %q became %q, error %v", i, list, got.Labels, err)
		}
	}
}

// gathered is how many operations wait for the next transaction.
func gathered[T any](c *committer[T]) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.waiting)
}

// blocked says how many wait for a lock in the database.
func blocked(t *testing.T, s *Store) int {
	t.Helper()
	return sqlInt(t, s, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'")
}

// waitFor returns once f is true.
func waitFor(t *testing.T, f func() bool) {
	t.Helper()
	end := time.After(30 * time.Second)
	for tick := time.Tick(time.Millisecond); !f(); {
		select {
		case <-end:
			t.Fatal("it did not come to that")
		case <-tick:
		}
	}
}
