package attempt

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/runnerhub/runnerhub/topology"
)

// firstPause is the pause after a first failed probe. It doubles up to the
// check's interval, so that a service that is ready at once is noticed at once.
const firstPause = 50 * time.Millisecond

// awaitHealthy runs a service's healthcheck until it passes. Of the probes that
// come quicker than the interval only one an interval counts as a failure.
func (x *execution) awaitHealthy(ctx context.Context, svc *service, check topology.Healthcheck) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	interval := time.Duration(check.Interval)
	var counted time.Time
	failures, pause := 0, min(firstPause, interval)
	for {
		words, err := x.probe(ctx, svc, check)
		if err == nil {
			return nil
		}
		var failed *probeError
		if !errors.As(err, &failed) {
			return err
		}
		now := time.Now()
		if now.Sub(svc.begin) >= time.Duration(check.StartPeriod) && now.Sub(counted) >= interval {
			counted = now
			failures++
		}
		select {
		case <-svc.ended:
			return x.serviceEnded(svc)
		default:
		}
		if failures >= check.Retries {
			return unhealthy(svc, failures, failed, words)
		}
		timer := time.NewTimer(pause)
		pause = min(2*pause, interval)
		if now.Sub(svc.begin) < time.Duration(check.StartPeriod) && check.StartInterval > 0 {
			pause = min(pause, time.Duration(check.StartInterval))
		}
		select {
		case <-timer.C:
		case <-svc.ended:
			timer.Stop()
			return x.serviceEnded(svc)
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		}
	}
}

// probeError is a probe that did not pass.
type probeError struct{ how string }

func (e *probeError) Error() string { return e.how }

// probe runs a healthcheck once. A probe that takes too long is abandoned; there
// is no way to end one process of a container from outside.
func (x *execution) probe(ctx context.Context, svc *service, check topology.Healthcheck) (words []string, err error) {
	probing, cancel := context.WithTimeout(ctx, time.Duration(check.Timeout))
	defer cancel()
	var said tail
	exit, err := x.e.engine.Exec(probing, svc.container, topology.ExecSpec{Argv: check.Test}, func(_ topology.Stream, data []byte) {
		said.write(data)
	})
	words = said.lines(3)
	switch kind := topology.KindOf(err); {
	case ctx.Err() != nil:
		return words, context.Cause(ctx)
	case err != nil && expired(probing):
		return words, &probeError{fmt.Sprintf("took longer than %s", time.Duration(check.Timeout))}
	case kind == topology.KindNotRunning, kind == topology.KindNotFound:
		// The process has ended; how is about to be known.
		select {
		case <-svc.ended:
			return nil, x.serviceEnded(svc)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	case kind == topology.KindCommand, kind == topology.KindOther:
		// Also what an engine stumbles over when the service ends under a probe; the end
		// itself is noticed by who asked.
		return words, &probeError{err.Error()}
	case err != nil:
		return words, err
	case exit.Code != 0:
		return words, &probeError{fmt.Sprintf("exited with code %d", exit.Code)}
	}
	return words, nil
}

// expired says whether a context's time is up: a connection notices its deadline a
// moment before the context does.
func expired(ctx context.Context) bool {
	deadline, _ := ctx.Deadline()
	return ctx.Err() != nil || !time.Now().Before(deadline)
}

// serviceEnded is the failure of a service that ended before it was healthy, however well.
func (x *execution) serviceEnded(svc *service) error {
	if svc.err != nil {
		return svc.err
	}
	return x.serviceDied(svc)
}

func unhealthy(svc *service, failures int, last *probeError, words []string) error {
	message := fmt.Sprintf("The service %s did not become healthy: its healthcheck failed %d times in a row and last %s.", svc.name, failures, last.how)
	lines := svc.log.tail.lines(tailLines)
	own := quote(lines)
	if len(words) > 0 { // whole lines, so that what follows is not taken for theirs
		message += " The healthcheck's last lines:\n" + strings.Join(words, "\n")
		own = "\nThe service wrote nothing."
		if len(lines) > 0 {
			own = "\nThe service's last lines:\n" + strings.Join(lines, "\n")
		}
	}
	return &failureError{topology.Failure{
		Class: topology.ClassServiceUnhealthy, Container: svc.name,
		Message: message + own,
		Hint:    fmt.Sprintf("Check services.%s.healthcheck (test, retries, start_period) and the service's log.", svc.name),
	}}
}
