package policy

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
	"go.yaml.in/yaml/v4"

	"github.com/runnerhub/runnerhub/topology"
)

// maxBytes is the size of a policy file.
const maxBytes = 64 << 10

// Error is everything that is wrong with a policy file, in the order of the text.
type Error struct {
	Problems []topology.Problem // at least one
}

// Error lists one problem a line.
func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// Parse reads a policy file, which is strict: what is misspelt, set twice or out
// of range is an *Error with the line of each mistake, since a rule that was overlooked would
// be one that does not hold. An empty file is the default policy.
func Parse(text []byte) (*Policy, error) {
	root, err := parseNode(text)
	if err != nil {
		return nil, err
	}
	r := &reader{policy: &Policy{}}
	if root != nil {
		r.mapping(root, "")
	}
	if len(r.problems) > 0 {
		slices.SortStableFunc(r.problems, func(a, b topology.Problem) int {
			return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
		})
		return nil, &Error{r.problems[:min(len(r.problems), topology.MaxProblems)]}
	}
	if n := len(r.policy.Outline()); n > MaxOutline {
		return nil, &Error{[]topology.Problem{{
			Code: topology.ProblemTooLarge, Message: fmt.Sprintf("the policy takes %d bytes in short and may take %d", n, MaxOutline),
			Hint: "patterns cover many entries at once",
		}}}
	}
	return r.policy, nil
}

// parseNode reads one YAML document; nil for one without a value.
func parseNode(text []byte) (*yaml.Node, error) {
	fail := func(p topology.Problem) (*yaml.Node, error) { return nil, &Error{[]topology.Problem{p}} }
	if len(text) > maxBytes {
		return fail(topology.Problem{Code: topology.ProblemTooLarge, Message: "the file is larger than 64 KiB"})
	}
	loader, err := yaml.NewLoader(bytes.NewReader(text))
	if err != nil {
		return fail(topology.Problem{Code: topology.ProblemSyntax, Message: err.Error()})
	}
	var doc, second yaml.Node
	switch err := loader.Load(&doc); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return fail(syntaxProblem(err))
	}
	switch err := loader.Load(&second); {
	case err == nil:
		return fail(topology.Problem{Line: second.Line, Column: second.Column, Code: topology.ProblemSyntax, Message: "a second document starts here"})
	case !errors.Is(err, io.EOF):
		return fail(syntaxProblem(err))
	}
	root := doc.Content[0]
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return nil, nil
	}
	return root, nil
}

func syntaxProblem(err error) topology.Problem {
	p := topology.Problem{Code: topology.ProblemSyntax, Message: "not valid YAML: " + err.Error()}
	if load, ok := errors.AsType[*yaml.LoadError](err); ok {
		p.Line, p.Column, p.Message = load.Mark.Line, load.Mark.Column, "not valid YAML: "+load.Message
	}
	return p
}

// reader fills a policy in and goes on after a mistake, so that one look shows all of them.
type reader struct {
	policy   *Policy
	problems []topology.Problem
}

func (r *reader) report(at *yaml.Node, field, code, message, hint string) {
	r.problems = append(r.problems, topology.Problem{
		Field: field, Line: at.Line, Column: at.Column, Code: code, Message: message, Hint: hint,
	})
}

// mapping reads the fields of the file, or of the group whose names begin with prefix.
func (r *reader) mapping(n *yaml.Node, prefix string) {
	if n.Kind != yaml.MappingNode {
		r.report(n, strings.TrimSuffix(prefix, "."), topology.ProblemType, "must be a mapping (name: value)", "")
		return
	}
	first := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		name := prefix + key.Value
		if line, twice := first[name]; twice {
			r.report(key, name, topology.ProblemDuplicate, fmt.Sprintf("set twice, first on line %d", line), "keep one of them")
			continue
		}
		first[name] = key.Line
		field := fieldNamed(name)
		switch {
		case field != nil:
			r.value(value, *field)
		case prefix == "" && isGroup(name):
			r.mapping(value, name+".")
		default:
			r.report(key, name, topology.ProblemUnknownField, "no such rule", suggest(name))
		}
	}
}

func isGroup(name string) bool {
	return slices.ContainsFunc(Fields, func(f Field) bool { return strings.HasPrefix(f.Name, name+".") })
}

// suggest offers the rule that was probably meant.
func suggest(name string) string {
	best, distance := "", 4
	for _, f := range Fields {
		if d := levenshtein.ComputeDistance(name[:min(len(name), maxEntry)], f.Name); d < distance {
			best, distance = f.Name, d
		}
	}
	if best != "" {
		return "did you mean " + best + "?"
	}
	return "`runnerctl policy show` lists the rules"
}

func (r *reader) value(n *yaml.Node, f Field) {
	switch {
	case n.Kind == yaml.AliasNode:
		r.report(n, f.Name, topology.ProblemType, "aliases are not accepted", "write the value out")
	case f.kind == listField && n.Kind == yaml.SequenceNode:
		r.list(n, f)
	case f.kind == listField:
		r.report(n, f.Name, topology.ProblemType, "must be a list", fmt.Sprintf("for example [%s]", strings.ReplaceAll(f.Example, ",", ", ")))
	case n.Kind != yaml.ScalarNode:
		r.report(n, f.Name, topology.ProblemType, "must be one value", "for example "+f.Example)
	case n.Tag == "!!null":
		r.report(n, f.Name, topology.ProblemNull, "has no value", "give it a value or remove it")
	case f.kind == boolField && n.Tag != "!!bool":
		r.report(n, f.Name, topology.ProblemType, "must be true or false", "")
	default:
		text := n.Value
		if f.kind == boolField {
			text = strings.ToLower(text)
		}
		if err := f.read(r.policy, text); err != nil {
			r.report(n, f.Name, topology.ProblemInvalid, err.Error(), "for example "+f.Example)
		}
	}
}

func (r *reader) list(n *yaml.Node, f Field) {
	if len(n.Content) == 0 {
		// It would read as "none", but nothing is what most rules have without it, and others have "any".
		r.report(n, f.Name, topology.ProblemInvalid, "the list is empty", "remove it for the default, which is "+f.Default)
	}
	if len(n.Content) > maxEntries {
		r.report(n, f.Name, topology.ProblemTooLarge, fmt.Sprintf("more than %d entries", maxEntries), "patterns cover many at once")
		return
	}
	for i, item := range n.Content {
		name := fmt.Sprintf("%s[%d]", f.Name, i)
		switch {
		case item.Kind != yaml.ScalarNode || item.Tag == "!!null":
			r.report(item, name, topology.ProblemType, "must be text", "")
		case len(item.Value) > maxEntry:
			r.report(item, name, topology.ProblemTooLarge, fmt.Sprintf("longer than %d bytes", maxEntry), "")
		default:
			if err := f.read(r.policy, item.Value); err != nil {
				r.report(item, name, topology.ProblemInvalid, err.Error(), "")
			}
		}
	}
}
