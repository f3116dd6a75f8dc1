package dispatch

import (
	"sync"

	"github.com/runnerhub/runnerhub/hub"
)

// watchers are the held calls that wait for a change of one job: heartbeats for
// a cancel, readers for a state or log bytes. A wake is a hint; who wakes looks again.
type watchers struct {
	mu  sync.Mutex
	job map[string]map[*watcher]struct{}
}

type watcher struct {
	jobID string
	ch    chan struct{} // holds one wake, so that none between two looks is lost
}

func newWatchers() *watchers { return &watchers{job: map[string]map[*watcher]struct{}{}} }

// add registers before the first look, so that no change falls between.
func (w *watchers) add(jobID string) *watcher {
	x := &watcher{jobID: jobID, ch: make(chan struct{}, 1)}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.put(x)
	return x
}

// addAll registers one watcher for each of several jobs; they share a channel.
func (w *watchers) addAll(jobIDs []string) (all []*watcher, ch <-chan struct{}) {
	c := make(chan struct{}, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, id := range jobIDs {
		x := &watcher{jobID: id, ch: c}
		w.put(x)
		all = append(all, x)
	}
	return all, c
}

func (w *watchers) put(x *watcher) {
	if w.job[x.jobID] == nil {
		w.job[x.jobID] = map[*watcher]struct{}{}
	}
	w.job[x.jobID][x] = struct{}{}
}

func (w *watchers) remove(x *watcher) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.job[x.jobID], x)
	if len(w.job[x.jobID]) == 0 {
		delete(w.job, x.jobID)
	}
}

// wake wakes the watchers of one job, or all of them for "".
func (w *watchers) wake(jobID string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if jobID != "" {
		wakeAll(w.job[jobID])
		return
	}
	for _, set := range w.job {
		wakeAll(set)
	}
}

func wakeAll(set map[*watcher]struct{}) {
	for x := range set {
		select {
		case x.ch <- struct{}{}:
		default:
		}
	}
}

// changed tells everybody who watches a job that it changed. urgent changes
// reach other hubs at once, the others within a moment.
func (s *Service) changed(jobID string, urgent bool) {
	s.watch.wake(jobID)
	s.notify.add(hub.Hint{JobID: jobID}, urgent)
}
