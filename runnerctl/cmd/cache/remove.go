package cache

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/runnerctl/cmdutil"
)

// leastID is as much of an id as must be given.
const leastID = 4

func newRemove(o *Options, run func(context.Context, *Options) error) *cobra.Command {
	c := &cobra.Command{
		Use:   "rm [ID…]",
		Short: "Remove entries: those named, those that were not used for a while, or all",
		Long: "Remove entries: those named by the beginnings of their ids, those that were not used for a while, or all. An entry that a\n" +
			"job is being given just now stays.",
		RunE: func(c *cobra.Command, args []string) error {
			o.IDs = append(o.IDs, args...)
			ways := 0
			for _, way := range []bool{len(args) > 0, o.All, o.Unused != 0} {
				if way {
					ways++
				}
			}
			if ways != 1 {
				return cmdutil.Usagef("name entries, or say --all or --unused-for")
			}
			if o.Unused < 0 {
				return cmdutil.Usagef("--unused-for must not be negative")
			}
			return run(c.Context(), o)
		},
	}
	c.Flags().BoolVar(&o.All, "all", false, "all of them, of every profile")
	c.Flags().DurationVar(&o.Unused, "unused-for", 0, "those that no job was given for so long, such as 720h")
	cmdutil.AddJSON(c, &o.JSON, Item{})
	return c
}

func remove(_ context.Context, o *Options) error {
	all, err := items(o.F)
	if err != nil {
		return err
	}
	chosen, err := choose(o, all)
	if err != nil {
		return err
	}
	kept, err := stores(o.F)
	if err != nil {
		return err
	}
	removed, bytes := []Item{}, int64(0)
	for _, i := range chosen {
		if err := kept[i.Profile].Remove(i.ID); err != nil {
			o.F.IO.Note("%s (%s) stays: %v\n", short(i.ID), i.Key, err)
			continue
		}
		removed, bytes = append(removed, i), bytes+i.Stored
	}
	if o.JSON {
		err = cmdutil.PrintJSON(o.F.IO, removed)
	} else {
		err = o.F.IO.Say("Removed %d of %d entries, %s.\n", len(removed), len(all), cmdutil.Bytes(bytes))
	}
	if err == nil && len(removed) < len(chosen) {
		return &cmdutil.ExitError{Code: mcp.ExitFailure}
	}
	return err
}

// choose picks what the command line means.
func choose(o *Options, all []Item) ([]Item, error) {
	switch {
	case o.All:
		return all, nil
	case o.Unused > 0:
		return slices.DeleteFunc(slices.Clone(all), func(i Item) bool { return o.F.Now().Sub(i.Used) < o.Unused }), nil
	}
	var chosen []Item
	for _, id := range o.IDs {
		found := slices.DeleteFunc(slices.Clone(all), func(i Item) bool { return len(id) < leastID || !strings.HasPrefix(i.ID, id) })
		if len(found) == 0 {
			return nil, &mcp.Error{
				Code: mcp.CodeNotFound, Message: fmt.Sprintf("no entry has an id that begins with %q", id), Hint: "`runnerctl cache ls` lists them",
			}
		}
		chosen = append(chosen, found...)
	}
	return chosen, nil
}

// items are the entries of all profiles, in their order of use.
func items(f *cmdutil.Factory) ([]Item, error) {
	kept, err := stores(f)
	if err != nil {
		return nil, err
	}
	all := []Item{}
	for _, profile := range slices.Sorted(maps.Keys(kept)) {
		entries, err := kept[profile].List()
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			all = append(all, Item{profile, e})
		}
	}
	slices.SortStableFunc(all, func(a, b Item) int { return b.Used.Compare(a.Used) })
	return all, nil
}
