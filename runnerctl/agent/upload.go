package agent

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/runnerhub/runnerhub/mcp"
)

// uploader sends one attempt's log to the hub, in order and by offset.
type uploader struct {
	client Client
	log    *logSpool
	url    string
	every  time.Duration
	logger *slog.Logger
}

// run sends until the log is closed and sent, ctx ends, or the hub refuses it for
// good; then the rest of the log is dropped, so that a job does not hang on it.
func (u *uploader) run(ctx context.Context) {
	buf := make([]byte, chunkSize)
	pause := hubBackoff()
	for {
		more, err := u.log.ready(ctx, u.every)
		if err != nil || !more {
			return
		}
		chunk, offset, err := u.log.chunk(buf)
		if err != nil {
			u.giveUp(err)
			return
		}
		next, err := u.put(ctx, offset, chunk)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			pause.reset()
			err = u.log.acked(next)
		case again(err):
			u.logger.Debug("the hub does not take log bytes now", "offset", offset, "err", err)
			u.log.refused()
			pause.wait(ctx, err)
			continue
		}
		if err != nil {
			u.giveUp(err)
			return
		}
	}
}

func (u *uploader) giveUp(err error) {
	u.logger.Warn("the rest of the job's log is lost", "err", err)
	u.log.abandon()
}

// put sends one chunk and returns where to go on. A refused gap says so too.
func (u *uploader) put(ctx context.Context, offset int64, chunk []byte) (int64, error) {
	res, err := u.client.PutLog(ctx, u.url, offset, chunk)
	if err == nil {
		return res.NextOffset, nil
	}
	var e *mcp.Error
	if errors.As(err, &e) && e.Code == mcp.CodeConflict {
		// Going on at the same offset would be refused the same way forever: then the hub has other bytes there.
		if next, ok := number(e.Details["next_offset"]); ok && next != offset {
			return next, nil
		}
	}
	return 0, err
}

func number(v any) (int64, bool) {
	switch n := v.(type) {
	case float64: // as JSON is decoded
		return int64(n), true
	case int64:
		return n, true
	case int:
		return int64(n), true
	}
	return 0, false
}

// again tells whether a call to the hub should be repeated with the same content:
// whatever is not the hub's clear refusal. An error of no known kind is one of
// the way there.
func again(err error) bool {
	var e *mcp.Error
	if !errors.As(err, &e) {
		return true
	}
	switch e.Code {
	case mcp.CodeInternal: // the hub's fault, which may pass: nothing is lost by trying
		return true
	default:
		return e.Retryable || e.Code.Info().Retryable
	}
}
