package compose

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/runnerhub/runnerhub/topology"
)

// Limits on what compose-go is given: its work grows with the square of some of it, and
// nothing ends it. They are those of a spec, for all Compose files of a job together.
const (
	maxValues = topology.MaxSpecNodes // keys and values, aliases expanded
	maxDepth  = topology.MaxSpecDepth // how deep lists and mappings nest
	// maxText is how many bytes keys and values may have, with variables filled in.
	maxText = 16 << 20
	// maxSubstitution bounds, in bytes, the texts with variables, each as often as it has
	// variables: each of them makes the rest of its text be looked through.
	maxSubstitution = 16 << 20
)

// weight is what a part of a Compose file costs.
type weight struct {
	values, depth      int
	text, substitution int64 // bytes
}

func (w weight) plus(more weight) weight {
	return weight{w.values + more.values, max(w.depth, more.depth), w.text + more.text, w.substitution + more.substitution}
}

func (w weight) minus(less weight) weight {
	return weight{w.values - less.values, w.depth, w.text - less.text, w.substitution - less.substitution}
}

// check says which limit a weight is over.
func (w weight) check() error {
	switch {
	case w.depth > maxDepth:
		return fmt.Errorf("its lists and mappings are nested more than %d deep", maxDepth)
	case w.values > maxValues:
		return fmt.Errorf("the Compose files have more than %d keys and values", maxValues)
	case w.text > maxText:
		return errors.New("the Compose files have more than 16 MiB of text, with variables filled in and aliases expanded")
	case w.substitution > maxSubstitution:
		return errors.New("the Compose files have too many variables in long texts")
	}
	return nil
}

// reference is a variable in a text; what is escaped by a second $ counts as well.
var reference = regexp.MustCompile(`\$\{?([A-Za-z_][A-Za-z0-9_]*)?`)

// weighDocument adds a file to what the job's Compose files come to.
func (s *scanner) weighDocument(doc *yaml.Node) error {
	w, err := s.weigh(doc)
	if err == nil {
		s.total = s.total.plus(w)
		err = s.total.check()
	}
	return err
}

// weigh adds up what is in a node, and ends at the first limit that it is over. An alias
// weighs as much as what it stands for.
func (s *scanner) weigh(n *yaml.Node) (weight, error) {
	if n.Kind == yaml.AliasNode {
		w, done := s.anchored[n.Alias]
		if !done {
			return w, fmt.Errorf("line %d: the alias *%s is inside its own anchor", n.Line, n.Value)
		}
		return w, nil
	}
	if n.Kind == yaml.ScalarNode {
		w := s.scalar(n.Value)
		if n.Anchor != "" {
			s.anchored[n] = w
		}
		return w, nil
	}
	var w weight
	for _, child := range n.Content {
		more, err := s.weigh(child)
		if err != nil {
			return w, err
		}
		w = w.plus(more)
		if err := w.check(); err != nil {
			return w, fmt.Errorf("line %d: %w", child.Line, err)
		}
	}
	if n.Kind != yaml.DocumentNode {
		w.values, w.depth = w.values+1, w.depth+1
	}
	if n.Anchor != "" {
		s.anchored[n] = w
	}
	return w, nil
}

func (s *scanner) scalar(text string) weight {
	w := weight{values: 1, text: int64(len(text))}
	if !strings.Contains(text, "$") {
		return w
	}
	for _, found := range reference.FindAllStringSubmatch(text, -1) {
		w.substitution += int64(len(text))
		w.text += int64(len(s.env[found[1]]))
	}
	return w
}
