package agent

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/runnerhub/runnerhub/topology"
)

// What an earlier process was killed under is taken up again as long as its lease
// may still hold. Nobody asks the hub first: the containers run on meanwhile, and
// the first heartbeat tells.

// adoptable says whether this runner can take an entry's attempt up.
func (a *Agent) adoptable(e *entry) bool { return e.lease.RunnerID == a.cfg.RunnerID && e.takeable() }

// takeable says whether an entry's attempt can be taken up: it has no report, its
// lease is known, its time is not over, and the machine has not been started since,
// which ends all containers. What a job starts with besides its spec must have been
// there: it is fetched once, and is not fetched again.
func (e *entry) takeable() bool {
	return e.report == nil && e.lease.Lease != nil && e.lease.HubID != "" && e.lease.Boot == bootID() && e.remaining() > 0 &&
		(!needsPreparing(e.lease.Spec) || e.prepared() != nil)
}

// remaining is how long the attempt's lease can last, by the machine's calendar.
func (e *entry) remaining() time.Duration {
	ms := e.lease.Lease.DeadlineMS
	if ms <= 0 {
		return tooOld
	}
	return time.Until(e.lease.Received.Add(time.Duration(ms) * time.Millisecond))
}

// bootID changes whenever the machine starts; "" where the system has no such thing.
func bootID() string {
	if runtime.GOOS != "linux" {
		return ""
	}
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// adopt takes an entry's attempt up in a goroutine of its own. It has a slot if there
// is one left: what runs already is not stopped because fewer slots are wanted now.
func (a *Agent) adopt(e *entry) {
	l := e.lease.Lease
	l.Spec = e.lease.Spec
	id := topology.Identity{Hub: e.lease.HubID, Runner: a.cfg.RunnerID, Job: l.JobID, Attempt: l.Attempt, Epoch: l.LeaseEpoch}
	a.setLive(id, true)
	slot := false
	select {
	case a.slots <- struct{}{}:
		slot = true
	default:
	}
	a.board.change(func(b *board) { b.busy++ })
	t := &attempt{a: a, lease: l, id: id, logger: a.logger.With("job", l.JobID, "attempt", l.Attempt)}
	a.attempts.Go(func() {
		t.resume(e, func() {
			a.setLive(id, false)
			a.board.change(func(b *board) { b.busy-- })
			if slot {
				<-a.slots
			}
		})
	})
}

// resume goes on with an attempt where an earlier process was killed.
func (t *attempt) resume(e *entry, free func()) {
	t.logger.Info("taking up a job that an earlier process was killed under")
	h := t.holdLease(free, e.remaining())
	defer h.end()
	h.renew()
	log, err := reopenLog(e, t.a.cfg.SpoolLimit)
	if err != nil {
		t.logger.Error("the unsent log cannot be read; the job goes on without it", "err", err)
		log = newLogSpool(e, t.a.cfg.SpoolLimit)
	}
	t.begun = e.prepared() != nil // and was let in by the owner's policy
	if err := log.takeUp(); err != nil {
		t.logger.Error("the last record of the log cannot be cut off; it may be there twice", "err", err)
	}
	left := topology.Resume{Checkpoint: e.checkpoint(), Offsets: maps.Clone(log.offsets.at)}
	// The engine may not be up yet. What is left of this attempt is spared by the sweep.
	select {
	case <-t.a.engine.swept:
	case <-h.ctx.Done():
	}
	t.carry(h, e, log, func(ctx context.Context, work topology.Work, obs topology.Observer) topology.Result {
		return t.a.cfg.Executor.Adopt(ctx, work, left, obs)
	})
}

// checkpoint is what the executor wants to know when the attempt is taken up, nil for nothing.
func (e *entry) checkpoint() []byte {
	b, err := os.ReadFile(filepath.Join(e.dir, "checkpoint.json"))
	if err != nil {
		return nil
	}
	return b
}

// saveCheckpoint keeps it. It is not synced: after a loss of power there is no
// container left to take up.
func (e *entry) saveCheckpoint(data []byte) error {
	return e.spool.replace(filepath.Join(e.dir, "checkpoint.json"), data, false)
}
