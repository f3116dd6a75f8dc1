//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/mcp"
)

// load is a number of people who each submit a job with a known answer, wait for its end, and think about the next one.
type load struct {
	w      *world
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu   sync.Mutex
	jobs map[string]plan // job id → its plan; what the hub has accepted
	next int
}

func (w *world) startLoad(ctx context.Context) *load {
	l := &load{w: w, jobs: map[string]plan{}}
	looping, cancel := context.WithCancel(ctx)
	l.cancel = cancel
	for i := range w.o.people {
		l.wg.Go(func() {
			r := rand.New(rand.NewPCG(w.o.seed, uint64(i)))
			for wait(looping, rand64(r, 2*w.o.think)) {
				l.one(ctx, looping)
			}
		})
	}
	return l
}

// stop ends the load. What was begun to be submitted is brought to its end first, since the hub may have accepted it.
func (l *load) stop() {
	l.cancel()
	l.wg.Wait()
}

// one is a job from its submission to its end, or until looping ends.
func (l *load) one(ctx, looping context.Context) {
	l.mu.Lock()
	p := newPlan(l.w.o.seed, l.next)
	l.next++
	l.mu.Unlock()
	id, err := l.submit(ctx, p)
	if err != nil {
		l.w.Errorf("submit %s: %v", p.Key, err)
		return
	}
	l.mu.Lock()
	l.jobs[id] = p
	l.mu.Unlock()
	if p.Kind == canceled {
		l.wg.Go(func() { l.cancelLater(ctx, id, p) })
	}
	l.awaitEnd(looping, id)
}

// awaitEnd waits as a person does who follows the job.
func (l *load) awaitEnd(ctx context.Context, id string) {
	args := mcp.WaitJobArgs{JobID: id, WaitMS: 10_000, Follow: "end"}
	for {
		got, err := l.w.people.WaitJob(ctx, args)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil && hub.JobState(got.State).Ended():
			return
		case err == nil:
			args.Cursor = got.NextCursor
		case !passes(err):
			l.w.breach("a job can be waited for", id, err.Error())
			return
		default:
			wait(ctx, 200*time.Millisecond)
		}
	}
}

// submit brings one job to the hub, as often as it takes; every fourth one once more, as a client does that did not get
// the answer.
func (l *load) submit(ctx context.Context, p plan) (string, error) {
	spec, err := p.spec()
	if err != nil {
		return "", err
	}
	args := mcp.SubmitJobArgs{JobRequest: mcp.JobRequest{Spec: spec}, IdempotencyKey: p.Key}
	send := func(ctx context.Context) (mcp.SubmitJobResult, error) { return l.w.people.SubmitJob(ctx, args) }
	got, err := retry(ctx, send)
	if err == nil && p.Seed%4 == 0 {
		again, err := retry(ctx, send)
		if err != nil || !again.Existing || again.Job.ID != got.Job.ID {
			l.w.breach("the same submit again is the same job", got.Job.ID, fmt.Sprintf("it became %s (%v)", again.Job.ID, err))
		}
	}
	return got.Job.ID, err
}

// cancelLater cancels a job that does not end otherwise, somewhere in its life.
func (l *load) cancelLater(ctx context.Context, id string, p plan) {
	r := rand.New(rand.NewPCG(p.Seed, 1))
	wait(ctx, rand64(r, 3*time.Second))
	_, err := retry(ctx, func(ctx context.Context) (mcp.CancelJobResult, error) {
		return l.w.people.CancelJob(ctx, mcp.CancelJobArgs{JobID: id, Reason: "as planned"})
	})
	if err != nil {
		l.w.breach("a job that runs can be canceled", id, err.Error())
	}
}

// accepted returns all jobs that the hub has accepted.
func (l *load) accepted() map[string]plan {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.jobs)
}

// passes says whether an error of a person's call may be the chaos's.
func passes(err error) bool {
	var e *mcp.Error
	if !errors.As(err, &e) {
		return errors.Is(err, context.DeadlineExceeded)
	}
	return e.Retryable || e.Code.Info().Retryable
}
