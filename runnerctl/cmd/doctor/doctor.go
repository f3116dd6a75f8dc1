// Package doctor is `runnerctl doctor`.
package doctor

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/runnerctl/cmdutil"
	"github.com/runnerhub/runnerhub/runnerctl/iostreams"
)

// Options is what the command line says.
type Options struct {
	F     *cmdutil.Factory
	Image string
	JSON  bool
}

// defaultImage is what is measured with unless another image is named.
const defaultImage = "busybox"

// The states of a check.
const (
	OK   = "ok"
	Warn = "warn" // jobs run, though perhaps not as somebody thinks
	Fail = "fail" // jobs do not run
)

// Check is one thing that was looked at.
type Check struct {
	Name  string `json:"name"`
	State string `json:"state"` // ok, warn or fail
	Text  string `json:"text"`
	Mend  string `json:"mend,omitempty"` // the command that mends it
}

// New makes the command; run replaces its body in tests.
func New(f *cmdutil.Factory, run func(context.Context, *Options) error) *cobra.Command {
	if run == nil {
		run = examine
	}
	o := &Options{F: f}
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Look at everything that jobs on this machine depend on",
		Long: "Look at everything that jobs on this machine depend on: the engine and why it was chosen, whether its limits really hold\n" +
			"and names resolve (both measured in containers), disk, keyring, policy, hubs, proxy, clock, registries. What is wrong\n" +
			"comes with the command that mends it. The exit code is 1 when jobs cannot run.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return run(c.Context(), o) },
	}
	c.Flags().StringVar(&o.Image, "image", defaultImage, "image with a shell to measure with; it is pulled if absent")
	cmdutil.AddJSON(c, &o.JSON, Check{})
	return c
}

func examine(ctx context.Context, o *Options) error {
	x := &examination{o: o}
	x.engine(ctx)
	x.policy()
	x.disk()
	x.keyring()
	x.hubs(ctx)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if o.JSON {
		if err := cmdutil.PrintJSON(o.F.IO, x.checks); err != nil {
			return err
		}
	}
	if x.failed {
		return &cmdutil.ExitError{Code: mcp.ExitFailure}
	}
	return nil
}

// examination collects checks, and shows each as it comes.
type examination struct {
	o      *Options
	checks []Check
	failed bool
}

func (x *examination) ok(name, format string, args ...any) { x.add(OK, name, "", format, args...) }

func (x *examination) warn(name, mend, format string, args ...any) {
	x.add(Warn, name, mend, format, args...)
}

func (x *examination) fail(name, mend, format string, args ...any) {
	x.add(Fail, name, mend, format, args...)
}

func (x *examination) add(state, name, mend, format string, args ...any) {
	c := Check{Name: name, State: state, Text: iostreams.OneLine(fmt.Sprintf(format, args...)), Mend: mend}
	x.checks = append(x.checks, c)
	x.failed = x.failed || state == Fail
	if x.o.JSON {
		return
	}
	line := fmt.Sprintf("%-4s  %-9s %s\n", state, name, c.Text)
	if mend != "" {
		line += strings.Repeat(" ", 16) + "mend it: " + mend + "\n"
	}
	_ = x.o.F.IO.Say("%s", line) // a pipe that is gone ends the next write too
}
