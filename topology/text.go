package topology

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxSeparators bounds what a YAML text can make the parser build. Every node
// needs a separator of its own and is at most two of them, so this is some
// 30 MB at the very worst. JSON is counted exactly while it is read and needs
// no such estimate.
const maxSeparators = 1 << 16

// checkText refuses what is not UTF-8 and removes a byte order mark.
func checkText(data []byte) ([]byte, *Problem) {
	for _, bom := range []string{"\xff\xfe", "\xfe\xff"} {
		if bytes.HasPrefix(data, []byte(bom)) {
			return nil, &Problem{
				Line: 1, Column: 1, Code: ProblemEncoding,
				Message: "the text is UTF-16", Hint: "save it as UTF-8",
			}
		}
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if utf8.Valid(data) {
		return data, nil
	}
	for at := 0; ; {
		r, size := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && size == 1 {
			p := positionOf(data, at)
			return nil, &Problem{
				Line: p.line, Column: p.col, Code: ProblemEncoding,
				Message: fmt.Sprintf("the text is not UTF-8: byte 0x%02x", data[at]),
				Hint:    "save it as UTF-8",
			}
		}
		at += size
	}
}

// checkYAML refuses what makes YAML parsers slow, large or lenient: control
// characters, directives, and more structure than a spec can have.
func checkYAML(data []byte) *Problem {
	for at, r := range string(data) {
		if control := r < ' ' && r != '\t' && r != '\n' && r != '\r'; !control && r != 0x7f && r != 0xfffe && r != 0xffff {
			continue
		}
		p := positionOf(data, at)
		return &Problem{
			Line: p.line, Column: p.col, Code: ProblemEncoding,
			Message: fmt.Sprintf("control character U+%04X", r),
			Hint:    "remove it, or write it as an escape in double quotes",
		}
	}
	for at := 0; at < len(data); at++ {
		if data[at] == '%' && (at == 0 || data[at-1] == '\n' || data[at-1] == '\r') {
			p := positionOf(data, at)
			return &Problem{
				Line: p.line, Column: p.col, Code: ProblemSyntax,
				Message: "a line cannot start with %: YAML directives are not accepted",
			}
		}
	}
	separators := 0
	for _, s := range []string{"\n", "\r", ",", "[", "{", ":", "-", "?"} {
		separators += bytes.Count(data, []byte(s))
	}
	if separators > maxSeparators {
		return &Problem{
			Code: ProblemTooLarge, Message: "the YAML has too many parts",
			Hint: "keep data out of the spec, or send it as JSON",
		}
	}
	return nil
}

// position is a place in a text; both count from 1, columns in characters.
type position struct{ line, col int }

func (p position) before(q position) bool {
	return p.line < q.line || p.line == q.line && p.col < q.col
}

func (p position) String() string { return fmt.Sprintf("line %d, column %d", p.line, p.col) }

// positionOf finds the place of a byte offset. It is for errors: it scans from
// the start.
func positionOf(data []byte, offset int) position {
	before := string(data[:offset])
	// CR LF is one line break, and CR alone is one as well.
	before = strings.ReplaceAll(before, "\r\n", "\n")
	before = strings.ReplaceAll(before, "\r", "\n")
	return position{
		line: strings.Count(before, "\n") + 1,
		col:  utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1,
	}
}
