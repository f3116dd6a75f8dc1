package policy

import (
	"bytes"
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/runnerhub/runnerhub/runnerctl/policyfile"
	"github.com/runnerhub/runnerhub/topology/policy"
)

func newSet(o *Options, run func(context.Context, *Options) error) *cobra.Command {
	return &cobra.Command{
		Use:   "set NAME=VALUE...",
		Short: "Change rules of the policy",
		Long: "Change rules of the policy; comments in the file stay. NAME= goes back to the default. The entries of a list stand with\n" +
			"commas between them; NAME+=VALUE adds to it, NAME-=VALUE takes away. Either all changes are made or none. A list without\n" +
			"which everything is allowed is not emptied so: say images=**, repositories=**, networks=none,restricted,open or hours=daily.\n\nRules:\n" + rules(),
		Example: "  runnerctl policy set images+=ghcr.io/acme/** ceiling.memory=8GiB\n  runnerctl policy set 'hours=mon-fri 18:00-08:00,sat-sun'",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			o.Changes = args
			return run(c.Context(), o)
		},
	}
}

func set(_ context.Context, o *Options) error {
	f, same := file(o), false
	err := f.Update(func(text []byte) ([]byte, error) {
		if _, err := policy.Parse(text); err != nil {
			return nil, errors.Join(policyfile.ErrInvalid, err)
		}
		out, err := policy.Set(text, o.Changes...)
		same = bytes.Equal(out, text)
		return out, err
	})
	switch {
	case errors.Is(err, policyfile.ErrInvalid):
		return invalid(err, f.Path()+" has a mistake already: mend it with `runnerctl policy edit`")
	case err != nil:
		return invalid(err, "nothing was changed; see `runnerctl policy set --help`")
	case same:
		o.F.IO.Note("that is what %s says already\n", f.Path())
	default:
		o.F.IO.Note("%s is changed; a runner that runs heeds it within seconds\n", f.Path())
	}
	return nil
}
