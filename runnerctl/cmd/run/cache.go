package run

import (
	"github.com/docker/go-units"

	"github.com/runnerhub/runnerhub/runnerctl/cache"
	"github.com/runnerhub/runnerhub/runnerctl/cmdutil"
)

// openCache returns the cache of a profile's runner, of the size that --cache-size says.
func openCache(o *Options, profile string) (*cache.Store, error) {
	size, err := units.RAMInBytes(o.CacheSize)
	if err != nil || size < 0 {
		return nil, cmdutil.Usagef("--cache-size %q is no size like 10GiB", o.CacheSize)
	}
	return cache.New(cache.Options{Dir: o.F.CacheDir(profile), Size: size}), nil
}
