package attempt

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/runnerhub/runnerhub/topology"
)

// warmKey says which jobs can have a set of services. Owners never share one, and
// neither do runners.
type warmKey struct {
	hub, runner, owner string
	made               string // see topology.ReuseKey
}

// warmSet is the reused services of a job, with their volumes and the network that they
// are on. One attempt has it at a time; in between it is idle.
type warmSet struct {
	key      warmKey
	tag      string
	network  string // of the pool's kind
	internal bool
	born     time.Time

	members map[string]*warmMember // by the service's name
	known   topology.Snapshot      // its containers and volumes, while it is idle

	life  context.Context // ends with the set
	end   context.CancelFunc
	timer *time.Timer // ends it when nobody has wanted it for long
}

// warmMember is a started service of a set. It is listened to as long as it lives, so
// that its end is known at once, and what it writes goes to the attempt that has it.
type warmMember struct {
	container string
	out       *outlet
	process   topology.Process // nil until it was started
}

func newWarmSet(key warmKey, tag, network string, internal bool, limit func() *rate.Limiter, names topology.Names, services []string) *warmSet {
	s := &warmSet{key: key, tag: tag, network: network, internal: internal, born: time.Now(), members: map[string]*warmMember{}}
	s.life, s.end = context.WithCancel(context.Background())
	for _, name := range services {
		s.members[name] = &warmMember{container: names.Services[name], out: newOutlet(limit())}
	}
	return s
}

// started says whether all members have been.
func (s *warmSet) started() bool {
	for _, m := range s.members {
		if m.process == nil {
			return false
		}
	}
	return true
}

// pod says whether the set is no services but a pod; see pods.
func (s *warmSet) pod() bool { return s.members[podMember] != nil && s.key.owner == "" }

// filter selects what there is of the set on the engine.
func (s *warmSet) filter() topology.Filter {
	return topology.Filter{Hub: s.key.hub, Runner: s.key.runner, Set: s.tag}
}

// outlet is where a member's output comes out. It counts the bytes since the container's
// start, whoever hears them: an attempt's part of them begins somewhere in the middle.
type outlet struct {
	limit *rate.Limiter // of what nobody hears, so that it costs little; nil is none

	mu  sync.Mutex
	to  *tap // nil while the set is idle
	at  topology.Offsets
	cut context.Context // ends the wait of what nobody hears when somebody comes
	end context.CancelFunc
}

func newOutlet(limit *rate.Limiter) *outlet {
	o := &outlet{limit: limit}
	o.cut, o.end = context.WithCancel(context.Background())
	return o
}

// write takes a piece of output. It holds the lock meanwhile: a tap is for one goroutine,
// and has all that came before detach returns.
func (o *outlet) write(stream topology.Stream, data []byte) {
	o.mu.Lock()
	if at := o.at.Of(stream); at != nil {
		at.Bytes += int64(len(data))
		at.Tail = append(at.Tail, data...)
		at.Tail = append([]byte(nil), at.Tail[max(0, len(at.Tail)-topology.OffsetTail):]...)
	}
	to, cut := o.to, o.cut
	if to != nil {
		to.write(stream, data)
	}
	o.mu.Unlock()
	if to == nil && o.limit != nil {
		_ = o.limit.WaitN(cut, min(len(data), o.limit.Burst())) // somebody has come: go on at once
	}
}

// attach has the output go to a tap that make makes for what comes after a place.
func (o *outlet) attach(to func(topology.Offsets) *tap) topology.Offsets {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.end()
	o.at.At = time.Now()
	o.to = to(o.at)
	return o.at
}

// detach has what comes from now on go nowhere.
func (o *outlet) detach() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.to = nil
	o.cut, o.end = context.WithCancel(context.Background())
}
