package cmdutil

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/mcp/mcpclient"
	"github.com/runnerhub/runnerhub/runnerctl/profile"
)

// Hub is the address to use: RUNNERCTL_HUB, or the profile's.
func (f *Factory) Hub(p profile.Profile) (string, error) {
	if hub := f.Getenv(EnvHub); hub != "" {
		return hub, nil
	}
	if p.Hub == "" {
		return "", &mcp.Error{
			Code: mcp.CodeUnauthenticated, Message: "no hub is known here",
			Hint: "sign in with `runnerctl login --hub URL`, pair with `runnerctl pair --hub URL`, or set " + EnvHub + " and " + EnvAPIKey,
		}
	}
	return p.Hub, nil
}

// NewHub is the address for a command that makes a profile's first credential: its flag --hub, or what Hub says. A profile
// that already holds a credential stays with its hub, so that none is ever sent to another one.
func (f *Factory) NewHub(flag, name string, p profile.Profile) (string, error) {
	hub := flag
	if hub == "" {
		var err error
		if hub, err = f.Hub(p); err != nil {
			return "", &mcp.Error{Code: mcp.CodeInvalidArgument, Message: "which hub?", Hint: "give --hub URL, as the hub prints it when it starts"}
		}
	}
	if p.InUse() && !SameHub(hub, p.Hub) {
		return "", &mcp.Error{
			Code: mcp.CodeConflict, Message: fmt.Sprintf("the profile %s belongs to %s", name, p.Hub),
			Hint: "use another hub under --profile NAME, or leave this one with `runnerctl logout` and `runnerctl unpair`",
		}
	}
	return hub, nil
}

// Claim gives a profile, as it is now, the hub and the storage that a command has settled on. It fails where another command
// has made it a different one's in the meantime.
func Claim(name string, now *profile.Profile, settled profile.Profile) error {
	if now.InUse() && (now.Storage != settled.Storage || now.Hub != settled.Hub) {
		return &mcp.Error{
			Code: mcp.CodeConflict, Message: "another command has changed the profile " + name + " in the meantime",
			Hint: "see `runnerctl status`, and try again",
		}
	}
	now.Hub, now.Storage = settled.Hub, settled.Storage
	return nil
}

// SameHub tells whether two addresses are one: scheme, host with its port, and path.
func SameHub(a, b string) bool {
	x, err := url.Parse(strings.TrimSpace(a))
	y, err2 := url.Parse(strings.TrimSpace(b))
	return err == nil && err2 == nil && x.Scheme == y.Scheme && strings.EqualFold(x.Host, y.Host) &&
		strings.TrimSuffix(x.Path, "/") == strings.TrimSuffix(y.Path, "/")
}

// Person is the hub to call as the signed-in person, and the key for it.
func (f *Factory) Person() (hub, key string, err error) {
	name, p, err := f.Profile()
	if err != nil {
		return "", "", err
	}
	hub, err = f.Hub(p)
	if err != nil {
		return "", "", err
	}
	key, err = f.apiKey(name, p, hub)
	return hub, key, err
}

// AsPerson calls do with a client that calls as the signed-in person.
func (f *Factory) AsPerson(do func(*mcpclient.Client) error) error {
	hub, key, err := f.Person()
	if err != nil {
		return err
	}
	return f.With(hub, key, do)
}

// With calls do with a client that has a token, "" for none.
func (f *Factory) With(hub, token string, do func(*mcpclient.Client) error) error {
	c, err := mcpclient.New(mcpclient.Config{URL: hub, Token: func() string { return token }})
	if err != nil {
		return err
	}
	defer c.Close() // nothing is under way any more
	return do(c)
}

// Each calls page with "" and then with each cursor that it returns, until it returns "" or an error.
func Each(page func(cursor string) (next string, err error)) error {
	cursor := ""
	for {
		next, err := page(cursor)
		if err != nil || next == "" {
			return err
		}
		cursor = next
	}
}
