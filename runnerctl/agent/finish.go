package agent

import (
	"context"
	"log/slog"
	"time"

	"github.com/runnerhub/runnerhub/mcp"
)

// flushPatience is how long a report waits for a log that makes no progress.
// The hub takes log bytes after a job's end too.
const flushPatience = 15 * time.Second

// upload is a log on its way.
type upload struct {
	log  *logSpool
	done chan struct{} // closed when the uploader has ended
}

// upload starts to send e's log. It ends with the log, with ctx, or a while
// after the runner was asked to end at once.
func (a *Agent) upload(ctx context.Context, e *entry, log *logSpool, logger *slog.Logger) *upload {
	u := &upload{log: log, done: make(chan struct{})}
	up := &uploader{client: a.client, log: log, url: e.lease.LogURL, every: a.cfg.FlushEvery, logger: logger}
	go func() { // whoever forgets the entry waits for done
		defer close(u.done)
		ctx, cancel := a.untilShutdown(ctx)
		defer cancel()
		up.run(ctx)
	}()
	return u
}

// flush waits for a closed log to be sent, as long as it makes progress.
func (u *upload) flush(ctx context.Context, patience time.Duration) {
	_, before := u.log.Size()
	for {
		t := time.NewTimer(patience)
		select {
		case <-u.done:
			t.Stop()
			return
		case <-ctx.Done():
			t.Stop()
			return
		case <-t.C:
		}
		_, now := u.log.Size()
		if now >= before {
			return
		}
		before = now
	}
}

// finish brings an attempt's end to the hub: the report into the spool, the log
// to the hub, the report after it. e and up are nil when nothing was begun; rep is nil when nobody wants to know.
func (t *attempt) finish(e *entry, up *upload, rep *report, free func()) {
	if rep == nil {
		t.logger.Warn("the lease was lost; nothing is reported")
		if up != nil {
			up.log.abandon()
		}
		free()
		t.a.forget(e, up, t.logger)
		return
	}
	if e != nil {
		// Synced to the disk before the hub hears of it: whatever happens from here on, it is told.
		err := up.log.sync()
		if err == nil {
			err = e.end(rep)
		}
		if err != nil {
			t.logger.Error("the result cannot be kept on disk; it is sent all the same", "err", err)
		}
	}
	ctx, cancel := t.a.untilShutdown(context.Background())
	defer cancel()
	sent := t.a.settle(ctx, up, rep, proofOf(t.lease), t.keeper.report, t.logger)
	free()
	if sent == unsent {
		t.logger.Warn("the hub could not be told how the job ended; it is told at the next start")
		if up != nil {
			<-up.done
		}
		return
	}
	t.a.forget(e, up, t.logger)
}

// settle sends the log and then the report.
func (a *Agent) settle(ctx context.Context, up *upload, rep *report, p mcp.LeaseProof, reporting func(), logger *slog.Logger) delivery {
	if up != nil {
		up.flush(ctx, flushPatience)
	}
	reporting()
	d, err := deliver(ctx, a.client, p, rep, logger)
	switch {
	case d == delivered:
		logger.Info("the hub knows how the job ended", "status", rep.status())
	case d == declined:
		logger.Warn("the hub does not want the report any more", "err", err)
	case refused(err):
		a.unpaired(err)
	}
	return d
}

// forget waits for the log's end and removes the entry. A log that is not sent by
// the runner's end stays, and goes on with the next start.
func (a *Agent) forget(e *entry, up *upload, logger *slog.Logger) {
	if e == nil {
		return
	}
	<-up.done
	if _, left := up.log.Size(); left > 0 && !up.log.isDead() {
		return
	}
	if err := e.remove(); err != nil {
		logger.Warn("the spool cannot be cleaned up", "err", err)
	}
}
