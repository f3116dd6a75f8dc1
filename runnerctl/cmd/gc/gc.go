// Package gc is `runnerctl gc`.
package gc

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/runnerctl/agent"
	"github.com/runnerhub/runnerhub/runnerctl/cache"
	"github.com/runnerhub/runnerhub/runnerctl/cmdutil"
	"github.com/runnerhub/runnerhub/topology"
)

// Options is what the command line says.
type Options struct {
	F      *cmdutil.Factory
	DryRun bool
	JSON   bool
}

// Report is what the command prints.
type Report struct {
	DryRun  bool   `json:"dry_run"`
	Removed []Item `json:"removed"` // or would be
	Kept    []Item `json:"kept"`
}

// Item is a resource on the engine.
type Item struct {
	Kind   string `json:"kind"` // container, network, volume or image
	Name   string `json:"name"`
	Runner string `json:"runner"`
	Job    string `json:"job,omitempty"`
	Why    string `json:"why"`
}

// Why something is removed or kept.
const (
	whyIdle       = "its runner does not run"
	whyRunning    = "its runner runs"
	whyUnfinished = "its runner takes the job up when it starts"
	whyStranger   = "of a runner that this account did not start"
	whyInUse      = "a container that is kept uses it"
	whyMeasured   = "a doctor that ended has left it"
	whyMeasuring  = "doctor may still measure with it"
)

// measuredWithin is how long after its begin a measurement of doctor's has ended for sure; each takes a few minutes at most.
const measuredWithin = time.Hour

// New makes the command; run replaces its body in tests.
func New(f *cmdutil.Factory, run func(context.Context, *Options) error) *cobra.Command {
	if run == nil {
		run = collect
	}
	o := &Options{F: f}
	c := &cobra.Command{
		Use:   "gc",
		Short: "Remove what runners that do not run any more have left on the container engine",
		Long: "Remove what runners of this account that do not run any more have left on the container engine: containers, networks and\n" +
			"volumes of jobs, ready networks of pairings that have ended, and unsent logs and caches of those. A runner does the same\n" +
			"for itself whenever it starts. What a doctor that was killed left more than an hour ago goes too. Nothing is touched that carries no\n" +
			"label of Runner Hub's, that belongs to a runner which runs or to one of another account, or to a job that its runner can\n" +
			"still take up.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return run(c.Context(), o) },
	}
	c.Flags().BoolVar(&o.DryRun, "dry-run", false, "only say what would be removed")
	cmdutil.AddJSON(c, &o.JSON, Report{})
	return c
}

func collect(ctx context.Context, o *Options) error {
	all, err := survey(o.F)
	if err != nil {
		return err
	}
	defer all.release()
	executor, err := o.F.NewExecutor(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = executor.Close(context.WithoutCancel(ctx)) }()
	cleaner, ok := executor.(topology.Cleaner)
	if !ok {
		return &mcp.Error{Code: mcp.CodeInternal, Message: "this container engine cannot be searched for leftovers"}
	}
	seen, err := cleaner.Survey(ctx)
	if err != nil {
		return err
	}
	gone := topology.Unowned(seen, func(id topology.Identity) bool { return collectable(all.why(id)) })
	report := all.report(seen, gone)
	report.DryRun = o.DryRun
	if !o.DryRun {
		if err := cleaner.Remove(ctx, gone); err != nil {
			return err
		}
		if err := all.forget(); err != nil {
			return err
		}
	}
	return show(o, report)
}

// owners are the runners of this account.
type owners struct {
	idle       map[string]bool // by id; false is one that runs
	unfinished []topology.Identity
	held       []*agent.Idle
	unpaired   []*agent.Idle // whose profiles are no runner's any more
	caches     []string      // of those
}

