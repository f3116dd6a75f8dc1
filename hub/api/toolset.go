package api

import (
	"context"
	"slices"
	"strings"

	"github.com/runnerhub/runnerhub/hub"
)

// Toolset is a part of the tools that a client can ask for, so that a model need not read about the rest.
type Toolset string

// The toolsets. An operation without one is in all of them.
const (
	JobTools      Toolset = "jobs"      // run, follow, explain, look into
	ArtifactTools Toolset = "artifacts" // what jobs left behind
	RunnerTools   Toolset = "runners"   // one's own machines, and who else has some
	AdminTools    Toolset = "admin"     // a workspace's machines
)

// Toolsets are all of them.
func Toolsets() []Toolset { return []Toolset{JobTools, ArtifactTools, RunnerTools, AdminTools} }

// View narrows what a client sees of the tools that its token admits it to. The zero View is all of them.
type View struct {
	ReadOnly bool      // only what changes nothing, whatever else is asked for
	Toolsets []Toolset // nil: all
}

// Shows says whether an operation is in the view.
func (v View) Shows(o *Operation) bool {
	if v.ReadOnly && !o.Hints.ReadOnly {
		return false
	}
	return v.Toolsets == nil || o.Toolset == "" || slices.Contains(v.Toolsets, o.Toolset)
}

// ParseToolsets reads names that commas separate, in any case and with blanks around them; "all" is all of
// them. Errors: InvalidArgument for an unknown name or none.
func ParseToolsets(text string) ([]Toolset, error) {
	var out []Toolset
	for name := range strings.SplitSeq(text, ",") {
		set := Toolset(strings.ToLower(strings.TrimSpace(name)))
		switch {
		case set == "":
		case set == "all":
			out = append(out, Toolsets()...)
		case slices.Contains(Toolsets(), set):
			out = append(out, set)
		default:
			return nil, badToolset("there is no toolset %q", set)
		}
	}
	if len(out) == 0 {
		return nil, badToolset("no toolset is named")
	}
	return out, nil
}

// JoinToolsets writes names as ParseToolsets reads them, each once.
func JoinToolsets(sets []Toolset) string {
	var names []string
	for _, set := range Toolsets() {
		if slices.Contains(sets, set) {
			names = append(names, string(set))
		}
	}
	return strings.Join(names, ",")
}

func badToolset(format string, args ...any) error {
	var names []string
	for _, set := range Toolsets() {
		names = append(names, string(set))
	}
	return hub.Errorf(hub.InvalidArgument, format, args...).WithHint("use all, or some of %s, with commas between them", strings.Join(names, ", "))
}

// Narrow is what both views show.
func (v View) Narrow(w View) View {
	out := View{ReadOnly: v.ReadOnly || w.ReadOnly, Toolsets: v.Toolsets}
	switch {
	case v.Toolsets == nil:
		out.Toolsets = w.Toolsets
	case w.Toolsets != nil:
		out.Toolsets = slices.DeleteFunc(slices.Clone(v.Toolsets), func(t Toolset) bool { return !slices.Contains(w.Toolsets, t) })
	}
	return out
}

type viewKey struct{}

// WithView puts what a client wants to see into the context of a request.
func WithView(ctx context.Context, v View) context.Context {
	return context.WithValue(ctx, viewKey{}, v)
}

// ViewFrom returns what a client wants to see: everything where nothing was said.
func ViewFrom(ctx context.Context) View {
	v, _ := ctx.Value(viewKey{}).(View)
	return v
}
