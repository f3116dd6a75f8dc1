// Package profile keeps which hubs this machine knows, side by side under
// names: no secrets, only where they are kept.
package profile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/runnerhub/runnerhub/runnerctl/keyring"
)

// DefaultName is the profile that is used when none is named.
const DefaultName = "default"

// Profile is one hub.
type Profile struct {
	Hub     string       `json:"hub"`               // its URL
	Storage keyring.Kind `json:"storage,omitempty"` // where its credentials are; remembered from the first time

	RunnerID string `json:"runner_id,omitempty"` // of this machine, once paired
	Label    string `json:"label,omitempty"`
	Owner    string `json:"owner,omitempty"`
	Login    string `json:"login,omitempty"` // of the person, once signed in
}

// Config is the file of all profiles.
type Config struct {
	Profiles map[string]Profile `json:"profiles"`
}

var namePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// CheckName says whether name can name a profile: it becomes part of a folder's name.
func CheckName(name string) error {
	if !namePattern.MatchString(name) {
		return fmt.Errorf("%q cannot be a profile's name: use letters, digits, dots, hyphens and underscores", name)
	}
	return nil
}

// File is where the profiles are kept.
type File struct{ Path string }

// Load reads the profiles; a file that is not there has none.
func (f File) Load() (Config, error) {
	c := Config{Profiles: map[string]Profile{}}
	data, err := os.ReadFile(f.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return c, err
	}
	if err := json.Unmarshal(data, &c); err != nil {
		return c, fmt.Errorf("%s is damaged: %w; mend or remove it", f.Path, err)
	}
	if c.Profiles == nil {
		c.Profiles = map[string]Profile{}
	}
	return c, nil
}

// Update reads, changes and replaces the file as a whole.
func (f File) Update(name string, change func(*Profile)) error {
	c, err := f.Load()
	if err != nil {
		return err
	}
	p := c.Profiles[name]
	change(&p)
	if p == (Profile{}) {
		delete(c.Profiles, name)
	} else {
		c.Profiles[name] = p
	}
	data, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	dir := filepath.Dir(f.Path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(dir, ".profiles-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) //nolint:errcheck // it is gone when the rename went well
	_, err = tmp.Write(append(data, '\n'))
	if err := errors.Join(err, tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), f.Path)
}

// Names lists the profiles in order.
func (c Config) Names() []string {
	names := make([]string, 0, len(c.Profiles))
	for n := range c.Profiles {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}
