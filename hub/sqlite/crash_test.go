package sqlite

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/runnerhub/runnerhub/hub"
)

// What was answered is there after kill -9, whole: job, payload and event.
func TestKillLosesNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hub.db")
	var answered []string
	for range 3 {
		c := startChild(t, taskEnqueue, path)
		for range 20 {
			answered = append(answered, c.line())
		}
		if err := c.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		rest := c.rest()
		answered = append(answered, rest...)
		c.kill()
	}
	s := open(t, path, Options{})
	t.Logf("%d jobs were answered", len(answered))
	allThere(t, s, answered)
	jobs, err := s.ListJobs(t.Context(), hub.JobFilter{Owners: []hub.Owner{"user:child"}, Limit: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	var stored []string
	for _, j := range jobs {
		stored = append(stored, j.Job.ID)
	}
	allThere(t, s, stored) // one that was written and not answered is whole too
}

func allThere(t *testing.T, s *Store, ids []string) {
	t.Helper()
	for _, id := range ids {
		if !strings.HasPrefix(id, hub.JobIDPrefix) {
			continue // the line was cut off by the kill, or is an error
		}
		j, err := s.GetJob(t.Context(), id)
		if err != nil {
			t.Fatalf("%s: %v", id, err)
		}
		p, err := s.GetPayload(t.Context(), id)
		if err != nil || len(p.Spec) != 3000 {
			t.Fatalf("%s: %d bytes of spec, %v", id, len(p.Spec), err)
		}
		e, err := s.ListEvents(t.Context(), id)
		if err != nil || len(e) != 1 || j.State != hub.JobQueued {
			t.Fatalf("%s: %s, %d events, %v", id, j.State, len(e), err)
		}
	}
}
