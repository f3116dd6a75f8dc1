package topology

import "slices"

// Draft is the text of a spec that changes are applied to, read once however many there are.
type Draft struct{ root *node }

// ReadDraft reads a draft, which need not be a whole spec. The error is a *SpecError.
func ReadDraft(spec []byte) (*Draft, error) {
	root, problem := readTree(spec)
	if problem != nil {
		return nil, newSpecError(*problem)
	}
	if root.kind != mappingNode {
		return nil, newSpecError(Problem{Code: ProblemType, Message: "the spec must be a mapping (name: value)", Hint: "such as {\"image\": \"alpine:3\"}, or leave it out"})
	}
	return &Draft{root}, nil
}

// With reads the spec that changes make of the draft, as Parse reads one. Changes are a merge patch (RFC 7396), JSON or
// YAML: what they name replaces what the draft has, mappings are merged key by key, a null takes a key out, and a list
// replaces a list. Problems have no line, because nobody has written the text that they are in.
func (d *Draft) With(changes []byte) (*Spec, error) {
	patch, problem := readTree(changes)
	if problem != nil && problem.Code == ProblemEmpty {
		patch = &node{} // which is no mapping either
	} else if problem != nil {
		problem.Message = "in the changes: " + problem.Message
		return nil, newSpecError(*problem)
	}
	if patch.kind != mappingNode {
		return nil, newSpecError(Problem{Code: ProblemType, Message: "changes must be a mapping of what they change, such as {\"image\": \"alpine:3\"}"})
	}
	root, problem := merge(d.root, patch)
	if problem != nil {
		return nil, newSpecError(placeless(*problem)...)
	}
	s, problems := decode(root)
	if len(problems) > 0 {
		return nil, newSpecError(placeless(problems...)...)
	}
	return s, nil
}

func placeless(problems ...Problem) []Problem {
	out := slices.Clone(problems)
	for i := range out {
		out[i].Line, out[i].Column = 0, 0
	}
	return out
}

// merge is the node that RFC 7396 makes of two. A key that the patch has twice stays twice, so that it is reported.
func merge(base, patch *node) (*node, *Problem) {
	if patch.kind != mappingNode {
		return patch, nil
	}
	out := &node{kind: mappingNode, position: patch.position}
	if base != nil && base.kind == mappingNode {
		out.entries = slices.Clone(base.entries)
	}
	seen := map[string]bool{}
	for _, e := range patch.entries {
		name := e.key.text
		at := slices.IndexFunc(out.entries, func(have entry) bool { return have.key.text == name })
		switch {
		case seen[name]:
			out.entries = append(out.entries, e)
		case e.value.kind == scalarNode && e.value.class == nullClass:
			out.entries = slices.DeleteFunc(out.entries, func(have entry) bool { return have.key.text == name })
		case at < 0:
			value, problem := merge(nil, e.value)
			if problem != nil {
				return nil, problem
			}
			out.entries = append(out.entries, entry{e.key, value})
		default:
			value, problem := merge(out.entries[at].value, e.value)
			if problem != nil {
				return nil, problem
			}
			out.entries[at] = entry{e.key, value}
		}
		seen[name] = true
	}
	return out, out.weigh()
}
