package topology

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// decoder walks the tree of a spec, collects what is wrong with it and goes on,
// so that one look shows every mistake.
type decoder struct {
	problems []Problem
	// lenient is set for what Compose files came to: what Compose allows and a spec
	// does not, since there is a better way to write it, is let through.
	lenient  bool
	mentions []mention
	kept     []mention // the paths of caches
}

// mention is a place that names a volume, a config or a secret of the spec.
type mention struct {
	of   string // the field at the top: volumes, configs or secrets
	name string
	at   *node
	path string
}

// value is a node with the path that problems name it by.
type value struct {
	*node
	path string
	// key is where the value's name stands: a missing part is reported there.
	// It is the node itself where there is no name.
	key *node
}

// fields says what to do with each known field of a mapping.
type fields map[string]func(value)

// found is what a mapping with known fields has, good values or not.
type found struct {
	values map[string]value
	slips  map[string]bool // known fields that an unknown one resembles
	other  map[string]bool // unknown fields
}

// lacks tells that a field is neither there nor misspelt: one mistake is
// reported once.
func (f found) lacks(name string) bool {
	_, ok := f.values[name]
	return !ok && !f.slips[name]
}

func (d *decoder) report(at *node, path, code, message, hint string) {
	d.problems = append(d.problems, Problem{
		Field: path, Line: at.line, Column: at.col, Code: code, Message: message, Hint: hint,
	})
}

// object decodes a mapping with known fields.
func (d *decoder) object(v value, known fields, others strangers) found {
	got := found{map[string]value{}, map[string]bool{}, map[string]bool{}}
	d.each(v, func(f value) {
		name := f.key.text
		decode, ok := known[name]
		if !ok {
			code, message, hint, near := others.explain(name, known)
			d.report(f.key, f.path, code, message, hint)
			got.other[name], got.slips[near] = true, true
			return
		}
		got.values[name] = f
		if !d.isNull(f) {
			decode(f)
		}
	})
	return got
}

// each visits the entries of a mapping in the order of the text. Keys that are
// no names and keys set before are reported and left out.
func (d *decoder) each(v value, visit func(value)) {
	if v.kind != mappingNode {
		d.wrongType(v, "a mapping (name: value)")
		return
	}
	first := map[string]*node{}
	for _, e := range v.entries {
		if e.key.kind != scalarNode || e.key.text == "" {
			d.report(e.key, v.path, ProblemType, "a field's name must be plain text", "")
			continue
		}
		path := join(v.path, e.key.text)
		if before := first[e.key.text]; before != nil {
			d.report(e.key, path, ProblemDuplicate, "set twice, first on "+before.String(), "keep one of them")
			continue
		}
		first[e.key.text] = e.key
		visit(value{node: e.value, path: path, key: e.key})
	}
}

// list visits the items of a list; an empty list and empty items are reported.
func (d *decoder) list(v value, visit func(value)) {
	if v.kind != listNode {
		d.wrongType(v, "a list")
		return
	}
	if len(v.items) == 0 {
		d.report(v.node, v.path, ProblemInvalid, "the list is empty", "remove the field or give it items")
	}
	for i, n := range v.items {
		item := value{node: n, path: v.path + "[" + strconv.Itoa(i) + "]", key: n}
		if !d.isNull(item) {
			visit(item)
		}
	}
}

func (d *decoder) isNull(v value) bool {
	if v.class != nullClass || v.kind != scalarNode {
		return false
	}
	at, hint := v.node, "give it a value or remove it"
	if v.text == "" && v.key.line > 0 {
		at = v.key // an absent value has no place of its own
	}
	d.report(at, v.path, ProblemNull, "has no value", hint)
	return true
}

// text reads a scalar as it is written: numbers and booleans are text as well.
func (d *decoder) text(v value) (string, bool) {
	switch {
	case v.kind != scalarNode:
		d.wrongType(v, "text")
	case v.class == nullClass:
		d.isNull(v)
	case strings.ContainsRune(v.text, 0):
		d.report(v.node, v.path, ProblemInvalid, "contains a NUL character", "")
	case !utf8.ValidString(v.text):
		d.report(v.node, v.path, ProblemInvalid, "contains what is not UTF-8", "")
	default:
		return v.text, true
	}
	return "", false
}

func (d *decoder) wrongType(v value, want string) {
	got := map[kind]string{scalarNode: "text", listNode: "a list", mappingNode: "a mapping"}[v.kind]
	if v.kind == scalarNode {
		switch v.class {
		case numberClass:
			got = "a number"
		case boolClass:
			got = "true or false"
		case nullClass:
			got = "no value"
		}
	}
	d.report(v.node, v.path, ProblemType, "must be "+want+", not "+got, "")
}

// join extends a path by a key, quoted where it is no plain word.
func join(path, key string) string {
	plain := strings.Trim(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == ""
	switch {
	case !plain || len(key) > maxQuoted:
		return path + "[" + strconv.Quote(clip(key)) + "]"
	case path == "":
		return key
	}
	return path + "." + key
}

// maxQuoted is how much of the author's own text an error repeats, in bytes.
const maxQuoted = 64

// clip shortens text that an error repeats.
func clip(s string) string {
	if len(s) <= maxQuoted {
		return s
	}
	end := maxQuoted
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}

// quote is text as an error repeats it.
func quote(s string) string { return strconv.Quote(clip(s)) }
