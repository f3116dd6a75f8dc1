package topology

import "go.yaml.in/yaml/v4"

// yamlReader turns the parser's nodes into ours. A node that several aliases
// share becomes one node of ours.
type yamlReader struct {
	anchored map[*yaml.Node]*node // nil while the node is being read
	merged   int                  // nodes that << has copied, over all mappings
}

func (r *yamlReader) node(y *yaml.Node) (*node, *Problem) {
	at := position{y.Line, y.Column}
	if y.Kind == yaml.AliasNode {
		shared, begun := r.anchored[y.Alias]
		if begun && shared == nil {
			return nil, &Problem{
				Line: at.line, Column: at.col, Code: ProblemSyntax,
				Message: "the alias *" + clip(y.Value) + " is inside its own anchor",
			}
		}
		if begun {
			return shared, nil
		}
		return r.node(y.Alias)
	}
	if y.Anchor != "" {
		r.anchored[y] = nil
	}
	n := &node{position: at}
	var problem *Problem
	switch y.Kind {
	case yaml.ScalarNode:
		n.text = y.Value
		n.class, problem = classOf(y)
	case yaml.SequenceNode:
		n.kind = listNode
		problem = r.list(n, y)
	default:
		n.kind = mappingNode
		problem = r.mapping(n, y)
	}
	if problem == nil {
		problem = n.weigh()
	}
	if y.Anchor != "" {
		r.anchored[y] = n
	}
	return n, problem
}

func (r *yamlReader) list(n *node, y *yaml.Node) *Problem {
	for _, c := range y.Content {
		item, problem := r.node(c)
		if problem != nil {
			return problem
		}
		n.items = append(n.items, item)
	}
	return checkTag(y, "!!seq")
}

// mapping reads entries in the order of the text; merged ones follow, so that
// keys written out win over merged ones, and earlier merges over later ones.
func (r *yamlReader) mapping(n *node, y *yaml.Node) *Problem {
	var merges []*node
	for i := 0; i+1 < len(y.Content); i += 2 {
		val, problem := r.node(y.Content[i+1])
		if problem != nil {
			return problem
		}
		if key := y.Content[i]; key.Kind == yaml.ScalarNode && key.Tag == "!!merge" {
			merges = append(merges, val)
			continue
		}
		key, problem := r.node(y.Content[i])
		if problem != nil {
			return problem
		}
		n.entries = append(n.entries, entry{key, val})
	}
	if problem := r.merge(n, merges); problem != nil {
		return problem
	}
	return checkTag(y, "!!map")
}

// merge adds the entries of << that the mapping does not have itself. Every
// source counts against the limit each time, so merging cannot blow up either.
func (r *yamlReader) merge(n *node, sources []*node) *Problem {
	if len(sources) == 0 {
		return nil
	}
	for _, source := range sources {
		if r.merged += source.nodes; r.merged > MaxSpecNodes {
			return tooManyNodes(n.position)
		}
	}
	seen := make(map[string]bool, len(n.entries))
	for _, e := range n.entries {
		seen[e.key.text] = true
	}
	return n.absorb(sources, seen)
}

func (n *node) absorb(sources []*node, seen map[string]bool) *Problem {
	for _, source := range sources {
		if source.kind == scalarNode {
			return &Problem{
				Line: source.line, Column: source.col, Code: ProblemSyntax,
				Message: "<< merges mappings only",
			}
		}
		if problem := n.absorb(source.items, seen); problem != nil {
			return problem
		}
		for _, e := range source.entries {
			if !seen[e.key.text] {
				seen[e.key.text] = true
				n.entries = append(n.entries, e)
			}
		}
	}
	return nil
}

// classOf tells what a scalar would be in YAML's core schema.
func classOf(y *yaml.Node) (class, *Problem) {
	switch y.Tag {
	case "!!int", "!!float":
		return numberClass, nil
	case "!!bool":
		return boolClass, nil
	case "!!null":
		return nullClass, nil
	case "!!timestamp", "!!merge": // a date, or << as a value: text as written
		return textClass, nil
	}
	return textClass, checkTag(y, "!!str")
}

// checkTag refuses tags that change what a value means.
func checkTag(y *yaml.Node, want string) *Problem {
	if y.Style&yaml.TaggedStyle == 0 || y.Tag == want {
		return nil
	}
	return &Problem{
		Line: y.Line, Column: y.Column, Code: ProblemSyntax,
		Message: "the tag " + clip(y.Tag) + " is not accepted", Hint: "write the value without it",
	}
}
