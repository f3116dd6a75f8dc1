package profile_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/runnerhub/runnerhub/runnerctl/profile"
)

func TestCommandsAtOnceKeepEachOthersProfiles(t *testing.T) {
	t.Parallel()
	f := profile.File{Path: filepath.Join(t.TempDir(), "profiles.json")}
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			err := f.Update(fmt.Sprintf("p%02d", i%10), func(p *profile.Profile) error {
				if i < 10 {
					p.Login = "ada"
				} else {
					p.RunnerID = "rnr-1"
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	c, err := f.Load()
	if err != nil || len(c.Profiles) != 10 {
		t.Fatalf("%d profiles, %v; want 10", len(c.Profiles), err)
	}
	for _, name := range c.Names() {
		if p := c.Profiles[name]; !p.Paired() || !p.SignedIn() {
			t.Errorf("%s lost a change: %+v", name, p)
		}
	}
}

func TestAProfileThatNothingUsesIsForgotten(t *testing.T) {
	t.Parallel()
	f := profile.File{Path: filepath.Join(t.TempDir(), "profiles.json")}
	for _, login := range []string{"ada", ""} {
		if err := f.Update("default", func(p *profile.Profile) error { p.Hub, p.Login = "http://x", login; return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if c, err := f.Load(); err != nil || len(c.Profiles) != 0 {
		t.Errorf("got %v, %v; want none", c.Profiles, err)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	for name, ok := range map[string]bool{
		"default": true, "work.2": true, "A_b-c": true,
		"": false, ".hidden": false, "../x": false, "a/b": false, "a b": false, strings.Repeat("x", 65): false,
	} {
		if err := profile.CheckName(name); (err == nil) != ok {
			t.Errorf("%q: %v, want ok = %v", name, err, ok)
		}
	}
}
