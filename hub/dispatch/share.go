package dispatch

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/runnerhub/runnerhub/hub"
)

// shareLook is how long a long queue that was found to hold one workspace's jobs alone is believed to.
const shareLook = time.Second

// maxShares bounds what is remembered of queues; over it all is forgotten, and looked at again.
const maxShares = 10_000

// shares remembers the long queues in which there is nothing to share, so that a flood of one
// workspace's costs no look at the whole queue for each of its jobs. Another workspace's job ends that at once when it
// comes through this hub, and within shareLook when it comes through another. Of the queues that are
// shared it remembers when each workspace last had its turn at this hub.
type shares struct {
	mu     sync.Mutex
	single map[hub.QueueKey]single
	count  int64 // of turns
	turn   map[sharer]int64
}

type sharer struct {
	key         hub.QueueKey
	workspaceID string
}

type single struct {
	workspaceID string
	at          time.Time
}

func newShares() *shares {
	return &shares{single: map[hub.QueueKey]single{}, turn: map[sharer]int64{}}
}

// served notes that a workspace had a job of a shared queue leased.
func (x *shares) served(k hub.QueueKey, workspaceID string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.turn) >= maxShares {
		clear(x.turn)
	}
	x.count++
	x.turn[sharer{k, workspaceID}] = x.count
}

// sort orders workspaces with as many live jobs as each other by turns: on a runner with one slot none ever has
// one live when the next is chosen, and the older flood would have it all the time.
func (x *shares) sort(k hub.QueueKey, list []hub.Share) {
	x.mu.Lock()
	defer x.mu.Unlock()
	slices.SortStableFunc(list, func(a, b hub.Share) int {
		return cmp.Or(cmp.Compare(a.Live, b.Live),
			cmp.Compare(x.turn[sharer{k, a.WorkspaceID}], x.turn[sharer{k, b.WorkspaceID}]))
	})
}

func (x *shares) note(k hub.QueueKey, workspaceID string, now time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.single) >= maxShares {
		clear(x.single)
	}
	x.single[k] = single{workspaceID, now}
}

func (x *shares) known(k hub.QueueKey, now time.Time) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	s, ok := x.single[k]
	return ok && now.Sub(s.at) < shareLook
}

// arrived takes note of a new job.
func (x *shares) arrived(j hub.Job) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if s, ok := x.single[j.QueueKey()]; ok && s.workspaceID != j.WorkspaceID {
		delete(x.single, j.QueueKey())
	}
}

// mayShare says whether a page of a queue is of several workspaces' jobs, or so long that others' may follow it.
func mayShare(k hub.QueueKey, jobs []hub.QueuedJob) bool {
	owner, _ := k.Split()
	_, personal := owner.User()
	return personal && (len(jobs) >= page || mixed(jobs))
}

// mixed says whether jobs are of several workspaces.
func mixed(jobs []hub.QueuedJob) bool {
	return slices.ContainsFunc(jobs, func(q hub.QueuedJob) bool { return q.Job.WorkspaceID != jobs[0].Job.WorkspaceID })
}

// sharesOf lists the workspaces that share a queue, whose turn it is first; nil when one has it to itself. head is
// the queue's first page. A workspace's own runners serve it alone; a person's serve all of that person's.
func (s *Service) sharesOf(ctx context.Context, k hub.QueueKey, head []hub.QueuedJob) ([]hub.Share, error) {
	if !mayShare(k, head) {
		return nil, nil
	}
	now := s.clock.local()
	if !mixed(head) && s.shares.known(k, now) {
		return nil, nil
	}
	list, err := s.store.Shares(ctx, k)
	if err != nil {
		return nil, err
	}
	if len(list) == 1 {
		s.shares.note(k, list[0].WorkspaceID, now)
	}
	if len(list) < 2 {
		return nil, nil
	}
	s.shares.sort(k, list)
	return list, nil
}
