// Package cache is `runnerctl cache`.
package cache

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/runnerhub/runnerhub/runnerctl/cache"
	"github.com/runnerhub/runnerhub/runnerctl/cmdutil"
)

// Options is what the command line says.
type Options struct {
	F      *cmdutil.Factory
	JSON   bool
	IDs    []string // of rm
	All    bool
	Unused time.Duration // 0 is not asked for
}

// Item is an entry, and the profile whose runner keeps it.
type Item struct {
	Profile string `json:"profile"`
	cache.Entry
}

// New makes the command; run replaces the bodies of its subcommands in tests.
func New(f *cmdutil.Factory, run func(context.Context, *Options) error) *cobra.Command {
	o := &Options{F: f}
	body := func(own func(context.Context, *Options) error) func(context.Context, *Options) error {
		if run != nil {
			return run
		}
		return own
	}
	c := &cobra.Command{
		Use:   "cache",
		Short: "Show and remove what this machine's runners keep between jobs",
		Long: "Show and remove the folders that this machine's runners keep from one job to the next, as `cache` in a job's spec says.\n" +
			"How much that may be is the runner's --cache-size; what was used longest ago goes by itself.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newList(o, body(list)), newRemove(o, body(remove)))
	return c
}

func newList(o *Options, run func(context.Context, *Options) error) *cobra.Command {
	c := &cobra.Command{
		Use:   "ls",
		Short: "List the entries, the one that was used last first",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return run(c.Context(), o) },
	}
	cmdutil.AddJSON(c, &o.JSON, Item{})
	return c
}

func list(_ context.Context, o *Options) error {
	all, err := items(o.F)
	if err != nil {
		return err
	}
	if o.JSON {
		return cmdutil.PrintJSON(o.F.IO, all)
	}
	t := cmdutil.NewTable(o.F.IO, "id", "key", "files", "on disk", "used", "profile", "of")
	var stored int64
	for _, i := range all {
		t.Row(short(i.ID), i.Key, cmdutil.Bytes(i.Bytes), cmdutil.Bytes(i.Stored), cmdutil.Ago(o.F.Now(), &i.Used), i.Profile, i.Owner)
		stored += i.Stored
	}
	if err := t.Print(); err != nil {
		return err
	}
	o.F.IO.Note("%d entries, %s\n", len(all), cmdutil.Bytes(stored))
	return nil
}

// short is as much of an id as people need.
func short(id string) string { return id[:12] }

// stores are the caches of all profiles.
func stores(f *cmdutil.Factory) (map[string]*cache.Store, error) {
	dirs, err := os.ReadDir(filepath.Dir(f.CacheDir("x")))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	all := map[string]*cache.Store{}
	for _, d := range dirs {
		all[d.Name()] = cache.New(cache.Options{Dir: f.CacheDir(d.Name())})
	}
	return all, err
}
