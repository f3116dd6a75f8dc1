package storetest

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/runnerhub/runnerhub/hub"
)

func walkTests() []test {
	return []test{{name: "jobs at random, next to a model of them", run: walkRandom}}
}

// walk drives a few jobs through their lives at random and keeps what the store should hold.
type walk struct {
	*world
	rnd      *rand.Rand
	now      time.Time
	runners  []hub.Runner
	jobs     []hub.Job
	payloads map[string]hub.JobPayload
	attempts map[string][]hub.Attempt
	events   map[string][]hub.Action
}

func walkRandom(w *world) {
	seed := rand.Uint64()
	w.Logf("seed %d", seed)
	k := &walk{
		world: w, rnd: rand.New(rand.NewPCG(seed, 1)), now: Start(), runners: []hub.Runner{w.runner(), w.runner()},
		payloads: map[string]hub.JobPayload{}, attempts: map[string][]hub.Attempt{}, events: map[string][]hub.Action{},
	}
	for range 120 {
		k.now = k.now.Add(time.Duration(k.rnd.IntN(20000)) * time.Millisecond)
		if len(k.jobs) < 8 && k.rnd.IntN(4) == 0 || len(k.jobs) == 0 {
			k.submit()
		} else {
			k.step(k.rnd.IntN(len(k.jobs)))
		}
	}
	k.check()
}

func (k *walk) submit() {
	p := k.enqueue("", priority(k.rnd.IntN(3)-1))
	k.jobs = append(k.jobs, p.Job)
	k.payloads[p.Job.ID] = p.Payload
	k.events[p.Job.ID] = []hub.Action{hub.ActJobSubmitted}
}

// decide makes one of the decisions that could come next, among them many that are refused.
func (k *walk) decide(j hub.Job) (hub.Decision, error) {
	p := k.payloads[j.ID]
	script := &hub.Failure{Class: hub.ClassScript, Message: "exit 1"}
	pull := &hub.Failure{Class: hub.ClassImagePull, Message: "no such image"}
	switch k.rnd.IntN(9) {
	case 0, 1, 2:
		if j.State == hub.JobQueued {
			return hub.Lease(j, p, grant(j, k.runners[k.rnd.IntN(2)]), k.now, k.pol)
		}
		return hub.Heartbeat(j, p, proof(j), "running", "", "", k.now, k.pol)
	case 3:
		return hub.Settle(j, p, proof(j), success(), k.now)
	case 4:
		return hub.Settle(j, p, proof(j), hub.Report{State: hub.JobFailed, Failure: pull, Digest: NewDigest()}, k.now)
	case 5:
		if k.rnd.IntN(2) == 0 {
			return hub.Reject(j, hub.Failure{Class: hub.ClassNoRunner, Message: "nobody came"}, k.now)
		}
		return hub.Settle(j, p, proof(j), hub.Report{State: hub.JobFailed, Failure: script, Digest: NewDigest()}, k.now)
	case 6:
		return hub.Release(j, proof(j), "", k.now)
	case 7:
		if k.rnd.IntN(3) > 0 { // seldom, or all would end so
			return hub.Decision{}, hub.ErrConflict
		}
		return hub.Cancel(j, p, "at random", k.now, k.pol)
	default:
		return hub.Expire(j, p, false, k.now), nil
	}
}

// step decides on a job, sometimes on what it was before, and writes that.
func (k *walk) step(i int) {
	k.Helper()
	d, err := k.decide(k.jobs[i])
	if err != nil || d.Unchanged {
		return
	}
	err = k.s.Apply(k.ctx, change(d, k.now))
	k.must(err)
	if k.rnd.IntN(4) == 0 { // the same once more, as from a hub that is late
		if err := k.s.Apply(k.ctx, change(d, k.now)); !errors.Is(err, hub.ErrConflict) {
			k.Fatalf("%s was written twice: %v", d.Action, err)
		}
	}
	id := d.Job.ID
	k.jobs[i] = d.Job
	if d.Action != "" {
		k.events[id] = append(k.events[id], d.Action)
	}
	if d.NewAttempt != nil {
		k.attempts[id] = append(k.attempts[id], *d.NewAttempt)
	}
	if all := k.attempts[id]; len(all) > 0 {
		a := &all[len(all)-1]
		if d.Started {
			a.State, a.StartedAt = hub.AttemptRunning, d.Job.StartedAt
		}
		if e := d.EndAttempt; e != nil {
			a.State, a.EndedAt, a.Failure, a.ReportDigest = e.State, e.At, e.Failure, e.ReportDigest
		}
	}
	k.equal(k.job(id), d.Job)
}

// check compares every view of the store with the model.
func (k *walk) check() {
	k.Helper()
	var queued, live, all []string
	byRunner := map[string]int{}
	inOrder := slices.Clone(k.jobs)
	slices.SortFunc(inOrder, func(a, b hub.Job) int {
		if a.Rank != b.Rank {
			return a.Rank - b.Rank
		}
		return strings.Compare(a.ID, b.ID)
	})
	for _, j := range inOrder {
		if j.State == hub.JobQueued {
			queued = append(queued, j.ID)
		}
	}
	for _, j := range k.jobs {
		all = append([]string{j.ID}, all...)
		if j.State.Live() {
			live = append(live, j.ID)
			byRunner[j.LeaseRunnerID]++
		}
		attempts, err := k.s.ListAttempts(k.ctx, j.ID)
		k.must(err)
		k.equal(attempts, k.attempts[j.ID])
		var actions []hub.Action
		for _, e := range k.world.events(j.ID) {
			actions = append(actions, e.Action)
		}
		k.equal(actions, k.events[j.ID])
	}
	k.equal(k.queued(hub.NewQueueKey(k.owner, ""), 3), queued)
	var held []string
	for _, r := range k.runners {
		jobs, err := k.s.LiveOfRunner(k.ctx, r.ID)
		k.must(err)
		k.equal(len(jobs), byRunner[r.ID])
		for _, j := range jobs {
			held = append(held, j.ID)
		}
	}
	slices.Sort(held)
	k.equal(held, live)
	counts, err := k.s.CountLive(k.ctx, k.owner)
	k.must(err)
	k.equal(counts, byRunner)
	jobs, err := k.s.ListJobs(k.ctx, hub.JobFilter{Owners: []hub.Owner{k.owner}, Limit: 100})
	k.must(err)
	var listed []string
	for _, j := range jobs {
		listed = append(listed, j.Job.ID)
	}
	k.equal(listed, all)
}
