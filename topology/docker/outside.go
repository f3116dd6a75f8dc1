package docker

import (
	"context"
	"errors"
	"io"
	"strconv"
	"time"

	"github.com/docker/docker/api/types/events"
	"github.com/docker/docker/api/types/filters"
)

// endedFromOutside says whether a container that ended by SIGTERM or SIGKILL was ended
// by the engine, and not because we asked for it. An engine that is being stopped ends its
// containers first, and answers meanwhile as if nothing was the matter: only its
// events tell that from a process that ends by itself with such a code. Where the
// container was taken up, an engine that does not know of its start was itself
// started since, which has ended all containers.
func (e *Engine) endedFromOutside(ctx context.Context, name string, code int, since time.Time, takenUp bool) bool {
	if code != 137 && code != 143 {
		return false
	}
	if _, ours := e.signalled.Load(name); ours {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	messages, errs := e.client.Events(ctx, events.ListOptions{
		Since: unixTime(since), Until: unixTime(time.Now()),
		Filters: filters.NewArgs(filters.Arg("container", name), filters.Arg("event", "start"), filters.Arg("event", "kill")),
	})
	known := false
	for {
		select {
		case m := <-messages:
			if m.Action == events.ActionKill {
				return true
			}
			known = true
		case err := <-errs:
			if !errors.Is(err, io.EOF) {
				return true // it does not answer any more
			}
			return takenUp && !known
		}
	}
}

// unixTime is a time in seconds, as the engine's filters want it.
func unixTime(t time.Time) string {
	return strconv.FormatInt(t.Unix(), 10) + "." + nanoseconds(t)
}

func nanoseconds(t time.Time) string {
	const digits = 9
	n := strconv.Itoa(t.Nanosecond())
	for len(n) < digits {
		n = "0" + n
	}
	return n
}
