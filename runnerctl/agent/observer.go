package agent

import (
	"context"
	"errors"
	"sync"

	"github.com/runnerhub/runnerhub/topology"
)

// observer hears what the executor says of one attempt. It implements topology.Observer.
type observer struct {
	ctx    context.Context // the attempt's: it ends a Log that waits for room
	keeper *keeper
	log    *logSpool
	stop   context.CancelCauseFunc

	mu      sync.Mutex
	diskErr error // the first
}

// Phase is sent with the next heartbeat.
func (o *observer) Phase(p topology.Phase, step string) { o.keeper.phaseIs(p, step) }

// Log keeps the record until the hub has it. When that is impossible the job is
// stopped: to run on without a log would be to lose it in silence.
func (o *observer) Log(r topology.Record) error {
	err := o.log.Append(o.ctx, r)
	if err == nil || (o.ctx.Err() != nil && errors.Is(err, context.Cause(o.ctx))) {
		return err
	}
	o.mu.Lock()
	if o.diskErr == nil {
		o.diskErr = err
	}
	o.mu.Unlock()
	o.stop(err)
	return err
}

// failure is why the log could not be kept, nil if it could.
func (o *observer) failure() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.diskErr
}
