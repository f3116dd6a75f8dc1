// Package memory keeps a hub's state in this process alone: the reference implementation of hub.Store, next to
// which the drivers are measured and models are compared. Nothing outlives the process, so no hub serves from it.
//
// One lock guards everything. What goes in and what comes out is copied, so that no caller can change what is stored.
package memory

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/tidwall/btree"

	"github.com/runnerhub/runnerhub/hub"
)

// Store implements hub.Store. It is safe for concurrent use. Several hubs of one process may share it, but hear no
// hints of each other's.
type Store struct {
	id     string
	ctx    context.Context // done once Close was called
	cancel context.CancelFunc

	mu     sync.RWMutex // guards what follows
	jobs   map[string]*row
	keys   map[idempotencyKey]keyed
	queues map[hub.QueueKey]*btree.BTreeG[*row] // by rank and id
	live   *btree.Map[string, *row]
	holds  map[string]*btree.Map[string, *row]    // live jobs by runner
	counts map[hub.Owner]map[string]int           // live jobs by owner and runner
	parts  map[part]int                           // live jobs by owner and workspace
	owned  map[hub.Owner]*btree.Map[string, *row] // jobs by owner
	logs   map[string]*attempt                    // by the digest of their capability

	groupHolders map[hub.Group]string              // the live job of a concurrency group
	groupQueues  map[hub.Group]*btree.BTreeG[*row] // what waits for it

	uploads map[string]*upload
	blobs   map[string]*blob

	leaders map[string]leader // by task
	execs   map[string]*hub.Exec

	events    map[string][]hub.Event // by job
	lastEvent int64

	runners  map[string]*hub.Runner
	byOwner  map[hub.Owner]*btree.Map[string, *hub.Runner]
	byToken  map[string]*hub.Runner
	pairings map[string]*hub.Pairing
	codes    map[string]*hub.Pairing // by digest
	tokens   map[string]*hub.Pairing // by digest

	users      map[string]hub.User
	logins     map[string]string // to user ids
	workspaces map[string]hub.Workspace
	slugs      map[string]string // to workspace ids
	members    map[string][]hub.Membership
	apiKeys    map[string]*hub.APIKey
	keyDigests map[string]*hub.APIKey
}

var _ hub.Store = (*Store)(nil)

// New makes an empty store.
func New() *Store {
	s := &Store{
		id:   "hub_" + uuid.NewString(),
		jobs: map[string]*row{}, keys: map[idempotencyKey]keyed{}, queues: map[hub.QueueKey]*btree.BTreeG[*row]{},
		live: &btree.Map[string, *row]{}, holds: map[string]*btree.Map[string, *row]{}, counts: map[hub.Owner]map[string]int{},
		parts: map[part]int{}, groupHolders: map[hub.Group]string{}, groupQueues: map[hub.Group]*btree.BTreeG[*row]{},
		uploads: map[string]*upload{}, blobs: map[string]*blob{},
		leaders: map[string]leader{}, execs: map[string]*hub.Exec{}, owned: map[hub.Owner]*btree.Map[string, *row]{}, logs: map[string]*attempt{}, events: map[string][]hub.Event{},
		runners: map[string]*hub.Runner{}, byOwner: map[hub.Owner]*btree.Map[string, *hub.Runner]{}, byToken: map[string]*hub.Runner{},
		pairings: map[string]*hub.Pairing{}, codes: map[string]*hub.Pairing{}, tokens: map[string]*hub.Pairing{},
		users: map[string]hub.User{}, logins: map[string]string{}, workspaces: map[string]hub.Workspace{}, slugs: map[string]string{},
		members: map[string][]hub.Membership{}, apiKeys: map[string]*hub.APIKey{}, keyDigests: map[string]*hub.APIKey{},
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// Close implements hub.Store. What was stored is out of reach from then on.
func (s *Store) Close() error {
	s.cancel()
	return nil
}

// HubID implements hub.Store.
func (s *Store) HubID(ctx context.Context) (string, error) { return s.id, s.ready(ctx) }

// Now implements hub.Store: the store's clock is this machine's.
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	return stored(time.Now()), ctx.Err()
}

// Ping implements hub.Store.
func (s *Store) Ping(ctx context.Context) error { return s.ready(ctx) }

// Notify implements hub.Store: there is no other hub to tell.
func (s *Store) Notify(ctx context.Context, _ []hub.Hint) error { return ctx.Err() }

// Listen implements hub.Store: there is no other hub to hear.
func (s *Store) Listen(ctx context.Context, _ func(hub.Hint)) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.ctx.Done():
		return s.ready(ctx)
	}
}

// ready refuses a call of a caller that has given up, and any once the store was closed.
func (s *Store) ready(ctx context.Context) error {
	if s.ctx.Err() != nil {
		return &hub.Error{
			Code: hub.Unavailable, Message: "the store is not available", Hint: "the hub is stopping",
			Retryable: true, RetryAfter: time.Second, Err: errors.New("memory: the store was closed"),
		}
	}
	if ctx.Err() != nil {
		return fmt.Errorf("memory: %w", context.Cause(ctx))
	}
	return nil
}

// write runs f alone. f looks before it changes anything: when it fails, nothing has changed.
func (s *Store) write(ctx context.Context, f func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.ready(ctx); err != nil {
		return err
	}
	return f()
}

// read runs f beside other reads.
func (s *Store) read(ctx context.Context, f func() error) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.ready(ctx); err != nil {
		return err
	}
	return f()
}

// record adds a line to the audit log.
func (s *Store) record(e hub.Event) {
	s.lastEvent++
	e = storedEvent(e)
	e.ID = s.lastEvent
	s.events[e.JobID] = append(s.events[e.JobID], e)
}

// missing is the answer of a read that finds nothing.
func missing(what string) error { return hub.Errorf(hub.NotFound, "no such %s", what) }

// taken is the answer of a write that would use an id or secret for a second time.
func taken() error {
	return hub.Errorf(hub.Conflict, "the id or secret is in use").WithHint("draw another one")
}
