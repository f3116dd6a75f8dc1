package policy

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/runnerctl/cmdutil"
	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/policy"
)

// Checked is what check prints as JSON.
type Checked struct {
	Allowed    bool        `json:"allowed"`
	Violations []Violation `json:"violations"`
}

// Violation is one rule that the job breaks.
type Violation struct {
	Rule      string `json:"rule"`
	Container string `json:"container,omitempty"`
	Message   string `json:"message"`
	Allow     string `json:"allow,omitempty"` // the command that would allow it
}

func newCheck(o *Options, run func(context.Context, *Options) error) *cobra.Command {
	c := &cobra.Command{
		Use:   "check SPEC",
		Short: "Say whether the policy allows a job; SPEC - reads it from standard input",
		Long: "Say whether the policy allows a job now, and if not, which rules are in the way and how each could be allowed. The exit\n" +
			"code is 3 then. Services from a Compose file are known only on the runner, which checks them before it starts any.",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			o.File = args[0]
			return run(c.Context(), o)
		},
	}
	cmdutil.AddJSON(c, &o.JSON, Checked{})
	return c
}

func check(ctx context.Context, o *Options) error {
	p, err := file(o).Load()
	if err != nil {
		return invalid(err, "mend it with `runnerctl policy edit`")
	}
	text, err := read(ctx, o)
	if err != nil {
		return err
	}
	spec, err := topology.Parse(text)
	if err != nil {
		return &mcp.Error{Code: mcp.CodeInvalidArgument, Message: "the spec cannot be used: " + err.Error()}
	}
	found := policy.Check(p, spec, o.F.Now())
	if len(found) == 0 {
		if _, v := policy.Bound(p, spec); v != nil {
			found = append(found, *v)
		}
	}
	if err := tell(o, spec, found); err != nil {
		return err
	}
	if len(found) > 0 {
		return &cmdutil.ExitError{Code: mcp.ExitAuth}
	}
	return nil
}

func tell(o *Options, spec *topology.Spec, found []policy.Violation) error {
	if o.JSON {
		out := Checked{Allowed: len(found) == 0, Violations: []Violation{}}
		for _, v := range found {
			out.Violations = append(out.Violations, Violation{string(v.Rule), v.Container, v.Message, v.Allow})
		}
		return cmdutil.PrintJSON(o.F.IO, out)
	}
	switch {
	case len(found) == 0 && len(spec.Compose.Files) > 0:
		return o.F.IO.Say("the policy allows this job as far as its spec says; what its Compose files ask for is checked on the runner, before anything is started\n")
	case len(found) == 0:
		return o.F.IO.Say("the policy allows this job\n")
	}
	for _, v := range found {
		if err := o.F.IO.Say("%s\n", v.Lines()); err != nil {
			return err
		}
	}
	return nil
}

func read(ctx context.Context, o *Options) (text []byte, err error) {
	const most = topology.MaxSpecBytes + 1
	if o.File == "-" {
		text, err = o.F.IO.ReadAll(ctx, most)
	} else {
		var f *os.File
		if f, err = os.Open(o.File); err == nil {
			text, err = io.ReadAll(io.LimitReader(f, most))
			err = errors.Join(err, f.Close())
		}
	}
	if err != nil && ctx.Err() == nil {
		err = cmdutil.Usagef("cannot read the spec: %w", err)
	}
	return text, err
}
