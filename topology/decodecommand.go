package topology

import (
	"slices"
	"strings"

	"github.com/mattn/go-shellwords"
)

// shells are the names that shell accepts instead of a list: the script of a
// step becomes the last argument.
var shells = map[string][]string{
	"sh":         {"/bin/sh", "-e", "-c"},
	"bash":       {"/bin/bash", "-e", "-o", "pipefail", "-c"},
	"pwsh":       {"pwsh", "-NoProfile", "-NonInteractive", "-Command"},
	"powershell": {"powershell", "-NoProfile", "-NonInteractive", "-Command"},
	"cmd":        {"cmd", "/S", "/C"},
}

// argv decodes a command: a list as it is, text split as a shell would, which
// is what Compose does. Nothing is expanded, and no shell runs.
func (d *decoder) argv(v value) []string {
	if v.kind != scalarNode {
		return d.texts(v)
	}
	text, ok := d.text(v)
	if !ok {
		return nil
	}
	parser := shellwords.NewParser()
	parser.ParseEnv, parser.ParseBacktick, parser.ParseComment = false, false, false
	words, err := parser.Parse(text)
	switch {
	case err != nil:
		d.report(v.node, v.path, ProblemInvalid, "not a command: quotes or brackets do not match", `write it as a list: ["program", "argument"]`)
	case parser.Position >= 0:
		// The splitter stops at ; & | < >: dropping the rest would be a trap.
		d.report(v.node, v.path, ProblemInvalid, "no shell runs a command, so it cannot hold any of ; & | < >",
			`use steps, or ["/bin/sh", "-c", "…"]`)
	case len(words) == 0:
		d.report(v.node, v.path, ProblemInvalid, "is empty", "leave it out to keep the image's own")
	}
	return words
}

// texts decodes a list of text that is not empty.
func (d *decoder) texts(v value) []string {
	if v.kind == mappingNode {
		d.wrongType(v, "text or a list")
		return nil
	}
	var all []string
	d.list(v, func(item value) {
		if s, ok := d.text(item); ok {
			all = append(all, s)
		}
	})
	return all
}

func (d *decoder) shell(v value) []string {
	if v.kind != scalarNode {
		return d.texts(v)
	}
	text, ok := d.text(v)
	if !ok {
		return nil
	}
	if argv, ok := shells[text]; ok {
		return slices.Clone(argv)
	}
	argv := d.argv(v)
	if len(argv) == 1 {
		names := []string{"sh", "bash", "pwsh", "powershell", "cmd"}
		d.report(v.node, v.path, ProblemInvalid, "unknown shell "+quote(text),
			`it is one of `+strings.Join(names, ", ")+`, or a list like ["zsh", "-c"] to which the script is added`)
	}
	return argv
}
