package topology

import "fmt"

// kind is the shape of a node.
type kind uint8

const (
	scalarNode kind = iota
	listNode
	mappingNode
)

// class is what an unquoted scalar would be. Text is kept as written for all
// of them, so that 1.10 stays 1.10 where text is wanted.
type class uint8

const (
	textClass class = iota
	numberClass
	boolClass
	nullClass
)

// node is one value of a spec's text, YAML or JSON. Nodes are shared where an
// alias repeats them and are never changed once built.
type node struct {
	kind  kind
	class class
	position
	text    string
	items   []*node
	entries []entry
	weight
}

// entry is one line of a mapping. Keys can repeat: the decoder reports that.
type entry struct{ key, value *node }

// weight is the size of a node with everything below it, aliases expanded.
type weight struct{ nodes, bytes, depth int }

// weigh sums up a node whose children are complete, and refuses it when it
// grew over a limit. The children are within the limits, so nothing overflows.
func (n *node) weigh() *Problem {
	w := weight{nodes: 1, bytes: len(n.text)}
	add := func(c *node) bool {
		w.nodes += c.nodes
		w.bytes += c.bytes
		w.depth = max(w.depth, c.depth)
		return w.nodes <= MaxSpecNodes && w.bytes <= MaxSpecBytes
	}
	fits := true
	for i := 0; fits && i < len(n.items); i++ {
		fits = add(n.items[i])
	}
	for i := 0; fits && i < len(n.entries); i++ {
		fits = add(n.entries[i].key) && add(n.entries[i].value)
	}
	if n.kind != scalarNode {
		w.depth++
	}
	n.weight = w
	switch {
	case w.nodes > MaxSpecNodes:
		return tooManyNodes(n.position)
	case w.bytes > MaxSpecBytes:
		return &Problem{
			Line: n.line, Column: n.col, Code: ProblemTooLarge,
			Message: "the spec is larger than 1 MiB", Hint: "its aliases repeat too much text",
		}
	case w.depth > MaxSpecDepth:
		return tooDeep(n.position)
	}
	return nil
}

func tooManyNodes(at position) *Problem {
	return &Problem{
		Line: at.line, Column: at.col, Code: ProblemTooLarge,
		Message: fmt.Sprintf("the spec has more than %d values", MaxSpecNodes),
		Hint:    "aliases count each time they are used",
	}
}

func tooDeep(at position) *Problem {
	return &Problem{
		Line: at.line, Column: at.col, Code: ProblemTooLarge,
		Message: fmt.Sprintf("lists and mappings nest more than %d deep", MaxSpecDepth),
	}
}
