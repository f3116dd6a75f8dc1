package submit

import (
	"context"
	"errors"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/runnerctl/cmdutil"
	"github.com/runnerhub/runnerhub/topology"
)

// addPatch has a job start with its source changed by the patch of --patch. What is
// wrong with the patch is said before anything is sent.
func addPatch(ctx context.Context, o *Options, s *topology.Spec) error {
	if o.Patch == "" {
		return nil
	}
	if s.Source.Patch != "" {
		return cmdutil.Usagef("the spec has a patch of its own: leave out --patch, or take it out of the spec")
	}
	text, err := readText(ctx, o, o.Patch)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return cmdutil.Usagef("cannot read the patch: %w", err)
	}
	s.Source.Patch = string(text)
	canonical, err := s.Canonical()
	if err != nil {
		return err
	}
	_, err = topology.Parse(canonical)
	if bad, ok := errors.AsType[*topology.SpecError](err); ok {
		return &mcp.Error{
			Code: mcp.CodeInvalidArgument, Message: "the patch " + o.Patch + " cannot be used: " + bad.Problems[0].Message, Hint: bad.Problems[0].Hint,
		}
	}
	return err
}
