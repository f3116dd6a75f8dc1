package submit

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/runnerctl/cmdutil"
)

func showCheck(o *Options, res mcp.CheckJobResult) error {
	if o.JSON {
		if err := cmdutil.PrintJSON(o.F.IO, res); err != nil {
			return err
		}
	} else if err := showCheckText(o, res); err != nil {
		return err
	}
	if !res.Valid {
		return &cmdutil.ExitError{Code: mcp.ExitUsage}
	}
	return nil
}

func showCheckText(o *Options, res mcp.CheckJobResult) error {
	for _, p := range res.Problems {
		o.F.IO.Note("%s\n", place(o.File, p))
	}
	t := cmdutil.NewTable(o.F.IO, "runner", "eligible", "why", "in words")
	for _, r := range res.Runners {
		for _, why := range r.Reasons {
			t.Row(r.Label, fmt.Sprint(r.Eligible), why.Code, why.Message)
		}
	}
	o.F.IO.Note("%s\n", res.Summary)
	return t.Print()
}

// withPlaces shows the spec's problems as compilers do, FILE:LINE:COLUMN, before the error itself.
func withPlaces(o *Options, err error) error {
	e, ok := errors.AsType[*mcp.Error](err)
	if !ok || e.Details["problems"] == nil {
		return err
	}
	var problems []mcp.SpecProblem
	raw, jsonErr := json.Marshal(e.Details["problems"])
	if jsonErr == nil {
		jsonErr = json.Unmarshal(raw, &problems)
	}
	if jsonErr != nil {
		return errors.Join(err, fmt.Errorf("the hub's list of problems cannot be understood: %w", jsonErr))
	}
	for _, p := range problems {
		o.F.IO.Note("%s\n", place(o.File, p))
	}
	if len(problems) > 0 { // each has its own hint
		shown := *e
		shown.Hint = ""
		return &shown
	}
	return err
}

func place(file string, p mcp.SpecProblem) string {
	where := file
	if p.Line > 0 {
		where = fmt.Sprintf("%s:%d:%d", file, p.Line, p.Column)
	}
	msg := p.Message
	if p.Field != "" {
		msg = p.Field + ": " + msg
	}
	if p.Hint != "" {
		msg += " (" + cmdutil.Commands(p.Hint) + ")"
	}
	return where + ": " + msg
}
