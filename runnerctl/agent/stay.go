package agent

import (
	"context"
	"fmt"
	"time"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/topology"
)

// stay is how long the containers of an attempt are kept to be looked at, should it fail.
type stay struct {
	t     *attempt
	entry *entry
	log   *logSpool
	obs   *observer
	limit time.Duration

	sent      bool                     // what the job left is at the hub already
	artifacts []topology.CollectedFile // as far as the hub took it
}

// hold keeps the containers until the time is over, somebody lets go of them, the job is canceled, the lease is lost or the
// runner is to end: what is told of the job is known by then and does not change. Whatever becomes of this process, the hub is
// told it: the report is on the disk, and what it lists at the hub, before anybody hears of the hold. A process that finds such
// a report does not go on with the hold.
func (s *stay) hold(ctx context.Context, res topology.Result) {
	s.t.sendArtifacts(ctx, &res, s.obs)
	s.sent, s.artifacts = true, res.Artifacts
	if ctx.Err() != nil {
		return
	}
	size, _ := s.log.Size()
	result := resultOf(res, size)
	err := s.log.sync()
	if err == nil {
		err = s.entry.end(&report{Result: result})
	}
	if err != nil {
		s.t.logger.Error("the result cannot be kept on disk; the job is not held", "err", err)
		return
	}
	s.say(ctx, fmt.Sprintf("The job has failed; its containers are held for %s", s.limit))
	s.t.keeper.holds(&mcp.HoldArgs{Status: result.Status, ExitCode: result.ExitCode, Failure: *result.Failure}, s.limit)
	s.t.logger.Info("the job failed and is held", "for", s.limit, "failure", summary(res.Failure))
	why := s.wait(ctx)
	s.t.door.close()
	s.say(ctx, why+"; the containers are removed")
}

// wait waits for the end of the hold and says what ended it.
func (s *stay) wait(ctx context.Context) string {
	over := time.NewTimer(s.limit)
	defer over.Stop()
	select {
	case <-over.C:
		return "The time is over"
	case <-s.t.door.released:
		return "Somebody let go of them"
	case <-s.t.a.leasing.Done():
		return "The runner is to end"
	case <-ctx.Done():
		return "The hold is ended: " + context.Cause(ctx).Error()
	}
}

func (s *stay) say(ctx context.Context, text string) {
	_ = s.log.Append(ctx, topology.Record{Time: time.Now(), Stream: topology.System, Data: []byte(text + "\n")})
}
