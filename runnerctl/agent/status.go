package agent

import (
	"sync"
	"time"

	"github.com/runnerhub/runnerhub/mcp"
)

// State is what a runner is doing, in one word.
type State string

// The states of a runner.
const (
	StateStarting          State = "starting"           // looking for the engine and the hub
	StateIdle              State = "idle"               // waiting for work
	StateBusy              State = "busy"               // running at least one job
	StateDraining          State = "draining"           // finishing what runs, taking nothing new
	StateEngineUnavailable State = "engine_unavailable" // no container engine, so no work is taken
	StatePaused            State = "paused"             // the machine's owner lets it take no jobs now
	StateHubUnreachable    State = "hub_unreachable"    // trying to reach the hub
	StateStopped           State = "stopped"
)

// Status is a runner's state for whoever watches it.
type Status struct {
	State  State
	Text   string // one line for people
	Level  string // ok, warning or error
	Slots  int
	Busy   int
	Engine string // name and version, empty while there is none
	HubID  string // empty while it is not known
}

// board derives the status from what the loops know and tells of every change.
type board struct {
	tell func(Status)

	mu       sync.Mutex
	slots    int
	busy     int
	draining bool
	stopped  bool
	polled   bool // the hub has answered at least once
	hubErr   error
	hubGone  time.Time // since when there is one
	hubID    string
	engine   string
	trouble  string // why no work is taken, from the engine's side
	closed   string // and from the owner's
	last     Status

	closedLevel string
}

// change applies f and tells of a new status.
func (b *board) change(f func(*board)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f(b)
	s := b.status()
	if s == b.last {
		return
	}
	b.last = s
	if b.tell != nil {
		b.tell(s)
	}
}

func (b *board) status() Status {
	s := Status{State: StateIdle, Level: "ok", Slots: b.slots, Busy: b.busy, Engine: b.engine, HubID: b.hubID}
	switch {
	case b.stopped:
		s.State, s.Text = StateStopped, "stopped"
	case b.draining:
		s.State, s.Text = StateDraining, "finishing what runs, taking no new work"
	case b.trouble != "":
		s.State, s.Text, s.Level = StateEngineUnavailable, b.trouble, "error"
	case b.closed != "":
		s.State, s.Text, s.Level = StatePaused, b.closed, b.closedLevel
	case b.hubErr != nil:
		s.State, s.Text, s.Level = StateHubUnreachable, b.hubErr.Error(), "warning"
	case b.engine == "":
		s.State, s.Text = StateStarting, "looking for a container engine"
	case b.busy > 0:
		s.State, s.Text = StateBusy, b.engine
	case !b.polled:
		s.State, s.Text = StateStarting, "connecting to the hub"
	default:
		s.Text = b.engine
	}
	return s
}

// forHub is the status as the hub's readers see it.
func (b *board) forHub() *mcp.RunnerStatus {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.trouble != "" {
		return &mcp.RunnerStatus{Text: clip(b.trouble, maxReason), Level: "error"}
	}
	if b.closed != "" {
		return &mcp.RunnerStatus{Text: clip(b.closed, maxReason), Level: b.closedLevel}
	}
	return &mcp.RunnerStatus{Text: clip(b.engine, maxReason), Level: "ok"}
}

// free is how many slots run nothing. Attempts that were taken up may be more than there are slots now.
func (b *board) free() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return max(0, b.slots-b.busy)
}
