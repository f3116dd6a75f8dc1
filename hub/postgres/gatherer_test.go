package postgres

import (
	"context"
	"sync"
	"testing"

	"github.com/runnerhub/runnerhub/hub"
)

// Look-ups that come while a query is under way share the next one, each with its own answer.
func TestLookupsShareAQuery(t *testing.T) {
	t.Parallel()
	s := open(t)
	var ids []string
	for range 20 {
		ids = append(ids, enqueued(t, s, newJob(owner, "")).ID)
	}
	queries := 0
	blocked, release := make(chan struct{}), make(chan struct{})
	g := newGatherer(s, "get a job", func(ctx context.Context, keys []string) ([]hub.Job, error) {
		if queries++; queries == 1 {
			close(blocked)
			<-release
		}
		return rows(ctx, s, scanJob, selectJobsByID, texts(keys))
	}, func(j hub.Job) string { return j.ID })
	type answer struct {
		id  string
		job hub.Job
		err error
	}
	answers := make(chan answer)
	ask := func(id string) {
		go func() {
			j, err := g.one(context.Background(), id, "job")
			answers <- answer{id, j, err}
		}()
	}
	ask(ids[0])
	<-blocked
	asked := append(append(ids[1:], ids[0], ids[1]), "job_none", "a\x00b", "\xff")
	for _, id := range asked {
		ask(id)
	}
	waitFor(t, func() bool {
		g.mu.Lock()
		defer g.mu.Unlock()
		n := 0
		for _, list := range g.waiting {
			n += len(list)
		}
		return n == len(asked)
	})
	close(release)
	none := 0
	for range len(asked) + 1 {
		switch a := <-answers; {
		case hub.CodeOf(a.err) == hub.NotFound:
			none++
		case a.err != nil || a.job.ID != a.id:
			t.Errorf("for %s: got %s, error %v", a.id, a.job.ID, a.err)
		}
	}
	if none != 3 || queries != 2 {
		t.Errorf("%d were not found, in %d queries", none, queries)
	}
}

// A caller that gives up is answered at once, and nobody else notices.
func TestLookupGivenUp(t *testing.T) {
	t.Parallel()
	s := open(t)
	started, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	g := newGatherer(s, "get", func(context.Context, []string) ([]string, error) {
		once.Do(func() { close(started) })
		<-release
		return []string{"k"}, nil
	}, func(s string) string { return s })
	ctx, cancel := context.WithCancel(t.Context())
	first, second := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := g.get(ctx, "k")
		first <- err
	}()
	<-started
	cancel()
	if err := <-first; err == nil {
		t.Error("it was answered")
	}
	go func() {
		_, err := g.get(t.Context(), "k")
		second <- err
	}()
	close(release)
	if err := <-second; err != nil {
		t.Error(err)
	}
}
