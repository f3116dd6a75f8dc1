package docker

import (
	"context"
	"time"

	"github.com/docker/docker/api/types/events"
	"github.com/docker/docker/api/types/filters"
)

// WatchMemory listens to the engine's events, in which a kill of any process counts and
// not the main one's alone. Docker remembers the last 256 events of all kinds.
func (e *Engine) WatchMemory(ctx context.Context, since time.Time, killed func(container string)) error {
	life, cancel := context.WithCancel(streamContext(ctx))
	defer cancel()
	messages, errs := e.client.Events(life, events.ListOptions{
		Since: unixTime(since), Filters: filters.NewArgs(filters.Arg("type", "container"), filters.Arg("event", "oom")),
	})
	for {
		select {
		case m := <-messages:
			killed(m.Actor.Attributes["name"])
		case err := <-errs:
			return wrap("listen to the engine's events", contextual(ctx, err))
		}
	}
}
