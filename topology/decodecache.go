package topology

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Limits on what a spec may want to have kept.
const (
	MaxCaches     = 10
	MaxCachePaths = 20
)

// cacheWord is a key, or the beginning of one.
var cacheWord = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+@:/-]{0,127}$`)

// caches decodes what is kept for later jobs.
func (d *decoder) caches(v value) []CacheSpec {
	var all []CacheSpec
	d.list(v, func(item value) {
		if len(all) == MaxCaches {
			d.report(item.node, v.path, ProblemTooLarge, fmt.Sprintf("more than %d caches", MaxCaches), "one cache can have several paths")
		}
		c := CacheSpec{}
		if len(all) < MaxCaches {
			c = d.cache(item)
		}
		all = append(all, c)
	})
	return all
}

func (d *decoder) cache(v value) (c CacheSpec) {
	got := d.object(v, fields{
		"key":       func(v value) { c.Key = d.cacheKey(v) },
		"restore":   func(v value) { c.Restore = d.cacheWords(v) },
		"paths":     func(v value) { c.Paths = d.cachePaths(v) },
		"read_only": func(v value) { c.ReadOnly = d.boolean(v) },
	}, cacheStrangers)
	if v.kind != mappingNode {
		return c
	}
	if got.lacks("key") {
		d.report(v.key, join(v.path, "key"), ProblemMissing, "missing", `for example "key: {prefix: go, files: [go.sum]}"`)
	}
	if got.lacks("paths") {
		d.report(v.key, join(v.path, "paths"), ProblemMissing, "missing", `they are the folders to keep, for example "~/.cache/go-build"`)
	}
	return c
}

func (d *decoder) cacheKey(v value) (k CacheKey) {
	if v.kind == scalarNode {
		k.Prefix = d.cacheWord(v)
		return k
	}
	got := d.object(v, fields{
		"prefix": func(v value) { k.Prefix = d.cacheWord(v) },
		"files":  func(v value) { k.Files = d.patterns(v) },
	}, cacheKeyStrangers)
	if v.kind != mappingNode {
		return k
	}
	if got.lacks("prefix") {
		d.report(v.key, join(v.path, "prefix"), ProblemMissing, "missing", `it is what the key begins with, for example "go"`)
	}
	if got.lacks("files") {
		d.report(v.key, join(v.path, "files"), ProblemMissing, "missing", `a key without files is a word alone: "key: tools-v1"`)
	}
	return k
}

// cacheWord decodes a key, or the beginning of one.
func (d *decoder) cacheWord(v value) string {
	s, ok := d.text(v)
	if !ok || cacheWord.MatchString(s) {
		return s
	}
	hint := "it has up to 128 letters, digits and . _ - + @ : / and begins with a letter or a digit"
	if strings.ContainsAny(s, "${") {
		hint = `nothing is interpolated in a spec: for a hash of files write "key: {prefix: go, files: [go.sum]}"`
	}
	d.report(v.node, v.path, ProblemInvalid, "not a key: "+quote(s), hint)
	return ""
}

// cacheWords decodes one beginning of keys or a list of them, in the order in which they count.
func (d *decoder) cacheWords(v value) []string {
	if v.kind == scalarNode {
		if s := d.cacheWord(v); s != "" {
			return []string{s}
		}
		return nil
	}
	var all []string
	d.list(v, func(item value) {
		if len(all) == MaxCachePaths {
			d.report(item.node, v.path, ProblemTooLarge, fmt.Sprintf("more than %d beginnings of keys", MaxCachePaths), "")
		}
		all = append(all, d.cacheWord(item))
	})
	return all
}

func (d *decoder) cachePaths(v value) []string {
	var all []string
	d.list(v, func(item value) {
		if len(all) == MaxCachePaths {
			d.report(item.node, v.path, ProblemTooLarge, fmt.Sprintf("more than %d paths", MaxCachePaths), "name a folder that holds them")
		}
		name, ok := d.cachePath(item)
		if ok {
			d.kept = append(d.kept, mention{"cache", name, item.node, item.path})
		}
		all = append(all, name)
	})
	return all
}

// checkCaches refuses paths that are one within another: what is restored would be of two entries.
func (d *decoder) checkCaches(s *Spec) {
	const home = "/~" // which is a name that no path here begins with, "/~" written out aside
	for i, k := range d.kept {
		at := s.CachePath(k.name, home) + "/"
		for _, before := range d.kept[:i] {
			other := s.CachePath(before.name, home) + "/"
			if strings.HasPrefix(at, other) || strings.HasPrefix(other, at) {
				d.report(k.at, k.path, ProblemConflict, fmt.Sprintf("%s is also in %s, on %s", quote(k.name), quote(before.name), before.at), "name each folder once")
				break
			}
		}
	}
}

// kernelDirs are no files of the container's.
var kernelDirs = []string{"/dev", "/proc", "/sys"}

// cachePath decodes a folder of the job container: /PATH, ~/PATH, or one below the working directory.
func (d *decoder) cachePath(v value) (string, bool) {
	s, ok := d.text(v)
	if !ok {
		return "", false
	}
	bad := func(message, hint string) (string, bool) {
		d.report(v.node, v.path, ProblemInvalid, message, hint)
		return "", false
	}
	const forms = `write /PATH, ~/PATH for the home of the job's user, or a path below the working directory`
	clean := path.Clean(s)
	top := "/" + strings.SplitN(strings.TrimPrefix(clean, "/"), "/", 2)[0]
	switch {
	case s == "":
		return bad("is empty", forms)
	case len(s) > maxPath:
		return bad("is longer than 4096 characters", "")
	case strings.ContainsFunc(s, unicode.IsControl):
		return bad("a path has no control characters: "+quote(s), "")
	case strings.ContainsAny(s, "*?[{$"):
		return bad("a path stands for itself: "+quote(s), "there are no patterns and no variables here: name the folder that holds what you need")
	case windowsRoot.MatchString(s) || strings.Contains(s, `\`):
		return bad("not a path in a container: "+quote(s), forms)
	case clean == "/" || clean == "." || clean == "~":
		return bad(quote(s)+" is too much to keep", "name folders in it")
	case clean == ".." || strings.HasPrefix(clean, "../") || strings.Contains("/"+s+"/", "/../"):
		return bad("a path goes nowhere up: "+quote(s), forms)
	case strings.HasPrefix(clean, "~") && !strings.HasPrefix(clean, "~/"):
		return bad("no home of another user: "+quote(s), forms)
	case path.IsAbs(clean) && slices.Contains(kernelDirs, top):
		return bad(top+" is the kernel's and cannot be kept", "")
	}
	return clean, true
}

var cacheStrangers = strangers{
	meant: map[string]string{
		"path":          `did you mean "paths"? It takes a list`,
		"files":         `it belongs under "key": "key: {prefix: go, files: [go.sum]}"`,
		"prefix":        `it belongs under "key": "key: {prefix: go, files: [go.sum]}"`,
		"restore-keys":  `did you mean "restore"?`,
		"restore_keys":  `did you mean "restore"?`,
		"fallback_keys": `did you mean "restore"?`,
		"policy":        `did you mean "read_only: true"?`,
		"when":          "what a job that succeeded has in these folders is saved, and nothing of one that failed",
		"name":          `did you mean "key"?`,
	},
}

var cacheKeyStrangers = strangers{
	meant: map[string]string{
		"hash":  `did you mean "files"?`,
		"file":  `did you mean "files"?`,
		"paths": `did you mean "files"? The folders to keep stand beside key`,
		"text":  `write a key without files as a word alone: "key: tools-v1"`,
		"name":  `did you mean "prefix"?`,
	},
}
