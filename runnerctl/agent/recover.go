package agent

import (
	"context"
	"os"
	"sync"
	"time"

	"github.com/runnerhub/runnerhub/topology"
)

// tooOld is when an entry of the spool is dropped unsent: no attempt lives that
// long, and the hub takes log bytes for a day after one.
const tooOld = 72 * time.Hour

// recover takes up what an earlier process was killed under, and sends what else it
// left in the spool. The channel is closed when that is sent. It is called before the first sweep, which
// spares what is taken up.
//
// An attempt that has a report is told to the hub as it is. One that has none
// was interrupted. Where the machine has been started since, or the lease has run out, it is reported as failed with class
// runner_lost once its containers are swept, at once instead of a
// TTL later, and the hub runs the job again. It is not given back with
// release_job: that costs no attempt, and a job that takes its runner down with it would come back forever.
func (a *Agent) recover(ctx context.Context) <-chan struct{} {
	done := make(chan struct{})
	found, broken, err := a.spool.entries()
	if err != nil {
		a.logger.Error("the spool cannot be read", "err", err)
	}
	for _, dir := range broken {
		a.logger.Warn("removing a spool entry that cannot be read", "dir", dir)
		_ = os.RemoveAll(dir)
	}
	var each sync.WaitGroup
	for _, e := range found {
		if a.adoptable(e) {
			a.adopt(e)
			continue
		}
		// One that cannot be sent (its hub has moved) must not hold up the others.
		each.Go(func() { a.recoverEntry(ctx, e) })
	}
	go func() {
		each.Wait()
		close(done)
	}()
	return done
}

func (a *Agent) recoverEntry(ctx context.Context, e *entry) {
	p := e.lease.Proof
	logger := a.logger.With("job", p.JobID, "attempt", p.Attempt)
	if e.lease.RunnerID != a.cfg.RunnerID || e.age() > tooOld {
		logger.Warn("dropping what another pairing of this machine left, or what is too old for the hub")
		_ = e.remove()
		return
	}
	log, err := reopenLog(e, a.cfg.SpoolLimit)
	if err != nil {
		logger.Error("the unsent log cannot be read; the rest is sent without it", "err", err)
		log = newLogSpool(e, a.cfg.SpoolLimit)
	}
	up := a.upload(ctx, e, log, logger) // a full log has room for one line more once the hub takes some
	if e.report == nil {
		select {
		case <-a.engine.swept:
		case <-ctx.Done():
			log.Close()
			<-up.done
			return
		}
		a.interrupted(ctx, e, log)
		if err := e.end(e.report); err != nil {
			logger.Error("the result cannot be kept on disk; it is sent all the same", "err", err)
		}
	}
	log.Close()
	logger.Info("telling the hub what an earlier run had not told", "status", e.report.status())
	if a.settle(ctx, up, e.report, p, func() {}, logger) == unsent {
		<-up.done
		return
	}
	a.forget(e, up, logger)
}

// interrupted makes the report of an attempt that had none.
func (a *Agent) interrupted(ctx context.Context, e *entry, log *logSpool) {
	const message = "The runner was killed or its machine went down while it ran this job."
	_ = log.Append(ctx, topology.Record{Time: time.Now(), Stream: topology.System, Data: []byte(message + "\n")})
	e.report = &report{Fail: &failReport{
		Class: "runner_lost", Message: message, Hint: "See the runner's log on its machine for why.",
	}}
}
