// Package gitignore reads the rules of ignore files as gitignore(5) has them, and says
// what they are about. It touches no file system.
package gitignore

import (
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Rule is a line of a file in git's ignore syntax.
type Rule struct {
	dir     string // the folder that the file is in, "." for the root
	glob    string // relative to dir
	anyDeep bool   // glob is a name, at any depth
	dirOnly bool
	include bool // it began with !
}

// Parse reads the rules of an ignore file of a folder, "." for the root.
func Parse(dir string, text []byte) []Rule {
	var rules []Rule
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\r\n")
		// A space at the end counts where a backslash is before it.
		for strings.HasSuffix(line, " ") && !strings.HasSuffix(line, `\ `) {
			line = strings.TrimSuffix(line, " ")
		}
		r := Rule{dir: dir, glob: line}
		switch {
		case line == "" || line[0] == '#':
			continue
		case line[0] == '!':
			r.include, r.glob = true, line[1:]
		}
		r.glob, r.dirOnly = strings.CutSuffix(r.glob, "/")
		r.anyDeep = !strings.Contains(r.glob, "/")
		r.glob = strings.TrimPrefix(r.glob, "/")
		if r.glob == "" {
			continue
		}
		r.glob = withoutRepeats(withoutAlternatives(r.glob))
		if doublestar.ValidatePattern(r.glob) {
			rules = append(rules, r)
		}
	}
	return rules
}

// withoutRepeats makes one of any number of folders, and again any number, what it means: once.
func withoutRepeats(glob string) string {
	parts := slices.CompactFunc(strings.Split(glob, "/"), func(a, b string) bool { return a == "**" && b == "**" })
	return strings.Join(parts, "/")
}

// withoutAlternatives has braces mean themselves, as they do to git.
func withoutAlternatives(glob string) string {
	var b strings.Builder
	for i := 0; i < len(glob); i++ {
		switch {
		case glob[i] == '\\' && i+1 < len(glob):
			b.WriteByte(glob[i])
			i++
		case glob[i] == '{', glob[i] == '}':
			b.WriteByte('\\')
		}
		b.WriteByte(glob[i])
	}
	return b.String()
}

// matches says whether a rule is about a path of the tree.
func (r Rule) matches(name string, isDir bool) bool {
	if r.dirOnly && !isDir {
		return false
	}
	if r.dir != "." {
		below, found := strings.CutPrefix(name, r.dir+"/")
		if !found {
			return false
		}
		name = below
	}
	if r.anyDeep {
		name = path.Base(name)
	}
	if glob, deep := strings.CutSuffix(r.glob, "/**"); deep { // everything inside, but not the folder
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if ok, _ := doublestar.Match(glob, dir); ok {
				return true
			}
		}
		return false
	}
	ok, _ := doublestar.Match(r.glob, name) // the pattern was validated
	return ok
}

// Ignored is what the last rule that matches a path says. Rules of deeper folders come
// later; a folder that is ignored takes along what is in it, which is the caller's to know.
func Ignored(rules []Rule, name string, isDir bool) bool {
	for i := len(rules) - 1; i >= 0; i-- {
		if rules[i].matches(name, isDir) {
			return !rules[i].include
		}
	}
	return false
}
