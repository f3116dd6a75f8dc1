package aiclient

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// object is an object within a text. It is read by hujson and edited in the text, so that what is not edited stays.
type object struct {
	*hujson.Object
	text       []byte
	begin, end int            // of the object in the text, with its braces
	root       *hujson.Object // shows how the file is indented
}

// member is the place of a member, -1 if there is none. A name that is there twice is an error: clients differ in which
// one counts.
func (o *object) member(name string) (int, error) {
	at := -1
	for i, m := range o.Members {
		if m.Name.Value.(hujson.Literal).String() != name {
			continue
		}
		if at >= 0 {
			return 0, &MalformedError{Line: o.line(m.Name.StartOffset), Reason: fmt.Sprintf("%q is there twice", name)}
		}
		at = i
	}
	return at, nil
}

// object is the object under a name, nil if there is none.
func (o *object) object(name string) (*object, error) {
	at, err := o.member(name)
	if err != nil || at < 0 {
		return nil, err
	}
	v := o.Members[at].Value
	inner, ok := v.Value.(*hujson.Object)
	if !ok {
		return nil, &MalformedError{Line: o.line(v.StartOffset), Reason: fmt.Sprintf("%q is no object, but %s", name, kindOf(v))}
	}
	return &object{Object: inner, text: o.text, begin: v.StartOffset, end: v.EndOffset, root: o.root}, nil
}

func (o *object) line(offset int) int { return 1 + bytes.Count(o.text[:offset], []byte("\n")) }

// append puts a member after the last one. value has a tab for each level of its own. Comments stay with what they
// are next to.
func (o *object) append(name, value string) []byte {
	brace := o.end - 1
	outer, unit := o.indent(o.begin), o.unit()
	nl := newline(o.text)
	block := indented(quote(name)+": "+value, 1)
	block = strings.ReplaceAll(strings.ReplaceAll("\t"+block, "\t", unit), "\n", nl+outer)

	last := o.begin + 1 // where a comma belongs
	comma, trailing := "", ""
	if n := len(o.Members); n > 0 {
		v := o.Members[n-1].Value
		last = v.EndOffset + len(v.AfterExtra)
		comma = ","
		if v.AfterExtra != nil { // there is one, as after each
			comma, trailing = "", ","
		}
	}
	tail := bytes.TrimRight(o.text[last:brace], " \t\r\n") // comments, and that comma
	return splice(o.text, last, brace, comma+string(tail)+nl+outer+block+trailing+nl+outer)
}

// indent is the white space that the line of an offset begins with.
func (o *object) indent(offset int) string {
	line := o.text[bytes.LastIndexByte(o.text[:offset], '\n')+1:]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// unit is one level of indentation, two spaces where the file shows none.
func (o *object) unit() string {
	if len(o.root.Members) > 0 {
		at := o.root.Members[0].Name.StartOffset
		if in := o.indent(at); in != "" && bytes.HasSuffix(o.text[:at], []byte("\n"+in)) {
			return in
		}
	}
	return "  "
}

// ours returns the object of an entry that starts `runnerctl mcp`.
func (o *object) ours(at int, name string, s Server) (*object, error) {
	var e struct {
		Command string   `json:"command"`
		Args    []string `json:"args"`
	}
	if err := decode(o.Members[at].Value, &e); err != nil || !s.starts(e.Command, e.Args) {
		return nil, &ForeignError{Name: name}
	}
	return o.object(name)
}

// update makes our entry start s.
func (o *object) update(at int, name string, s Server) ([]byte, error) {
	entry, err := o.ours(at, name, s)
	if err != nil {
		return nil, err
	}
	out := o.text
	var edits []edit
	for key, want := range map[string]any{"command": s.Command, "args": s.Args} {
		i, err := entry.member(key)
		if err != nil {
			return nil, err
		}
		v := entry.Members[i].Value // both are there: they are what makes it ours
		var now any
		if err := decode(v, &now); err != nil {
			return nil, &MalformedError{Line: o.line(v.StartOffset), Reason: err.Error()}
		}
		if quote(now) == quote(want) {
			continue
		}
		text := quote(want)
		if key == "args" {
			text = spaced(s.Args)
		}
		edits = append(edits, edit{v.StartOffset, v.EndOffset, text})
	}
	slices.SortFunc(edits, func(a, b edit) int { return b.begin - a.begin }) // from the end, so that the offsets hold
	for _, e := range edits {
		out = splice(out, e.begin, e.end, e.by)
	}
	return out, nil
}

type edit struct {
	begin, end int
	by         string
}

// without is the text without a member, its comma, and the line's end before it.
func (o *object) without(at int) []byte {
	m := o.Members[at]
	begin, end := m.Name.StartOffset, m.Value.EndOffset
	if before := bytes.TrimRight(o.text[:begin], " \t"); bytes.HasSuffix(before, []byte("\n")) {
		begin = len(bytes.TrimSuffix(bytes.TrimSuffix(before, []byte("\n")), []byte("\r")))
	}
	if at < len(o.Members)-1 || m.Value.AfterExtra != nil {
		return splice(o.text, begin, end+len(m.Value.AfterExtra)+1, string(m.Value.AfterExtra))
	}
	out := splice(o.text, begin, end, "")
	if at > 0 { // the one before is the last one now
		v := o.Members[at-1].Value
		comma := v.EndOffset + len(v.AfterExtra)
		out = splice(out, comma, comma+1, "")
	}
	return out
}
