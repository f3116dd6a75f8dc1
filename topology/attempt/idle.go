package attempt

import (
	"errors"
	"time"
)

// errIdle is the cause of an attempt whose job wrote nothing for its idle timeout.
var errIdle = errors.New("the job wrote nothing for too long")

// watchIdle ends the attempt when its job has been silent for the spec's idle timeout. A
// job whose output is held up, because the log cannot be kept so fast, is not silent.
func (x *execution) watchIdle() {
	limit := time.Duration(x.spec.IdleTimeout)
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-x.ctx.Done():
			return
		}
		silent := x.log.silent()
		if silent >= limit {
			x.stop(errIdle)
			return
		}
		timer.Reset(limit - silent)
	}
}
