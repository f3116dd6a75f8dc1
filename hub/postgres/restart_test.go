//go:build unix

package postgres

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"time"

	"github.com/runnerhub/runnerhub/hub"
)

// The server is stopped in order, and once more crashes, under a store that is in use: every call is answered, none
// wrongly; afterwards the store goes on by itself, nothing that was accepted is gone, and Listen hears again.
func TestServerRestarts(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.start()
	s := openAt(t, c.url(), Options{MaxConns: 4})
	other := openAt(t, c.url(), Options{MaxConns: 2})
	heard := listening(t, other)
	ctx := t.Context()

	for _, how := range []syscall.Signal{syscall.SIGINT, syscall.SIGQUIT} {
		accepted := map[string]bool{}
		var unsure []string
		down := make(chan struct{})
		done := make(chan struct{})
		first := make(chan struct{})
		go func() {
			defer close(done)
			for n := 0; ; n++ {
				p := newJob(owner, "")
				switch _, _, err := s.Enqueue(context.Background(), p); {
				case err == nil:
					accepted[p.Job.ID] = true
				case hub.CodeOf(err) == hub.Unavailable:
					unsure = append(unsure, p.Job.ID)
				default:
					t.Errorf("enqueue: %v", err)
				}
				if n == 20 {
					close(first)
				}
				select {
				case <-down:
					if n > 20 {
						return
					}
				default:
				}
			}
		}()
		<-first
		c.stop(how)
		close(down)
		<-done
		if err := s.Ping(ctx); hub.CodeOf(err) != hub.Unavailable {
			t.Errorf("ping while the server is down: %v", err)
		}
		if _, err := s.Now(ctx); err != nil {
			t.Errorf("the clock while the server is down: %v", err)
		}
		c.start()
		if h := hint(t, heard); h != (hub.Hint{}) {
			t.Errorf("after the gap %+v was heard", h)
		}
		if err := s.Ping(ctx); err != nil {
			t.Errorf("ping once the server is back: %v", err)
		}
		stored := 0
		for id := range accepted {
			if _, err := s.GetJob(ctx, id); err != nil {
				t.Errorf("%s was accepted and is gone: %v", id, err)
			}
		}
		for _, id := range unsure {
			if _, err := s.GetJob(ctx, id); err == nil {
				stored++
			}
		}
		t.Logf("%v: %d accepted, %d unsure of which %d are there", how, len(accepted), len(unsure), stored)
		// Every job has its payload and its event, or is not there at all.
		if n := sqlInt(t, s, `SELECT count(*) FROM jobs j FULL JOIN job_payloads p ON p.job_id = j.id
			FULL JOIN events e ON e.job_id = j.id WHERE j.id IS NULL OR p.job_id IS NULL OR e.job_id IS NULL`); n != 0 {
			t.Errorf("%d jobs are there in part", n)
		}
		if err := s.Notify(ctx, []hub.Hint{{JobID: "job_1"}}); err != nil {
			t.Fatal(err)
		}
		for {
			if h := hint(t, heard); h.JobID == "job_1" {
				break
			} else if h != (hub.Hint{}) {
				t.Errorf("heard %+v", h)
			}
		}
	}
}

// A hub that starts while its database is still starting is told so, and may try again.
func TestOpenWhileServerIsDown(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.start()
	c.stop(syscall.SIGQUIT) // so that it has something to recover
	if _, err := Open(t.Context(), c.url(), Options{}); hub.CodeOf(err) != hub.Unavailable {
		t.Errorf("got %v", err)
	}
	c.start()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s, err := Open(ctx, c.url(), Options{MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Ping(ctx), s.Close()); err != nil {
		t.Error(err)
	}
}
