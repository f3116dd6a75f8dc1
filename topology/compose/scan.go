package compose

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
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
// folder that its paths are relative to.
func (p *project) scan(name, base string) ([]byte, error) {
	s := &scanner{project: p, seen: map[string]bool{}}
	return s.file(name, base)
}

type scanner struct {
	*project
	seen map[string]bool
}

func (s *scanner) file(name, base string) ([]byte, error) {
	text, err := s.read(name)
	if err != nil {
		return nil, err
	}
	if key := name + " in " + base; s.seen[key] {
		return text, nil
	} else if s.seen[key] = true; len(s.seen) > maxFiles {
		return nil, fmt.Errorf("more than %d Compose files", maxFiles)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return text, s.walk(&doc, base)
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

// walk looks for what names files, wherever in the text it is: what an anchor holds
// is part of the text as well.
func (s *scanner) walk(n *yaml.Node, base string) error {
	for i, child := range n.Content {
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
		if file := member(value, "file"); file != nil {
			return s.follow(file, base, "")
		}
	case "env_file", "label_file":
		return s.each(value, func(n *yaml.Node) error {
			if p := member(n, "path"); p != nil {
				n = p
			}
			_, err := s.inside(n, base)
			return err
		})
	}
	return nil
}

// include follows one entry of include: a path, or a mapping.
func (s *scanner) include(n *yaml.Node, base string) error {
	paths, own := n, ""
	if p := member(n, "path"); p != nil {
		paths = p
	}
	if d := member(n, "project_directory"); d != nil {
		dir, err := s.inside(d, base)
		if err != nil {
			return err
		}
		own = dir
	}
	if e := member(n, "env_file"); e != nil {
		if err := s.each(e, func(n *yaml.Node) error { _, err := s.inside(n, base); return err }); err != nil {
			return err
		}
	}
	first := own
	return s.each(paths, func(n *yaml.Node) error {
		if first == "" { // the first of several says where the others' paths begin
			name, err := s.inside(n, base)
			if err != nil {
				return err
			}
			first = path.Dir(name)
		}
		if err := s.contained(path.Join(first, ".env")); err != nil { // which is read by itself
			return err
		}
		return s.follow(n, base, first)
	})
}

// follow scans a file that another one names. Its paths are relative to dir, "" being
// its own folder.
func (s *scanner) follow(n *yaml.Node, base, dir string) error {
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

// member is a field of a mapping, nil where there is none.
func member(n *yaml.Node, key string) *yaml.Node {
	n = resolved(n)
	if n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return resolved(n.Content[i+1])
		}
	}
	return nil
}

// resolved is what an alias stands for.
func resolved(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}
