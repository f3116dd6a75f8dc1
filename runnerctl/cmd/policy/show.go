package policy

import (
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/runnerhub/runnerhub/runnerctl/cmdutil"
	"github.com/runnerhub/runnerhub/topology/policy"
)

// Shown is what show prints as JSON.
type Shown struct {
	Path   string          `json:"path"`   // the file's
	Exists bool            `json:"exists"` // or the default policy holds
	Policy json.RawMessage `json:"policy"` // what is set
}

func newShow(o *Options, run func(context.Context, *Options) error) *cobra.Command {
	c := &cobra.Command{
		Use:   "show",
		Short: "Show the policy, with every rule and its default",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return run(c.Context(), o) },
	}
	cmdutil.AddJSON(c, &o.JSON, Shown{})
	return c
}

func show(_ context.Context, o *Options) error {
	f := file(o)
	p, err := f.Load()
	if err != nil {
		return invalid(err, "mend it with `runnerctl policy edit`; until then the runner takes no jobs")
	}
	text, err := f.Text()
	if err != nil {
		return err
	}
	if o.JSON {
		set, err := json.Marshal(p)
		if err != nil {
			return err
		}
		return cmdutil.PrintJSON(o.F.IO, Shown{Path: f.Path(), Exists: text != nil, Policy: set})
	}
	if text == nil {
		o.F.IO.Note("there is no %s, so that the default policy holds\n", f.Path())
	} else {
		o.F.IO.Note("%s\n", f.Path())
	}
	return o.F.IO.Say("%s", p.Text())
}

// rules lists every rule with an example of its value, for help.
func rules() string {
	var b []byte
	for _, f := range policy.Fields {
		b = append(b, "\n  "+f.Name+"="+f.Example+"\n      "+f.About+" (default: "+f.Default+")"...)
	}
	return string(b)
}
