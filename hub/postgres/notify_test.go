package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/runnerhub/runnerhub/hub"
)

// listening starts Listen and returns what it hears, once it listens.
func listening(t *testing.T, s *Store) <-chan hub.Hint {
	t.Helper()
	heard := make(chan hub.Hint, 1000)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Listen(ctx, func(h hub.Hint) { heard <- h }) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Listen returned %v", err)
		}
	})
	if h := hint(t, heard); h != (hub.Hint{}) {
		t.Fatalf("the first hint is %+v", h)
	}
	return heard
}

func hint(t *testing.T, heard <-chan hub.Hint) hub.Hint {
	t.Helper()
	select {
	case h := <-heard:
		return h
	case <-time.After(30 * time.Second):
		t.Fatal("nothing was heard in 30 s")
		return hub.Hint{}
	}
}

func TestHintsCrossStores(t *testing.T) {
	t.Parallel()
	url := newDatabase(t)
	a, b := openAt(t, url, Options{MaxConns: 2}), openAt(t, url, Options{MaxConns: 2})
	heardA, heardB := listening(t, a), listening(t, b)
	want := []hub.Hint{{Queue: "user:usr_1/*"}, {JobID: "job_1"}, {Queue: "ws:1/rnr-1", JobID: `odd "\x00" words`}}
	if err := a.Notify(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	for _, w := range want {
		if got := hint(t, heardB); got != w {
			t.Errorf("heard %+v, want %+v", got, w)
		}
	}
	// The next that a hears is b's, so that it has not heard its own.
	if err := b.Notify(t.Context(), []hub.Hint{{JobID: "from b"}}); err != nil {
		t.Fatal(err)
	}
	if got := hint(t, heardA); got.JobID != "from b" {
		t.Errorf("heard %+v", got)
	}
}

func TestHintsOfOneNotifyAreBatched(t *testing.T) {
	t.Parallel()
	var hints []hub.Hint
	for i := range 1000 {
		hints = append(hints, hub.Hint{Queue: "user:usr_1/*", JobID: fmt.Sprintf("job_%032d", i)})
	}
	list := payloads("me", hints)
	if len(list) > 10 {
		t.Errorf("1000 hints take %d notifications", len(list))
	}
	var got []hub.Hint
	s := &Store{id: "you"}
	for _, p := range list {
		if len(p) > maxPayload {
			t.Errorf("a payload has %d bytes", len(p))
		}
		s.hear(p, func(h hub.Hint) { got = append(got, h) })
	}
	if diff := cmp.Diff(hints, got); diff != "" {
		t.Errorf("hints (-sent +heard):\n%s", diff)
	}
}

func TestHintTooLongForAPayload(t *testing.T) {
	t.Parallel()
	url := newDatabase(t)
	a, b := openAt(t, url, Options{MaxConns: 2}), openAt(t, url, Options{MaxConns: 2})
	heard := listening(t, b)
	// As long as fits, and one byte more.
	frame := len(payloads(a.id, []hub.Hint{{}})[0])
	fits := hub.Hint{JobID: strings.Repeat("x", maxPayload-frame)}
	over := hub.Hint{JobID: strings.Repeat("x", maxPayload-frame+1)}
	if err := a.Notify(t.Context(), []hub.Hint{over, fits}); err != nil {
		t.Fatal(err)
	}
	if got := hint(t, heard); got != (hub.Hint{}) {
		t.Errorf("heard %d bytes, want the zero hint", len(got.JobID))
	}
	if got := hint(t, heard); got != fits {
		t.Errorf("heard %d bytes, want %d", len(got.JobID), len(fits.JobID))
	}
}

func TestUnreadableNotificationMeansAnything(t *testing.T) {
	t.Parallel()
	var got []hub.Hint
	(&Store{id: "me"}).hear(`["another version"]`, func(h hub.Hint) { got = append(got, h) })
	if diff := cmp.Diff([]hub.Hint{{}}, got); diff != "" {
		t.Error(diff)
	}
}

// A connection that was cut is made again, and what may have been missed is said.
func TestListenConnectsAgain(t *testing.T) {
	t.Parallel()
	url := newDatabase(t)
	a, b := openAt(t, url, Options{MaxConns: 2}), openAt(t, url, Options{MaxConns: 2})
	heard := listening(t, b)
	for range 3 {
		n := sqlInt(t, a, `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
			WHERE datname = current_database() AND query = 'LISTEN runnerhub_hints'`)
		if n != 1 {
			t.Fatalf("%d backends listen", n)
		}
		if got := hint(t, heard); got != (hub.Hint{}) {
			t.Fatalf("heard %+v", got)
		}
	}
	if err := a.Notify(t.Context(), []hub.Hint{{JobID: "job_1"}}); err != nil {
		t.Fatal(err)
	}
	if got := hint(t, heard); got.JobID != "job_1" {
		t.Errorf("heard %+v", got)
	}
}

// A silent connection is tried now and then and stays if it answers.
func TestListenStaysThroughSilence(t *testing.T) {
	t.Parallel()
	url := newDatabase(t)
	a := openAt(t, url, Options{MaxConns: 2})
	b := openAt(t, url, Options{MaxConns: 2, ListenPing: time.Millisecond})
	heard := listening(t, b)
	pings := func() int {
		return sqlInt(t, a, `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND application_name = 'runnerhub' AND query = '-- ping'`)
	}
	for deadline := time.Now().Add(30 * time.Second); pings() == 0; {
		if time.Now().After(deadline) {
			t.Fatal("no ping was seen")
		}
	}
	if err := a.Notify(t.Context(), []hub.Hint{{JobID: "job_1"}}); err != nil {
		t.Fatal(err)
	}
	if got := hint(t, heard); got.JobID != "job_1" {
		t.Errorf("heard %+v: the connection was lost", got)
	}
}

func TestCloseEndsListen(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), newDatabase(t), Options{MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	first := make(chan struct{})
	done := make(chan error)
	go func() { done <- s.Listen(context.Background(), func(hub.Hint) { close(first) }) }()
	<-first
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; !errors.Is(err, errClosed) {
		t.Errorf("Listen returned %v", err)
	}
}
