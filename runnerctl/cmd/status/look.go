package status

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/mcp/mcpclient"
	"github.com/runnerhub/runnerhub/runnerctl/cmdutil"
	"github.com/runnerhub/runnerhub/runnerctl/profile"
)

// askWithin bounds what one hub, and the engine, is asked.
const askWithin = 3 * time.Second

func engine(ctx context.Context, o *Options) Engine {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	x, err := o.F.NewExecutor(ctx)
	if err != nil {
		return Engine{Capabilities: []string{}, Error: problem(err)}
	}
	defer x.Close(ctx) // it was only asked
	info, err := x.Probe(ctx)
	if err != nil {
		return Engine{Capabilities: []string{}, Error: problem(err)}
	}
	return Engine{Name: info.Engine, Endpoint: info.Endpoint, Capabilities: info.Capabilities}
}

// look asks the storage and the hub about one profile, at once. RUNNERCTL_API_KEY has no part in it: it is not known to be
// for this hub.
func look(ctx context.Context, o *Options, name string, p profile.Profile) Hub {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	h := Hub{
		Profile: name, Hub: p.Hub, Login: p.Login, RunnerID: p.RunnerID, Label: p.Label,
		Owner: p.Owner, Paired: p.Paired(), Storage: string(p.Storage), StoredIn: o.F.Storage(p.Storage).Where(),
	}
	var asked sync.WaitGroup
	asked.Go(func() {
		if _, err := o.F.Token(name, p); h.Paired && err != nil {
			h.TokenError = problem(err)
		}
	})
	err := o.F.With(p.Hub, "", func(c *mcpclient.Client) error { return c.WithRetry(mcpclient.NoRetry).Health(ctx) })
	h.Reachable = err == nil
	if p.SignedIn() {
		key, keyErr := o.F.Key(name, p)
		h.SignedIn = keyErr == nil
		err = errors.Join(err, keyErr)
		if err == nil {
			err = o.F.With(p.Hub, key, func(c *mcpclient.Client) error { return askHub(ctx, c.WithRetry(mcpclient.NoRetry), p, &h) })
		}
	}
	if err != nil {
		h.Error = problem(err)
	}
	asked.Wait()
	return h
}

// askHub asks as the signed-in person what they may see, and how this machine's runner is doing.
func askHub(ctx context.Context, c *mcpclient.Client, p profile.Profile, h *Hub) error {
	who, err := c.Whoami(ctx)
	if e, ok := errors.AsType[*mcp.Error](err); ok && e.Code == mcp.CodeUnauthenticated {
		h.SignedIn = false
	}
	h.Workspaces = who.Workspaces
	if err != nil || !h.Paired {
		return err
	}
	return cmdutil.Each(func(cursor string) (string, error) {
		page, err := c.ListRunners(ctx, mcp.ListRunnersArgs{Limit: 100, IncludeRevoked: true, Cursor: cursor})
		for _, r := range page.Runners {
			if r.ID == p.RunnerID {
				h.Running = r.Status
				if r.Status == "paused" && r.Message != nil {
					h.Why = r.Message.Text
				}
				return "", err
			}
		}
		return page.NextCursor, err
	})
}

func problem(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Sprintf("no answer within %s", askWithin)
	}
	return cmdutil.Message(err)
}
