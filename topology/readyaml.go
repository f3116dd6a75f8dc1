package topology

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"go.yaml.in/yaml/v4"
)

// readYAML parses exactly one YAML document. Its parser is linear in time and
// keeps aliases as pointers, so that a text of bounded size costs bounded
// memory; yamlReader then refuses expansions over the limits.
func readYAML(data []byte) (*node, *Problem) {
	limits := &yamlLimits{}
	loader, err := yaml.NewLoader(bytes.NewReader(data), yaml.WithPlugin(limits))
	if err != nil {
		return nil, &Problem{Code: ProblemSyntax, Message: err.Error()}
	}
	var doc, second yaml.Node
	err = loader.Load(&doc)
	if errors.Is(err, io.EOF) {
		return nil, emptySpec(position{1, 1})
	}
	if err == nil {
		if err = loader.Load(&second); errors.Is(err, io.EOF) {
			r := &yamlReader{anchored: map[*yaml.Node]*node{}}
			root, problem := r.node(doc.Content[0])
			if problem == nil && root.kind == scalarNode && root.class == nullClass {
				return nil, emptySpec(root.position)
			}
			return root, problem
		}
	}
	if err != nil {
		return nil, syntaxProblem(data, err, limits)
	}
	return nil, &Problem{
		Line: second.Line, Column: second.Column, Code: ProblemSyntax,
		Message: "a second document starts here", Hint: "submit one job at a time",
	}
}

func emptySpec(at position) *Problem {
	return &Problem{
		Line: at.line, Column: at.col, Code: ProblemEmpty,
		Message: "the spec is empty", Hint: "write an image, and a command or steps",
	}
}

// yamlLimits stops the parser before it recurses too deep.
type yamlLimits struct{ deep bool }

func (l *yamlLimits) CheckDepth(depth int, _ *yaml.DepthContext) error {
	if depth > MaxSpecDepth {
		l.deep = true
		return errors.New("nested too deep")
	}
	return nil
}

// CheckAlias is not asked here: aliases stay pointers in nodes.
func (*yamlLimits) CheckAlias(int, int) error { return nil }

// syntaxProblem puts the parser's words and place into a Problem.
func syntaxProblem(data []byte, err error, limits *yamlLimits) *Problem {
	var load *yaml.LoadError
	if !errors.As(err, &load) {
		return &Problem{Code: ProblemSyntax, Message: "not valid YAML: " + err.Error()}
	}
	at := position{load.Mark.Line, load.Mark.Column}
	// What is missing at the end of the text was opened somewhere: say where.
	end := positionOf(data, len(bytes.TrimRight(data, " \n")))
	if at.line > end.line || at == end {
		at = end
		if opened := (position{load.ContextMark.Line, load.ContextMark.Column}); opened.line > 0 && opened.before(end) {
			at = opened
		}
	}
	if limits.deep {
		return tooDeep(at)
	}
	message := load.Message
	if load.ContextMsg != "" {
		message = load.ContextMsg + ": " + message
	}
	p := &Problem{Line: at.line, Column: at.col, Code: ProblemSyntax, Message: "not valid YAML: " + message}
	lines := strings.Split(string(data), "\n")
	if at.line <= len(lines) && strings.HasPrefix(strings.TrimLeft(lines[max(at.line, 1)-1], " "), "\t") {
		p.Hint = "indent with spaces: YAML allows no tabs there"
	}
	if strings.HasPrefix(strings.TrimSpace(string(data[:min(len(data), 64)])), "```") {
		p.Hint = "leave out the lines with ``` around it"
	}
	return p
}
