package dispatch

import (
	"context"
	"sync"

	"github.com/runnerhub/runnerhub/hub"
)

// page is how many queued jobs are read at once.
const page = 50

// looks are the queues in which jobs may wait that nobody of this hub was woken
// for: another hub hinted at them, or room was made, or a concurrency group came free. Each is looked at
// once, in turn, so that no owner's flood of hints holds up another's.
type looks struct {
	mu    sync.Mutex
	queue []look
	in    map[look]bool
	all   bool
	ch    chan struct{}
}

// look is what is to be looked at: a queue, or who waits for a group.
type look struct {
	key   hub.QueueKey
	group hub.Group
}

func newLooks() *looks { return &looks{in: map[look]bool{}, ch: make(chan struct{}, 1)} }

func (l *looks) add(keys ...hub.QueueKey) {
	for _, k := range keys {
		l.put(look{key: k})
	}
}

func (l *looks) addGroup(g hub.Group) { l.put(look{group: g}) }

func (l *looks) put(x look) {
	l.mu.Lock()
	if !l.in[x] {
		l.in[x] = true
		l.queue = append(l.queue, x)
	}
	l.mu.Unlock()
	l.signal()
}

// addAll asks for a look at every queue that somebody waits at.
func (l *looks) addAll() {
	l.mu.Lock()
	l.all = true
	l.mu.Unlock()
	l.signal()
}

func (l *looks) signal() {
	select {
	case l.ch <- struct{}{}:
	default:
	}
}

func (l *looks) next() (x look, all, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all {
		l.all = false
		return look{}, true, true
	}
	if len(l.queue) == 0 {
		return look{}, false, false
	}
	x = l.queue[0]
	l.queue = l.queue[1:]
	delete(l.in, x)
	return x, false, true
}

// runLooks looks at queues as they are asked for, and every BackupPoll at all
// that hold jobs, in one query however many calls wait.
func (s *Service) runLooks(ctx context.Context) {
	for {
		if !pauseOr(ctx, s.policy.BackupPoll, s.looks.ch) {
			// A hint that was lost is made up for here, also to runners that do not wait: they look again themselves.
			s.waiters.stir("")
			s.looks.addAll()
		}
		for ctx.Err() == nil {
			x, all, ok := s.looks.next()
			if !ok {
				break
			}
			var err error
			switch {
			case all:
				err = s.lookAtAll(ctx)
			case x.key != "":
				err = s.lookAt(ctx, x.key)
			default:
				err = s.lookAtGroup(ctx, x.group)
			}
			if err != nil && ctx.Err() == nil {
				s.log.Warn("a queue could not be looked at", "queue", x.key, "group", x.group.Name, "error", err)
			}
		}
		if ctx.Err() != nil {
			return
		}
	}
}

func (s *Service) lookAtAll(ctx context.Context) error {
	waited := map[hub.QueueKey]bool{}
	for _, k := range s.waiters.keys() {
		waited[k] = true
	}
	if len(waited) == 0 {
		return nil
	}
	keys, err := s.store.QueueKeys(ctx, s.clock.now().Add(s.policy.LeaseTTL)) // clocks may differ
	if err != nil {
		return err
	}
	for _, k := range keys {
		if waited[k] {
			s.looks.add(k)
		}
	}
	return nil
}

// lookAt wakes one waiter for each job of a queue that nobody is about to take,
// until all of them are awake.
func (s *Service) lookAt(ctx context.Context, k hub.QueueKey) error {
	var after *hub.QueuePos
	off := newObstacles()
	for s.waiters.asleep(k) {
		jobs, err := s.store.ListQueued(ctx, k, after, page)
		if err == nil {
			err = off.look(ctx, s.store, jobs)
		}
		if err != nil {
			return err
		}
		if len(jobs) > 0 {
			s.waiters.stir(k) // there may be more of them than there are waiters
		}
		shared := mayShare(k, jobs)
		for _, q := range jobs {
			a := arrivalOf(q)
			a.shared = shared
			if off.bars(q.Job) || s.waiters.isReserved(q.Job.ID) || !s.waiters.offer(a) {
				continue
			}
			// Where there was no room one tries whether there is again; if so, the others follow.
			if s.waiters.isCapped(capKey{owner: q.Job.Owner}) {
				return nil
			}
			if s.waiters.isCapped(capKey{q.Job.Owner, q.Job.WorkspaceID}) {
				off.full[q.Job.WorkspaceID] = true
			}
			off.hold(q.Job)
		}
		if len(jobs) < page {
			return nil
		}
		after = &hub.QueuePos{Rank: jobs[len(jobs)-1].Job.Rank, ID: jobs[len(jobs)-1].Job.ID}
	}
	return nil
}

// arrived finds somebody for a job that waits: a call of this hub, else one of
// another hub's. It says whether there was one here.
func (s *Service) arrived(a arrival) bool {
	here := s.waiters.offer(a)
	if !here {
		s.notify.add(hub.Hint{Queue: a.key}, true)
	}
	return here
}
