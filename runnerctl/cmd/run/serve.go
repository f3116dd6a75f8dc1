package run

import (
	"context"
	"log/slog"

	"github.com/runnerhub/runnerhub/runnerctl/agent"
)

// serve runs the agent until it is done. The first signal drains it, the second ends its context; from then
// on a signal ends the program, should something hang.
func serve(ctx context.Context, o *Options, a *agent.Agent, log *slog.Logger) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	signals, stop := o.F.Signals()
	go func() {
		defer stop()
		select {
		case <-signals:
		case <-ctx.Done():
			return
		}
		log.Info("draining: running jobs finish, no new ones are taken; signal again to stop them")
		a.Drain()
		select {
		case <-signals:
		case <-ctx.Done():
			return
		}
		log.Info("stopping running jobs and giving them back; signal again to leave at once")
		cancel()
	}()
	return a.Run(ctx)
}
