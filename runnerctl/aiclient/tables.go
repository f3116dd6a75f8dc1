package aiclient

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// tables is a file of TOML with a table for each server. Only lines of the one table are edited. A text that looks like
// a table within a string, or a server in a notation that is not looked for, cannot be damaged: what comes out is
// read again, and must differ from what went in by the one entry.
type tables struct{ list string }

// ErrNotation says that the file writes its servers in a way that is not edited here.
var ErrNotation = errors.New("its servers are in a notation that cannot be edited line by line")

func (f tables) add(text []byte, name string, s Server) ([]byte, error) {
	before, err := parseTOML(text)
	if err != nil {
		return nil, err
	}
	now, there, err := f.entry(before, name, s)
	if err != nil {
		return nil, err
	}
	want := maps.Clone(now)
	if want == nil {
		want = map[string]any{}
	}
	want["command"], want["args"] = s.Command, anys(s.Args)
	if there && reflect.DeepEqual(now, want) {
		return text, nil
	}
	nl := newline(text)
	command, args := "command = "+quote(s.Command), "args = "+spaced(s.Args)
	if there {
		return f.checked(f.update(text, name, command, args), before, name, want)
	}
	gap := ""
	if len(text) > 0 {
		gap = nl
		if !bytes.HasSuffix(text, []byte("\n")) {
			gap += nl
		}
	}
	out := fmt.Appendf(bytes.Clone(text), "%s[%s.%s]%s%s%s%s%s", gap, f.list, name, nl, command, nl, args, nl)
	return f.checked(out, before, name, want)
}

func (f tables) remove(text []byte, name string, s Server) ([]byte, error) {
	before, err := parseTOML(text)
	if err != nil {
		return nil, err
	}
	if _, there, err := f.entry(before, name, s); err != nil || !there {
		return text, err
	}
	return f.checked(f.without(text, name), before, name, nil)
}

// entry is our entry as it is. One that is not ours is an error.
func (f tables) entry(doc map[string]any, name string, s Server) (map[string]any, bool, error) {
	servers, ok := doc[f.list].(map[string]any)
	if !ok && doc[f.list] != nil {
		return nil, false, ErrNotation
	}
	e, there := servers[name]
	if !there {
		return nil, false, nil
	}
	now, _ := e.(map[string]any)
	command, _ := now["command"].(string)
	list, _ := now["args"].([]any)
	var args []string
	for _, a := range list {
		args = append(args, fmt.Sprint(a))
	}
	if !s.starts(command, args) {
		return nil, false, &ForeignError{Name: name}
	}
	return now, true, nil
}

// checked returns out if it is before with the one entry as wanted, nil for none.
func (f tables) checked(out []byte, before map[string]any, name string, want map[string]any) ([]byte, error) {
	servers := map[string]any{}
	if now, ok := before[f.list].(map[string]any); ok {
		servers = maps.Clone(now)
	}
	delete(servers, name)
	if want != nil {
		servers[name] = want
	}
	wanted := maps.Clone(before)
	wanted[f.list] = servers
	got, err := parseTOML(out)
	if err != nil {
		return nil, ErrNotation
	}
	if got[f.list] == nil {
		got[f.list] = map[string]any{} // the last server has gone, and the list with it
	}
	if !reflect.DeepEqual(got, wanted) {
		return nil, ErrNotation
	}
	return out, nil
}

func anys(list []string) []any {
	out := make([]any, len(list))
	for i, x := range list {
		out[i] = x
	}
	return out
}

// header matches the line that begins any table.
var header = regexp.MustCompile(`^\s*\[`)

// own matches the header of the server's table; its group is not empty for a table within it.
func (f tables) own(name string) *regexp.Regexp {
	n := regexp.QuoteMeta(name)
	return regexp.MustCompile(`^\s*\[\s*` + f.list + `\s*\.\s*(?:` + n + `|"` + n + `"|'` + n + `')\s*(\.[^\]]*)?\]\s*(?:#.*)?$`)
}

// update replaces the two lines of the server's table. Where they are not lines, checked finds that nothing has changed.
func (f tables) update(text []byte, name, command, args string) []byte {
	lines := strings.SplitAfter(string(text), "\n")
	own, inside := f.own(name), false
	for i, l := range lines {
		bare := strings.TrimRight(l, "\r\n")
		if header.MatchString(bare) {
			m := own.FindStringSubmatch(bare)
			inside = m != nil && m[1] == ""
		}
		if !inside {
			continue
		}
		key, _, _ := strings.Cut(strings.TrimSpace(bare), "=")
		for k, by := range map[string]string{"command": command, "args": args} {
			if strings.TrimSpace(key) == k && !says(bare, by) {
				lines[i] = by + l[len(bare):]
			}
		}
	}
	return []byte(strings.Join(lines, ""))
}

// says tells whether two lines say the same, however they are written: then one keeps its comment.
func says(a, b string) bool {
	x, err := parseTOML([]byte(a))
	y, err2 := parseTOML([]byte(b))
	return err == nil && err2 == nil && reflect.DeepEqual(x, y)
}

// without drops the server's table and those within it, and the empty line before. Comments that lead the next table stay.
func (f tables) without(text []byte, name string) []byte {
	var kept, doubtful []string // doubtful: comments and blanks at the end of the table, or before the next one
	own, inside := f.own(name), false
	for _, l := range strings.SplitAfter(string(text), "\n") {
		bare := strings.TrimSpace(l)
		if header.MatchString(bare) {
			was := inside
			inside = own.MatchString(bare)
			switch {
			case inside && !was && len(kept) > 0 && strings.TrimSpace(kept[len(kept)-1]) == "":
				kept = kept[:len(kept)-1]
			case was && !inside:
				kept = append(kept, doubtful...)
			}
			doubtful = nil
		}
		switch {
		case !inside:
			kept = append(kept, l)
		case bare == "" || bare[0] == '#':
			doubtful = append(doubtful, l)
		default:
			doubtful = nil
		}
	}
	return []byte(strings.Join(append(kept, doubtful...), ""))
}

func parseTOML(text []byte) (map[string]any, error) {
	doc := map[string]any{}
	err := toml.Unmarshal(text, &doc)
	if e, ok := errors.AsType[*toml.DecodeError](err); ok {
		line, _ := e.Position()
		return nil, &MalformedError{Line: line, Reason: e.Error()}
	}
	if err != nil {
		return nil, &MalformedError{Reason: err.Error()}
	}
	return doc, nil
}
