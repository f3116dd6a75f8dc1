package doctor

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/runnerhub/runnerhub/mcp/mcpclient"
	"github.com/runnerhub/runnerhub/runnerctl/cmdutil"
	"github.com/runnerhub/runnerhub/runnerctl/profile"
)

// hubWithin bounds what one hub is asked.
const hubWithin = 10 * time.Second

// How far the clocks may be apart: certificates and log-ins fail over the second, times are confusing over the first.
const (
	littleSkew = 5 * time.Second
	muchSkew   = 5 * time.Minute
)

// hubs looks at every hub that this person uses.
func (x *examination) hubs(ctx context.Context) {
	c, err := x.o.F.Profiles().Load()
	if err != nil {
		x.fail("hub", "", "%v", err)
		return
	}
	if len(c.Profiles) == 0 {
		x.warn("hub", "runnerctl pair --hub URL", "this machine is not paired with any")
	}
	for _, name := range c.Names() {
		x.hub(ctx, name, c.Profiles[name])
	}
}

func (x *examination) hub(ctx context.Context, name string, p profile.Profile) {
	ctx, cancel := context.WithTimeout(ctx, hubWithin)
	defer cancel()
	x.proxy(p.Hub)
	begin := time.Now()
	err := x.o.F.With(p.Hub, "", func(c *mcpclient.Client) error { return c.WithRetry(mcpclient.NoRetry).Health(ctx) })
	if err != nil {
		x.fail("hub", fmt.Sprintf("curl -v %s/healthz", p.Hub), "%s (profile %s) is not in reach: %s", p.Hub, name, cmdutil.Message(err))
		return
	}
	x.ok("hub", "%s (profile %s) answered in %s", p.Hub, name, time.Since(begin).Round(time.Millisecond))
	x.clock(ctx, p.Hub)
	if !p.Paired() {
		x.warn("runner", "runnerctl pair --profile "+name, "this machine is not paired with %s", p.Hub)
	} else if _, err := x.o.F.Token(name, p); err != nil {
		x.fail("runner", "runnerctl unpair --local; runnerctl pair --hub "+p.Hub, "%s", cmdutil.Message(err))
	} else {
		x.ok("runner", "paired as %s", p.Label)
	}
}

// proxy says which way requests to a hub take.
func (x *examination) proxy(hub string) {
	u, err := url.Parse(hub)
	if err != nil {
		x.fail("proxy", "", "%q is no address: %v", hub, err)
		return
	}
	through, err := http.ProxyFromEnvironment(&http.Request{URL: u})
	switch {
	case err != nil:
		x.fail("proxy", "unset HTTP_PROXY HTTPS_PROXY", "the environment's proxy is no address: %v", err)
	case through == nil:
		x.ok("proxy", "none on the way to %s", u.Host)
	default:
		x.ok("proxy", "requests to %s go through %s", u.Host, through.Host)
	}
}

// clock compares this machine's with the hub's, as an answer tells it.
func (x *examination) clock(ctx context.Context, hub string) {
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, hub+"/healthz", nil)
	if err != nil {
		x.warn("clock", "", "it cannot be compared: %v", err)
		return
	}
	before := x.o.F.Now()
	way := &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}
	res, err := way.RoundTrip(req)
	if err != nil {
		x.warn("clock", "", "it cannot be compared: %v", err)
		return
	}
	defer res.Body.Close()
	theirs, err := http.ParseTime(res.Header.Get("Date"))
	if err != nil {
		x.warn("clock", "", "the hub does not tell the time")
		return
	}
	// The header is cut off at whole seconds.
	skew := before.Sub(theirs.Add(time.Second / 2)).Abs().Round(time.Second)
	const mend = "sudo timedatectl set-ntp true"
	switch {
	case skew > muchSkew:
		x.fail("clock", mend, "it is %s off the hub's: certificates and log-ins fail", skew)
	case skew > littleSkew:
		x.warn("clock", mend, "it is %s off the hub's; leases do not mind, readers of logs do", skew)
	default:
		x.ok("clock", "it agrees with the hub's")
	}
}
