package modeltest

import (
	"fmt"
	"slices"
	"time"

	"github.com/runnerhub/runnerhub/hub"
)

// grant is a lease as its runner knows it.
type grant struct {
	job    string
	runner int
	proof  hub.Proof
}

// answer is what a call came to.
type answer struct {
	err                           hub.Code
	job                           string // of a submit
	existing                      bool
	grant                         *grant
	state                         string // of a heartbeat
	accepted, duplicate, requeued bool
}

func want(a answer, codes ...hub.Code) error {
	if !slices.Contains(codes, a.err) {
		return fmt.Errorf("got the code %q, want one of %q", a.err, codes)
	}
	return nil
}

// subject is what is held against the model. Hubs and runners go by their numbers.
type subject interface {
	submit(h int, s submission) answer
	lease(h, r int, request string) answer
	beat(h int, g grant) answer
	report(h int, g grant, o outcome) answer
	release(h int, g grant) answer
	cancel(h int, job string) answer
	sweep(h int) error
	restart(h int)
	revoke(h, r int) error
	row(job string) (hub.Job, error)
	attempts(job string) ([]hub.Attempt, error)
	// agree checks that everything that is kept of the jobs says the same.
	agree(jobs []string) error
}

// clock is a time that histories move. It begins anew with each.
type clock struct{ t time.Time }

func (c *clock) now() time.Time { return c.t }

// start is when histories begin: at a whole second, since ranks count in those.
var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// policy has a low cap, so that histories reach it.
func policy() hub.Policy {
	p := hub.DefaultPolicy()
	p.MaxRunning = 2
	p.NoRunnerTimeout += time.Second / 2 // histories move by whole seconds, so nothing is ever exactly this old
	return p
}

// world is a history on its way.
type world struct {
	*model
	s        subject
	clock    *clock
	grants   []grant
	sent     []outcome // by grant
	requests [runners]string
	n        int // request ids and keys so far
}

// play plays a history to its end, and then until every job has ended. The error tells the first thing that was
// not as it must be.
func play(h history, s subject, c *clock) error {
	_, many := s.(*hubsOn)
	w := &world{model: &model{policy: policy(), now: c.t, hints: many}, s: s, clock: c}
	for i := range hubs {
		w.started[i] = c.t
	}
	for i, st := range h {
		touched, err := w.step(st)
		if err == nil {
			err = w.same(touched)
		}
		if err != nil {
			return fmt.Errorf("step %d, %v, %v after the start: %w", i, st, c.t.Sub(start), err)
		}
	}
	if err := w.finish(); err != nil {
		return fmt.Errorf("after the last step: %w", err)
	}
	return nil
}

// newest picks from the end of a list.
func newest[T any](list []T, n int) (i int, ok bool) {
	if len(list) == 0 {
		return 0, false
	}
	return len(list) - 1 - n%len(list), true
}

// step takes one step, and returns the jobs whose rows are to be looked at: nil for all.
func (w *world) step(st step) ([]*job, error) {
	switch st.Kind {
	case submit, again, cancel:
		return w.person(st)
	case lease, lost, repeat:
		return w.ask(st)
	case beat, report, resend, release:
		return w.hold(st)
	case tick:
		w.pass(st.passes())
		return []*job{}, nil
	case sweep:
		return nil, w.sweepBy(st.Hub)
	case restart:
		w.s.restart(st.Hub)
		w.started[st.Hub], w.seen[st.Hub] = w.now, [runners]time.Time{}
		for _, j := range w.jobs {
			j.known[st.Hub] = true // who knows nothing looks
		}
	case freeze:
		w.frozen[st.Runner] = !w.frozen[st.Runner]
	case revoke:
		if st.Arg%4 != 0 || w.revoked[st.Runner] {
			break // rarely: it takes a third of the world away
		}
		w.unpaired(st.Hub, st.Runner)
		return nil, w.s.revoke(st.Hub, st.Runner)
	}
	return []*job{}, nil
}

func (w *world) pass(d time.Duration) {
	w.clock.t = w.clock.t.Add(d)
	w.now = w.clock.t
}

func (w *world) person(st step) ([]*job, error) {
	if st.Kind == submit {
		w.n++
		s := st.submission(w.n)
		if s.runner != none && w.revoked[s.runner] {
			s.runner = none
		}
		if err := w.submitted(st.Hub, s, w.s.submit(st.Hub, s)); err != nil {
			return nil, err
		}
		return w.jobs[len(w.jobs)-1:], nil
	}
	i, ok := newest(w.jobs, st.Pick)
	if !ok {
		return []*job{}, nil
	}
	j := w.jobs[i]
	if st.Kind == cancel {
		return []*job{j}, w.cancelled(j, w.s.cancel(st.Hub, j.id))
	}
	if j.key == "" || j.runner != none && w.revoked[j.runner] {
		return []*job{}, nil
	}
	a := w.s.submit(st.Hub, j.submission)
	if a.err != "" || a.job != j.id || !a.existing {
		return nil, fmt.Errorf("a repeat of the submit of %s got %+v", j.id, a)
	}
	return []*job{j}, nil
}

