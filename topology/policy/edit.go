package policy

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/runnerhub/runnerhub/topology"
)

// Set changes the text of a policy file and returns the new one, which is valid;
// comments stay. A change is NAME=VALUE, NAME= to take a rule away, or for a list, whose entries
// stand with commas between them, NAME+=VALUE to add and NAME-=VALUE to remove. A list that everything is allowed
// without is not emptied: who means that says so.
func Set(text []byte, changes ...string) ([]byte, error) {
	root, err := parseNode(text)
	if err != nil {
		return nil, err
	}
	if _, err := Parse(text); err != nil {
		return nil, err
	}
	if root == nil {
		root = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	}
	for _, c := range changes {
		if err := set(root, c); err != nil {
			return nil, err
		}
	}
	out, err := write(text, root)
	if err != nil {
		return nil, err
	}
	if _, err := Parse(out); err != nil {
		return nil, plain(err)
	}
	return out, nil
}

// write encodes the document anew. A file of comments alone has no document to keep them with.
func write(before []byte, root *yaml.Node) ([]byte, error) {
	if len(root.Content) == 0 {
		return nil, nil
	}
	var b bytes.Buffer
	if old, err := parseNode(before); err == nil && old == nil && len(bytes.TrimSpace(before)) > 0 {
		b.Write(append(bytes.TrimRight(before, "\n"), '\n', '\n'))
	}
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(root); err != nil {
		return nil, err
	}
	if err := enc.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// plain leaves out places: they would be those of a text that nobody has seen.
func plain(err error) error {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return err
	}
	out := &Error{slices.Clone(e.Problems)}
	for i := range out.Problems {
		out.Problems[i].Line, out.Problems[i].Column = 0, 0
	}
	return out
}

func set(root *yaml.Node, change string) error {
	name, value, ok := strings.Cut(change, "=")
	op := byte(0)
	if ok && name != "" && strings.ContainsRune("+-", rune(name[len(name)-1])) {
		op, name = name[len(name)-1], name[:len(name)-1]
	}
	field := fieldNamed(name)
	switch {
	case !ok || name == "":
		return problem(change, topology.ProblemSyntax, "not NAME=VALUE", "for example images+=postgres")
	case field == nil:
		return problem(name, topology.ProblemUnknownField, "no such rule", suggest(name))
	case op != 0 && field.kind != listField:
		return problem(name, topology.ProblemType, "is no list", "write "+name+"=VALUE")
	}
	parent, key := root, name
	if group, part, grouped := strings.Cut(name, "."); grouped {
		parent, key = child(root, group), part
		if parent == nil {
			parent = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
			put(root, group, parent)
		}
		defer func() {
			if len(parent.Content) == 0 {
				remove(root, group)
			}
		}()
	}
	if field.kind != listField {
		if value == "" {
			remove(parent, key)
		} else {
			put(parent, key, scalarNode(value))
		}
		return nil
	}
	return setList(parent, key, op, entries(value), field.everything)
}

func setList(parent *yaml.Node, key string, op byte, values []string, everything string) error {
	list := child(parent, key)
	opens := everything != "" && list != nil && op != '+' && admits(list)
	if list == nil || op == 0 {
		list = &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	}
	for _, v := range values {
		has := slices.IndexFunc(list.Content, func(n *yaml.Node) bool { return n.Value == v })
		switch {
		case op == '-' && has < 0:
			return problem(key, topology.ProblemInvalid, fmt.Sprintf("has no entry %q", v), "see `runnerctl policy show`")
		case op == '-':
			list.Content = slices.Delete(list.Content, has, has+1)
		case has < 0:
			list.Content = append(list.Content, scalarNode(v))
		}
	}
	if opens && (len(list.Content) == 0 || op == '-' && !admits(list)) {
		return problem(key, topology.ProblemInvalid, "would allow everything without an entry", "write "+key+"="+everything+" if that is meant")
	}
	if len(list.Content) == 0 {
		remove(parent, key)
		return nil
	}
	put(parent, key, list)
	return nil
}

// admits says whether a list has an entry that is no exclusion: exclusions alone admit everything else.
func admits(list *yaml.Node) bool {
	return slices.ContainsFunc(list.Content, func(n *yaml.Node) bool { return !strings.HasPrefix(n.Value, "!") })
}

func entries(value string) (out []string) {
	for v := range strings.SplitSeq(value, ",") {
		if v = strings.TrimSpace(v); v != "" {
			out = append(out, v)
		}
	}
	return out
}

func problem(field, code, message, hint string) error {
	return &Error{[]topology.Problem{{Field: field, Code: code, Message: message, Hint: hint}}}
}

// scalarNode is a value whose type YAML tells by its form; what would be read as another type is quoted by the encoder.
func scalarNode(value string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Value: value}
	if value == "true" || value == "false" {
		n.Tag = "!!bool"
	}
	return n
}

func child(n *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// put replaces a value where it stands, or adds it at the end.
func put(n *yaml.Node, key string, value *yaml.Node) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			value.LineComment = n.Content[i+1].LineComment
			n.Content[i+1] = value
			return
		}
	}
	n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key}, value)
}

func remove(n *yaml.Node, key string) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			n.Content = slices.Delete(n.Content, i, i+2)
			return
		}
	}
}
