package sqlite

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/storetest"
)

// BenchmarkJob is a job's whole life: enqueue, claim, lease, start, settle; four durable transactions.
func BenchmarkJob(b *testing.B) {
	s, err := Open(b.Context(), filepath.Join(b.TempDir(), "hub.db"), Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	owner := hub.UserOwner("usr_bench")
	r, pol := storetest.NewRunner(owner), hub.DefaultPolicy()
	must := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	write := func(d hub.Decision, err error) hub.Job {
		must(err)
		e := hub.Event{Time: storetest.Start(), Actor: "runner:" + r.ID, JobID: d.Job.ID}
		must(s.Apply(b.Context(), hub.Change{Decision: d, Event: e, MaxRunning: pol.MaxRunning}))
		return d.Job
	}
	for b.Loop() {
		p := storetest.NewJob(owner, "")
		p.MaxQueued = pol.MaxQueued
		_, _, err := s.Enqueue(b.Context(), p)
		must(err)
		head, err := s.ListQueued(b.Context(), p.Job.QueueKey(), nil, 1)
		must(err)
		now := storetest.Start().Add(time.Second)
		g := hub.LeaseGrant{Runner: r, RequestID: "req", Digest: hub.Digest("nonce"), LogDigest: storetest.NewDigest()}
		j := write(hub.Lease(head[0].Job, head[0].Payload, g, now, pol))
		proof := hub.Proof{Attempt: j.Attempt, Epoch: j.Epoch, Nonce: "nonce"}
		j = write(hub.Heartbeat(j, p.Payload, proof, "", "", "", now, pol))
		write(hub.Settle(j, p.Payload, proof, hub.Report{State: hub.JobSucceeded, Digest: storetest.NewDigest(), Result: []byte("{}")}, now))
	}
}
