package source

import (
	"fmt"
	"path/filepath"
	"strings"
)

// Mirror says where repositories are also to be had: those whose URLs begin with
// Prefix, at Location followed by the rest. Location is a folder of this machine or
// a URL. The machine's owner says so, never a job.
type Mirror struct{ Prefix, Location string }

// ParseMirror reads PREFIX=LOCATION.
func ParseMirror(text string) (Mirror, error) {
	prefix, location, found := strings.Cut(text, "=")
	switch {
	case !found || prefix == "" || location == "":
		return Mirror{}, fmt.Errorf("%q is not URL-PREFIX=LOCATION", text)
	case strings.HasPrefix(location, "-"):
		return Mirror{}, fmt.Errorf("the location %q begins like an option", location)
	case !strings.Contains(location, ":") && !filepath.IsAbs(location):
		return Mirror{}, fmt.Errorf("the location %q is neither a URL nor an absolute path", location)
	}
	return Mirror{prefix, location}, nil
}

// place is where to fetch a repository from.
type place struct {
	url   string
	local bool // said by the machine's owner: its folders are allowed
}

// places lists where a repository may be: its mirrors, in their order, and itself.
// What follows a prefix comes from a job, so that it must stay below the location.
func (f *Fetcher) places(repository string) []place {
	var all []place
	for _, m := range f.Mirrors {
		rest, found := strings.CutPrefix(repository, m.Prefix)
		if !found || rest != "" && !filepath.IsLocal(strings.TrimPrefix(rest, "/")) {
			continue
		}
		all = append(all, place{url: m.Location + rest, local: true})
	}
	return append(all, place{url: repository})
}
