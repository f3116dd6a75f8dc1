// Package profile keeps which hubs this machine knows, side by side under
// names: no secrets, only where they are kept.
package profile

import (
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/runnerhub/runnerhub/runnerctl/jsonfile"
	"github.com/runnerhub/runnerhub/runnerctl/keyring"
)

// DefaultName is the profile that is used when none is named.
const DefaultName = "default"

// Profile is one hub. Its credentials are stored under its address, so that they are of no use for another one.
type Profile struct {
	Hub     string       `json:"hub"`               // its URL, as mcpclient writes it
	Storage keyring.Kind `json:"storage,omitempty"` // where its credentials are; remembered from the first time

	RunnerID string `json:"runner_id,omitempty"` // of this machine, once paired
	Label    string `json:"label,omitempty"`
	Owner    string `json:"owner,omitempty"`
	Login    string `json:"login,omitempty"` // of the person, once signed in
}

// Paired tells whether this machine is a runner of the hub.
func (p Profile) Paired() bool { return p.RunnerID != "" }

// SignedIn tells whether a person's key was kept.
func (p Profile) SignedIn() bool { return p.Login != "" }

// InUse tells whether anything holds the profile to its hub and its storage.
func (p Profile) InUse() bool { return p.Paired() || p.SignedIn() }

// Config is the file of all profiles.
type Config struct {
	Profiles map[string]Profile `json:"profiles"`
}

// Names lists the profiles in order.
func (c Config) Names() []string { return slices.Sorted(maps.Keys(c.Profiles)) }

// CheckName says whether name can name a profile: it becomes part of a folder's name.
func CheckName(name string) error {
	if ok, err := regexp.MatchString(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`, name); err != nil || !ok {
		return fmt.Errorf("%q cannot be a profile's name: use up to 64 letters, digits, dots, hyphens and underscores", name)
	}
	return nil
}

// File is where the profiles are kept.
type File struct{ Path string }

// Load reads the profiles; a file that is not there has none.
func (f File) Load() (Config, error) {
	var c Config
	err := jsonfile.Read(f.Path, &c)
	return c, err
}

// Update changes one profile; others stay as they are, also when two commands do this at once. A profile that is
// not in use afterwards is forgotten. An error of change is returned and changes nothing.
func (f File) Update(name string, change func(*Profile) error) error {
	return jsonfile.Update(f.Path, func(c *Config) error {
		p := c.Profiles[name]
		if err := change(&p); err != nil {
			return err
		}
		if c.Profiles == nil {
			c.Profiles = map[string]Profile{}
		}
		c.Profiles[name] = p
		if !p.InUse() {
			delete(c.Profiles, name)
		}
		return nil
	})
}
