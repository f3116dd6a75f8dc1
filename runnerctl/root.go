// Package runnerctl is the program that people install on their machines: it pairs
// them, runs jobs on them, and submits and watches jobs from a terminal.
package runnerctl

import (
	"context"
	"os"
	"time"

	"github.com/adrg/xdg"
	"github.com/spf13/cobra"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/runnerctl/cmd/artifacts"
	"github.com/runnerhub/runnerhub/runnerctl/cmd/cache"
	"github.com/runnerhub/runnerhub/runnerctl/cmd/cancel"
	"github.com/runnerhub/runnerhub/runnerctl/cmd/cp"
	"github.com/runnerhub/runnerhub/runnerctl/cmd/doctor"
	"github.com/runnerhub/runnerhub/runnerctl/cmd/download"
	"github.com/runnerhub/runnerhub/runnerctl/cmd/exec"
	"github.com/runnerhub/runnerhub/runnerctl/cmd/explain"
	"github.com/runnerhub/runnerhub/runnerctl/cmd/gc"
	"github.com/runnerhub/runnerhub/runnerctl/cmd/jobs"
	"github.com/runnerhub/runnerhub/runnerctl/cmd/login"
	"github.com/runnerhub/runnerhub/runnerctl/cmd/logout"
	"github.com/runnerhub/runnerhub/runnerctl/cmd/logs"
	mcpcmd "github.com/runnerhub/runnerhub/runnerctl/cmd/mcp"
	"github.com/runnerhub/runnerhub/runnerctl/cmd/pair"
	"github.com/runnerhub/runnerhub/runnerctl/cmd/policy"
	"github.com/runnerhub/runnerhub/runnerctl/cmd/release"
	"github.com/runnerhub/runnerhub/runnerctl/cmd/retry"
	"github.com/runnerhub/runnerhub/runnerctl/cmd/run"
	"github.com/runnerhub/runnerhub/runnerctl/cmd/runners"
	"github.com/runnerhub/runnerhub/runnerctl/cmd/status"
	"github.com/runnerhub/runnerhub/runnerctl/cmd/submit"
	"github.com/runnerhub/runnerhub/runnerctl/cmd/unpair"
	"github.com/runnerhub/runnerhub/runnerctl/cmd/version"
	"github.com/runnerhub/runnerhub/runnerctl/cmdutil"
	"github.com/runnerhub/runnerhub/runnerctl/iostreams"
	"github.com/runnerhub/runnerhub/runnerctl/keyring"
	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/compose"
	"github.com/runnerhub/runnerhub/topology/docker"
	"github.com/runnerhub/runnerhub/topology/host"
)

// Main runs the program and returns its exit code.
func Main() int {
	if code, was := host.Helper(); was { // of a runner
		return code
	}
	config, state := cmdutil.DefaultDirs()
	settings, _ := os.UserConfigDir() // without a home there is none
	f := &cmdutil.Factory{
		IO: iostreams.System(), Getenv: os.Getenv, Now: time.Now, ConfigDir: config, StateDir: state,
		HomeDir: xdg.Home, SettingsDir: settings,
		Keyring:      keyring.OpenSystem(0),
		Compose:      compose.Load,
		SurveyEngine: func(ctx context.Context) topology.Survey { return docker.SurveyEngine(ctx, docker.Options{}) },
		Signals:      stopSignals,
	}
	f.NewExecutor = func(ctx context.Context) (topology.Executor, error) { return newExecutor(ctx, f) }
	return Execute(context.Background(), f, os.Args[1:])
}

// Execute runs one command line and returns its exit code.
func Execute(ctx context.Context, f *cmdutil.Factory, args []string) int {
	ctx, done := context.WithCancel(ctx)
	defer done()
	root := NewRoot(f)
	root.SetArgs(args)
	return cmdutil.Report(f.IO, root.ExecuteContext(ctx))
}

// NewRoot makes the command tree.
func NewRoot(f *cmdutil.Factory) *cobra.Command {
	root := &cobra.Command{
		Use:   "runnerctl",
		Short: "Pair machines with a Runner Hub, run jobs on them, and submit and watch jobs",
		Long: "runnerctl pairs this machine with a hub and runs jobs on it, each in a Docker topology of its own; and it submits and\n" +
			"watches jobs from a terminal. Several hubs can be used side by side, each as a --profile.",
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       mcp.Version,
		Args:          cobra.NoArgs,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },

		PersistentPreRun: func(c *cobra.Command, _ []string) { f.Interruptible(c) },
	}
	root.SetIn(f.IO.In)
	root.SetOut(f.IO.Out)
	root.SetErr(f.IO.Err)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &cmdutil.UsageError{Err: err} })
	root.PersistentFlags().StringVar(&f.ProfileName, "profile", "", "name of the hub's profile (default: RUNNERCTL_PROFILE, or \"default\")")
	root.AddCommand(
		pair.New(f, nil), unpair.New(f, nil), run.New(f, nil), status.New(f, nil), gc.New(f, nil), cache.New(f, nil),
		policy.New(f, nil), doctor.New(f, nil),
		login.New(f, nil), logout.New(f, nil),
		submit.New(f, nil), jobs.New(f, nil), logs.New(f, nil), explain.New(f, nil), artifacts.New(f, nil), download.New(f, nil), cancel.New(f, nil), retry.New(f, nil),
		exec.New(f, nil), cp.New(f, nil), release.New(f, nil),
		mcpcmd.New(f, nil),
		runners.New(f, nil), version.New(f),
		exitCodes(), environment(),
	)
	tidy(root)
	return root
}

// tidy gives every command what they have in common: wrong arguments are errors of the command line, and only submit
// and policy check take a file, so that the shell completes names of files nowhere else.
func tidy(c *cobra.Command) {
	if check := c.Args; check != nil {
		c.Args = func(c *cobra.Command, args []string) error {
			if err := check(c, args); err != nil {
				return cmdutil.Usagef("%w; see `%s --help`", err, c.CommandPath())
			}
			return nil
		}
	}
	if c.Name() != "submit" && c.Name() != "check" && c.ValidArgsFunction == nil {
		c.ValidArgsFunction = cobra.NoFileCompletions
	}
	for _, sub := range c.Commands() {
		tidy(sub)
	}
}
