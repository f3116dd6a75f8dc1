package api

import (
	"strings"

	"github.com/runnerhub/runnerhub/hub"
)

// scopeOf is what a principal's key may be used for, as a view. A scope that this hub cannot read, because a newer one has
// written it, shows nothing.
func scopeOf(p hub.Principal) View {
	v := View{ReadOnly: p.Scope.ReadOnly}
	if p.Scope.Toolsets != "" {
		v.Toolsets = []Toolset{}
		if sets, err := ParseToolsets(p.Scope.Toolsets); err == nil {
			v.Toolsets = sets
		}
	}
	return v
}

// VisibleTo narrows a view by what the principal's key may be used for.
func (v View) VisibleTo(p hub.Principal) View { return v.Narrow(scopeOf(p)) }

// Permit refuses what the scope of the caller's key leaves out: changes with a key that only reads, and what is of another
// toolset. It is for what is served beside the table; the table's operations are checked when they are called.
func Permit(p hub.Principal, set Toolset, changes bool) error {
	return permit(p, &Operation{Name: "this", Toolset: set, Hints: Hints{ReadOnly: !changes}})
}

func permit(p hub.Principal, o *Operation) error {
	scope := scopeOf(p)
	switch {
	case scope.Shows(o):
		return nil
	case scope.ReadOnly && !o.Hints.ReadOnly:
		return hub.Errorf(hub.PermissionDenied, "%s changes something, and the API key %q only reads", o.Name, p.KeyName).
			WithHint("use a key that was made without --read-only")
	}
	return hub.Errorf(hub.PermissionDenied, "%s is one of the tools for %s, and the API key %q is for %s alone", o.Name, o.Toolset, p.KeyName,
		strings.ReplaceAll(p.Scope.Toolsets, ",", ", ")).WithHint("use a key that was made without --toolsets, or with %s among them", o.Toolset)
}

// Visible says whether a caller with a view sees an operation. Where its view or its key's scope is what hides it, why
// says so; what is not for its kind of token looks as if it did not exist.
func (o *Operation) Visible(p hub.Principal, v View) (visible bool, why string) {
	scope := v.VisibleTo(p)
	switch {
	case !o.Audience.Admits(p):
		return false, ""
	case scope.Shows(o):
		return true, ""
	case scope.ReadOnly && !o.Hints.ReadOnly:
		return false, "it changes something, and this connection or its key only reads"
	}
	return false, "it is not among the toolsets that this connection or its key has"
}
