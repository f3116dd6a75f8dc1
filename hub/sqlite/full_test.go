package sqlite

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/storetest"
)

// fill enqueues until the store takes no more.
func fill(t *testing.T, s *Store) (answered []string, err error) {
	t.Helper()
	for range 10000 {
		p := storetest.NewJob("user:child", "")
		p.Payload.Spec = make([]byte, 3000)
		if _, _, err = s.Enqueue(t.Context(), p); err != nil {
			return answered, err
		}
		answered = append(answered, p.Job.ID)
	}
	t.Fatal("the disk does not get full")
	return nil, nil
}

func TestFullDisk(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hub.db")
	s := open(t, path, Options{maxPages: 100})
	answered, err := fill(t, s)
	e := wantError(t, err, hub.Unavailable)
	if !e.Retryable || !strings.Contains(e.Hint, "disk is full") || !strings.Contains(e.Hint, path) {
		t.Errorf("got %+v", e)
	}
	// Nothing of the refused job is left, all that was answered is there, and what needs no room goes on.
	allThere(t, s, answered)
	jobs, err := s.ListJobs(t.Context(), hub.JobFilter{Owners: []hub.Owner{"user:child"}, Limit: 10000})
	if err != nil || len(jobs) != len(answered) {
		t.Fatalf("%d jobs are stored and %d were answered, %v", len(jobs), len(answered), err)
	}
	wantError(t, s.Ping(t.Context()), hub.Unavailable)
	wantError(t, s.Ping(t.Context()), hub.Unavailable)
	if _, err := s.DeletePairings(t.Context(), storetest.Start()); err != nil {
		t.Errorf("a write that needs no room: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, path, Options{}) // on a larger disk
	allThere(t, s, answered)
	if _, _, err := s.Enqueue(t.Context(), storetest.NewJob("user:child", "")); err != nil {
		t.Fatal(err)
	}
}
