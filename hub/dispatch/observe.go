package dispatch

import (
	"context"
	"encoding/json"
	"time"

	"github.com/runnerhub/runnerhub/hub"
)

// observeEvery is how far apart a caller who waits is told of changes, at least.
const observeEvery = time.Second

// Progress is what a caller who waits for a job is told while it does.
type Progress struct {
	Job   hub.Job
	Steps []string // names of the spec's, in order
	Lines int64    // of the log, written since the wait began
	Done  int64    // lines and changes so far; it grows with each Progress
}

// pace keeps what a held call tells apart.
type pace struct{ next time.Time }

// due says whether it is time to tell, and has the call look again when it will be.
func (p *pace) due(h *hold) bool {
	if wait := time.Until(p.next); wait > 0 {
		h.within(wait)
		return false
	}
	h.within(h.every)
	return true
}

func (p *pace) told() { p.next = time.Now().Add(observeEvery) } // of a stream, so not by the leases' clock

// observer watches one job for one held call. A nil one watches nothing.
type observer struct {
	s    *Service
	tell func(Progress)
	pace
	last    Progress
	state   string // as it was told last
	attempt int    // whose log is counted, from offset on; 0 before the first
	offset  int64
	seen    bool // a first look has said where the log stands
}

func (s *Service) observer(tell func(Progress)) *observer {
	if tell == nil {
		return nil
	}
	return &observer{s: s, tell: tell}
}

// look tells of the job what is new. What cannot be read is told another time: the wait itself says what is wrong.
func (o *observer) look(ctx context.Context, j hub.Job, h *hold) {
	if o == nil || !o.due(h) {
		return
	}
	if !o.seen {
		o.begin(ctx, j)
	}
	lines := o.count(ctx, j)
	state := stateOf(j)
	if lines == 0 && state == o.state {
		return
	}
	o.last.Job, o.last.Lines = j, o.last.Lines+lines
	if o.last.Done += lines; state != o.state {
		o.last.Done++
	}
	o.state = state
	o.told()
	o.tell(o.last)
}

// begin notes where the log ends now, and what the steps are called.
func (o *observer) begin(ctx context.Context, j hub.Job) {
	o.seen, o.attempt = true, j.Attempt
	if a, err := o.s.store.GetAttempt(ctx, j.ID, j.Attempt); err == nil {
		o.offset = a.LogSize
	}
	payload, err := o.s.store.GetPayload(ctx, j.ID)
	if err != nil {
		return
	}
	var spec struct {
		Steps []struct {
			Name string `json:"name"`
		} `json:"steps"`
	}
	if json.Unmarshal(payload.Spec, &spec) != nil {
		return
	}
	for _, step := range spec.Steps {
		o.last.Steps = append(o.last.Steps, step.Name)
	}
}

// count is how many lines have come since the look before, of the attempt that runs.
func (o *observer) count(ctx context.Context, j hub.Job) (lines int64) {
	if j.Attempt == 0 {
		return 0
	}
	if j.Attempt != o.attempt {
		o.attempt, o.offset = j.Attempt, 0
	}
	a, err := o.s.store.GetAttempt(ctx, j.ID, o.attempt)
	if err != nil {
		return 0
	}
	f := &logFile{s: o.s, jobID: j.ID, attempt: o.attempt, size: a.LogSize}
	_ = f.forward(ctx, o.offset, o.s.logScan, false, func(it item) bool {
		if o.offset = it.End; it.gap == 0 {
			lines++
		}
		return true
	})
	return lines
}
