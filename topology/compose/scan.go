package compose

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/compose-spec/compose-go/v2/template"
	"go.yaml.in/yaml/v4"
)

// maxFiles is how many files one job's Compose files may come to, and maxFile how large
// each may be, in bytes.
const (
	maxFiles = 100
	maxFile  = 1 << 20
)

// scan reads a Compose file and, before compose-go follows them, all that it names to
// be read: each must be inside the source, whatever links are on the way. base is the
// folder that its paths are relative to. What could be read in two ways is refused: more
// than one document, tags that change a text, aliases as keys, variables in the paths
// of other Compose files, and includes with a folder or variables of their own.
func (p *project) scan(name, base string) ([]byte, error) {
	s := &scanner{project: p, seen: map[string]weight{}, anchored: map[*yaml.Node]weight{}}
	return s.file(name, base)
}

type scanner struct {
	*project
	seen     map[string]weight // what each file comes to, with those that it names
	anchored map[*yaml.Node]weight
}

func (s *scanner) file(name, base string) ([]byte, error) {
	text, err := s.read(name)
	if err != nil {
		return nil, err
	}
	key := name + " in " + base
	if w, seen := s.seen[key]; seen { // compose-go reads it as often as it is named
		s.total = s.total.plus(w)
		return text, s.total.check()
	}
	if s.seen[key] = (weight{}); len(s.seen) > maxFiles {
		return nil, fmt.Errorf("more than %d Compose files", maxFiles)
	}
	before := s.total
	doc, err := document(text)
	if err == nil {
		err = s.weighDocument(doc)
	}
	if err == nil {
		err = s.walk(doc, base)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	s.seen[key] = s.total.minus(before)
	s.slips(name, doc, slices.Contains(s.spec.Compose.Files, name))
	return withoutVersion(text, doc), nil
}

// document is the one document of a YAML text.
func document(text []byte) (*yaml.Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	doc := &yaml.Node{}
	if err := decoder.Decode(doc); err != nil && !errors.Is(err, io.EOF) { // of no document at all compose-go says what is missing
		return nil, err
	}
	if err := decoder.Decode(&yaml.Node{}); !errors.Is(err, io.EOF) {
		return nil, errors.New("it has more than one YAML document; name each in a file of its own")
	}
	return doc, nil
}

// withoutVersion leaves out the line of a version, which compose-go would complain about
// on the runner's own output. Nothing else of the text may be on that line.
func withoutVersion(text []byte, doc *yaml.Node) []byte {
	if doc.Kind != yaml.DocumentNode || doc.Content[0].Kind != yaml.MappingNode {
		return text
	}
	top := doc.Content[0].Content
	for i := 0; i+1 < len(top); i += 2 {
		if top[i].Value != "version" || top[i+1].Kind != yaml.ScalarNode {
			continue
		}
		lines := bytes.SplitAfter(text, []byte{'\n'})
		line := lines[top[i].Line-1]
		var alone map[string]string
		if yaml.Unmarshal(line, &alone) == nil && len(alone) == 1 && alone["version"] == top[i+1].Value {
			lines[top[i].Line-1] = []byte{'\n'}
			return bytes.Join(lines, nil)
		}
	}
	return text
}

// read reads a file of the source.
func (p *project) read(name string) ([]byte, error) {
	info, err := p.root.Stat(name)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a file", name)
	case info.Size() > maxFile:
		return nil, fmt.Errorf("%s is larger than 1 MiB", name)
	}
	return fs.ReadFile(p.root.FS(), name)
}

// plainTags are those of plain YAML, and Compose's own.
var plainTags = []string{
	"", "!!str", "!!int", "!!float", "!!bool", "!!null", "!!map", "!!seq", "!!merge", "!!timestamp", "!reset", "!override",
}

// walk looks for what names files, wherever in the text it is: what an anchor holds
// is part of the text as well.
func (s *scanner) walk(n *yaml.Node, base string) error {
	if tag := n.ShortTag(); !slices.Contains(plainTags, tag) {
		return fmt.Errorf("line %d: the tag %s is not known here", n.Line, tag)
	}
	for i, child := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 && child.Kind == yaml.AliasNode {
			return fmt.Errorf("line %d: an alias cannot be a key", child.Line)
		}
		if n.Kind == yaml.MappingNode && i%2 == 1 {
			if err := s.field(n.Content[i-1].Value, child, base); err != nil {
				return err
			}
		}
		if err := s.walk(child, base); err != nil {
			return err
		}
	}
	return nil
}

