package aiclient

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/tailscale/hujson"
)

// jsonc is a file of JSON, which may have comments and trailing commas, with the servers by name in one object.
type jsonc struct {
	list  string // the key of that object
	typed bool   // an entry says that it is one for standard input and output
}

func (f jsonc) add(text []byte, name string, s Server) ([]byte, error) {
	text, mark := cutMark(text)
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{}\n")
	}
	root, err := parseObject(text)
	if err != nil {
		return nil, err
	}
	list, err := root.object(f.list)
	if err != nil {
		return nil, err
	}
	var out []byte
	if list == nil {
		out = root.append(f.list, fmt.Sprintf("{\n\t%s: %s\n}", quote(name), indented(f.entry(s), 1)))
	} else {
		at, err := list.member(name)
		switch {
		case err != nil:
			return nil, err
		case at < 0:
			out = list.append(name, f.entry(s))
		default:
			if out, err = list.update(at, name, s); err != nil {
				return nil, err
			}
		}
	}
	if _, err := parseObject(out); err != nil {
		return nil, fmt.Errorf("the entry cannot be put in: %w", err)
	}
	return append(mark, out...), nil
}

func (f jsonc) remove(text []byte, name string, s Server) ([]byte, error) {
	whole := text
	text, mark := cutMark(text)
	if len(bytes.TrimSpace(text)) == 0 {
		return whole, nil
	}
	root, err := parseObject(text)
	if err != nil {
		return nil, err
	}
	list, err := root.object(f.list)
	if err != nil || list == nil {
		return whole, err
	}
	at, err := list.member(name)
	if err != nil || at < 0 {
		return whole, err
	}
	if _, err := list.ours(at, name, s); err != nil {
		return nil, err
	}
	out := list.without(at)
	if _, err := parseObject(out); err != nil {
		return nil, fmt.Errorf("the entry cannot be taken out: %w", err)
	}
	return append(mark, out...), nil
}

// entry is the server as the client wants it, with tabs for each level.
func (f jsonc) entry(s Server) string {
	kind := ""
	if f.typed {
		kind = "\t\"type\": \"stdio\",\n"
	}
	return fmt.Sprintf("{\n%s\t\"command\": %s,\n\t\"args\": %s\n}", kind, quote(s.Command), spaced(s.Args))
}

// spaced is a list as people write it on one line.
func spaced(list []string) string {
	quoted := make([]string, len(list))
	for i, x := range list {
		quoted[i] = quote(x)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

func indented(block string, levels int) string {
	return strings.ReplaceAll(block, "\n", "\n"+strings.Repeat("\t", levels))
}

// cutMark takes the mark off that some editors on Windows put before UTF-8.
func cutMark(text []byte) (rest, mark []byte) {
	const utf8Mark = "\ufeff"
	if rest, ok := bytes.CutPrefix(text, []byte(utf8Mark)); ok {
		return rest, []byte(utf8Mark)
	}
	return text, nil
}

// place matches where hujson says that a fault is.
var place = regexp.MustCompile(`line (\d+), column \d+: (.*)$`)

func parseObject(text []byte) (*object, error) {
	v, err := hujson.Parse(text)
	if err != nil {
		m := place.FindStringSubmatch(err.Error())
		if m == nil {
			return nil, &MalformedError{Reason: err.Error()}
		}
		line, _ := strconv.Atoi(m[1]) // digits
		return nil, &MalformedError{Line: line, Reason: m[2]}
	}
	o, ok := v.Value.(*hujson.Object)
	if !ok {
		return nil, &MalformedError{Line: 1, Reason: "there is no JSON object, but " + kindOf(v)}
	}
	return &object{text: text, Object: o, begin: v.StartOffset, end: v.EndOffset, root: o}, nil
}

func kindOf(v hujson.Value) string {
	switch v.Value.Kind() {
	case '[':
		return "a list"
	case '"':
		return "a string"
	case 'n':
		return "null"
	default:
		return "another value"
	}
}

// decode reads a value without its comments.
func decode(v hujson.Value, into any) error {
	v = v.Clone()
	v.Standardize()
	return json.Unmarshal(v.Pack(), into)
}