// survey holds the spools of all runners that do not run.
func survey(f *cmdutil.Factory) (*owners, error) {
	config, err := f.Profiles().Load()
	if err != nil {
		return nil, err
	}
	all := &owners{idle: map[string]bool{}}
	list, err := os.ReadDir(filepath.Dir(f.SpoolDir("x")))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	for _, d := range list {
		dir, paired := f.SpoolDir(d.Name()), config.Profiles[d.Name()].RunnerID
		ids := agent.RunnersOf(dir)
		if paired != "" && !slices.Contains(ids, paired) {
			ids = append(ids, paired)
		}
		held, err := agent.Hold(dir)
		switch {
		case errors.Is(err, agent.ErrLocked):
			for i, id := range ids { // the one that runs came last
				all.idle[id] = i < len(ids)-1 && id != paired
			}
			continue
		case errors.Is(err, os.ErrNotExist):
			continue
		case err != nil:
			all.release()
			return nil, err
		}
		all.held = append(all.held, held)
		for _, id := range ids {
			all.idle[id] = true
		}
		if paired == "" {
			all.unpaired = append(all.unpaired, held)
			all.caches = append(all.caches, f.CacheDir(d.Name()))
			continue
		}
		for _, id := range held.Unfinished {
			if id.Runner == paired {
				all.unfinished = append(all.unfinished, id)
			}
		}
	}
	return all, nil
}

func (o *owners) release() {
	for _, held := range o.held {
		held.Release()
	}
}

// forget removes what runners have left in spools that nobody sends any more, and in caches that no job asks for.
func (o *owners) forget() error {
	var first error
	for _, held := range o.unpaired {
		if err := held.Forget(); first == nil {
			first = err
		}
	}
	for _, dir := range o.caches {
		if err := cache.New(cache.Options{Dir: dir}).Tidy(); first == nil { // with no size nothing stays
			first = err
		}
	}
	return first
}

// collectable says whether a reason is one to remove something for.
func collectable(why string) bool { return why == whyIdle || why == whyMeasured }

// why says what is to become of a resource, and why.
func (o *owners) why(id topology.Identity) string {
	idle, ours := o.idle[id.Runner]
	began, measured := cmdutil.MeasurementTime(id.Runner)
	switch {
	case measured && time.Since(began) > measuredWithin:
		return whyMeasured
	case measured:
		return whyMeasuring
	case !ours:
		return whyStranger
	case slices.Contains(o.unfinished, id):
		return whyUnfinished
	case !idle:
		return whyRunning
	}
	return whyIdle
}

func (o *owners) report(seen, gone topology.Snapshot) Report {
	report := Report{Removed: []Item{}, Kept: []Item{}}
	removed := map[string]bool{}
	each(gone, func(kind, name string, _ map[string]string) { removed[kind+name] = true })
	each(seen, func(kind, name string, labels map[string]string) {
		id := topology.IdentityOf(labels)
		item := Item{Kind: kind, Name: name, Runner: id.Runner, Job: id.Job, Why: o.why(id)}
		switch {
		case removed[kind+name]:
			report.Removed = append(report.Removed, item)
			return
		case collectable(item.Why):
			item.Why = whyInUse
		}
		report.Kept = append(report.Kept, item)
	})
	return report
}

func each(s topology.Snapshot, f func(kind, name string, labels map[string]string)) {
	for _, c := range s.Containers {
		f("container", c.Name, c.Labels)
	}
	for _, n := range s.Networks {
		f("network", n.Name, n.Labels)
	}
	for _, v := range s.Volumes {
		f("volume", v.Name, v.Labels)
	}
	for _, i := range s.Images {
		f("image", i.Name, i.Labels)
	}
}

func show(o *Options, r Report) error {
	if o.JSON {
		return cmdutil.PrintJSON(o.F.IO, r)
	}
	verb := "Removed"
	if r.DryRun {
		verb = "Would remove"
	}
	if len(r.Removed) == 0 {
		return o.F.IO.Say("Nothing to remove. %d kept.\n", len(r.Kept))
	}
	t := cmdutil.NewTable(o.F.IO, "KIND", "NAME", "RUNNER", "WHY")
	for _, item := range r.Removed {
		t.Row(item.Kind, item.Name, item.Runner, item.Why)
	}
	if err := t.Print(); err != nil {
		return err
	}
	o.F.IO.Note("%s %d, kept %d\n", verb, len(r.Removed), len(r.Kept))
	return nil
}