func (s *scanner) field(key string, value *yaml.Node, base string) error {
	switch key {
	case "include":
		return s.each(value, func(n *yaml.Node) error { return s.include(n, base) })
	case "extends":
		for _, file := range members(value, "file") {
			if err := s.follow(file, base, ""); err != nil {
				return err
			}
		}
	case "env_file", "label_file":
		return s.each(value, func(n *yaml.Node) error {
			for _, path := range append(members(n, "path"), n) {
				if _, err := s.inside(path, base); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return nil
}

// include follows one entry of include: a path, or a mapping.
func (s *scanner) include(n *yaml.Node, base string) error {
	for _, field := range []string{"project_directory", "env_file"} {
		if len(members(n, field)) > 0 {
			return fmt.Errorf("include.%s is not supported: what is included has its own folder's paths and .env", field)
		}
	}
	for _, paths := range append(members(n, "path"), n) {
		if err := s.each(paths, s.includes(base)); err != nil {
			return err
		}
	}
	return nil
}

// includes follows the files of one entry of include, of which the first says where the
// others' paths begin.
func (s *scanner) includes(base string) func(*yaml.Node) error {
	first := ""
	return func(n *yaml.Node) error {
		if first == "" {
			name, err := s.inside(n, base)
			if err != nil {
				return err
			}
			first = path.Dir(name)
		}
		own := path.Join(first, ".env") // which is read by itself
		if err := s.contained(own); err != nil {
			return err
		}
		if err := s.weighEnvFile(own); err != nil {
			return fmt.Errorf("%s: %w", own, err)
		}
		return s.follow(n, base, first)
	}
}

// follow scans a file that another one names. Its paths are relative to dir, "" being
// its own folder.
func (s *scanner) follow(n *yaml.Node, base, dir string) error {
	if strings.Contains(resolved(n).Value, "$") { // an included file has variables of its own
		return fmt.Errorf("%q: paths of other Compose files cannot have variables", resolved(n).Value)
	}
	name, err := s.inside(n, base)
	if err != nil || name == "" {
		return err
	}
	if dir == "" {
		dir = path.Dir(name)
	}
	_, err = s.file(name, dir)
	return err
}

// inside is the path that a scalar names, which must stay in the source.
func (s *scanner) inside(n *yaml.Node, base string) (string, error) {
	n = resolved(n)
	if n.Kind != yaml.ScalarNode || n.Value == "" {
		return "", nil // for compose-go to complain about
	}
	name, err := template.Substitute(n.Value, s.env.Resolve)
	if err != nil {
		return "", err
	}
	joined := path.Join(base, filepath.ToSlash(name))
	if path.IsAbs(name) || strings.HasPrefix(name, "~") || strings.Contains(name, "://") || !filepath.IsLocal(joined) {
		return "", fmt.Errorf("%q is not inside the source", name)
	}
	return joined, s.contained(joined)
}

// contained says whether links lead a path out of the source. What is not there leads nowhere.
func (s *scanner) contained(name string) error {
	if _, err := s.root.Stat(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%q is not inside the source: %w", name, err)
	}
	return nil
}

// each visits the items of a list, or the one value.
func (s *scanner) each(n *yaml.Node, visit func(*yaml.Node) error) error {
	n = resolved(n)
	if n.Kind != yaml.SequenceNode {
		return visit(n)
	}
	for _, item := range n.Content {
		if err := visit(resolved(item)); err != nil {
			return err
		}
	}
	return nil
}

// members are all that may be a field of a mapping, merged ones too; none of anything else.
func members(n *yaml.Node, key string) (out []*yaml.Node) {
	n = resolved(n)
	if n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		value := resolved(n.Content[i+1])
		switch {
		case n.Content[i].Value == key:
			out = append(out, value)
		case n.Content[i].ShortTag() == "!!merge" && value.Kind == yaml.SequenceNode:
			for _, item := range value.Content {
				out = append(out, members(item, key)...)
			}
		case n.Content[i].ShortTag() == "!!merge":
			out = append(out, members(value, key)...)
		}
	}
	return out
}

// resolved is what an alias stands for.
func resolved(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}