func (w *world) ask(st step) ([]*job, error) {
	r := st.Runner
	if w.frozen[r] {
		return []*job{}, nil
	}
	if st.Kind != repeat || w.requests[r] == "" {
		w.n++
		w.requests[r] = fmt.Sprintf("request-%d", w.n)
	}
	a := w.s.lease(st.Hub, r, w.requests[r])
	if err := w.leased(st.Hub, r, w.requests[r], a, func(j *job) (hub.Job, error) { return w.s.row(j.id) }); err != nil {
		return nil, err
	}
	if a.grant == nil {
		return []*job{}, nil
	}
	if st.Kind != lost && !slices.Contains(w.grants, *a.grant) {
		w.grants, w.sent = append(w.grants, *a.grant), append(w.sent, "")
	}
	return []*job{w.find(a.grant.job)}, nil
}

func (w *world) hold(st step) ([]*job, error) {
	i, ok := newest(w.grants, st.Pick)
	if !ok || w.frozen[w.grants[i].runner] || st.Kind == resend && w.sent[i] == "" {
		return []*job{}, nil
	}
	g := w.grants[i]
	touched := []*job{w.find(g.job)}
	switch st.Kind {
	case beat:
		return touched, w.beaten(st.Hub, g, w.s.beat(st.Hub, g))
	case report:
		w.sent[i] = st.outcome()
		fallthrough
	case resend:
		return touched, w.reported(st.Hub, g, w.sent[i], w.s.report(st.Hub, g, w.sent[i]))
	default:
		return touched, w.released(st.Hub, g, w.s.release(st.Hub, g))
	}
}

func (w *world) sweepBy(h int) error {
	if err := w.s.sweep(h); err != nil {
		return err
	}
	w.swept(h)
	return nil
}

// same compares rows with the model.
func (w *world) same(jobs []*job) error {
	if jobs == nil {
		jobs = w.jobs
	}
	for _, j := range jobs {
		got, err := w.s.row(j.id)
		if err != nil {
			return err
		}
		if got.State != j.state || got.Attempt != len(j.attempts) || got.Losses != j.losses || got.CancelRequestedAt.IsZero() != j.canceled.IsZero() ||
			!got.LeaseExpiresAt.Equal(j.expires) || !got.DeadlineAt.Equal(j.deadline) {
			return fmt.Errorf("%s is %s in attempt %d after %d losses, with a lease until %v and %v at most, canceled %v;\nthe model has %s, %d, %d, %v, %v, %v",
				j.id, got.State, got.Attempt, got.Losses, got.LeaseExpiresAt, got.DeadlineAt, !got.CancelRequestedAt.IsZero(),
				j.state, len(j.attempts), j.losses, j.expires, j.deadline, !j.canceled.IsZero())
		}
		if (got.Failure != nil) != (j.state.Ended() && j.state != hub.JobSucceeded) {
			return fmt.Errorf("%s is %s with the failure %+v", j.id, j.state, got.Failure)
		}
	}
	return nil
}

// finish lets time pass until all jobs have ended by themselves, which they must soon, and looks at everything once more.
func (w *world) finish() error {
	for range 3 {
		for _, d := range []time.Duration{61 * time.Second, 3 * time.Minute, 6 * time.Minute} {
			w.pass(d)
			if err := w.sweepBy(w.n % hubs); err != nil {
				return err
			}
			w.n++
		}
	}
	if err := w.same(nil); err != nil {
		return err
	}
	ids := make([]string, len(w.jobs))
	for i, j := range w.jobs {
		if ids[i] = j.id; !j.state.Ended() {
			return fmt.Errorf("%s is %s for ever", j.id, j.state)
		}
		got, err := w.s.attempts(j.id)
		if err != nil {
			return err
		}
		if len(got) != len(j.attempts) {
			return fmt.Errorf("%s has %d attempts, want %d", j.id, len(got), len(j.attempts))
		}
		for k, a := range got {
			if a.State != j.attempts[k].state || a.Epoch != j.attempts[k].epoch || a.Number != k+1 || (len(a.ReportDigest) > 0) != (j.attempts[k].reported != "") {
				return fmt.Errorf("attempt %d of %s is %s with epoch %d, want %+v", a.Number, j.id, a.State, a.Epoch, *j.attempts[k])
			}
		}
	}
	return w.s.agree(ids)
}
