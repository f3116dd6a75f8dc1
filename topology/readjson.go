package topology

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// isJSONObject tells whether the text is a JSON document. Text that only looks
// like one (a trailing comma, say) is left to the YAML reader, which accepts
// more and says where it stopped.
func isJSONObject(data []byte) bool {
	trimmed := bytes.TrimLeft(data, " \t\r\n")
	return len(trimmed) > 0 && trimmed[0] == '{' && json.Valid(trimmed)
}

// jsonReader builds nodes from JSON that is known to be valid.
type jsonReader struct {
	data   []byte
	dec    *json.Decoder
	at     position // of offset
	offset int
	count  int
}

func readJSON(data []byte) (*node, *Problem) {
	r := &jsonReader{data: data, dec: json.NewDecoder(bytes.NewReader(data)), at: position{1, 1}}
	r.dec.UseNumber()
	return r.value(0)
}

func (r *jsonReader) value(depth int) (*node, *Problem) {
	at := r.advance()
	token, err := r.dec.Token()
	if err != nil { // cannot happen after json.Valid; a refusal is still better than a crash
		return nil, &Problem{Line: at.line, Column: at.col, Code: ProblemSyntax, Message: "not valid JSON"}
	}
	if r.count++; r.count > MaxSpecNodes {
		return nil, tooManyNodes(at)
	}
	n := &node{position: at}
	switch t := token.(type) {
	case json.Delim:
		if depth == MaxSpecDepth {
			return nil, tooDeep(at)
		}
		if problem := r.collect(n, t, depth+1); problem != nil {
			return nil, problem
		}
	case string:
		n.text = t
	case json.Number:
		n.text, n.class = t.String(), numberClass
	case bool:
		n.text, n.class = "false", boolClass
		if t {
			n.text = "true"
		}
	case nil:
		n.text, n.class = "null", nullClass
	}
	return n, n.weigh()
}

// collect reads what follows an opening bracket, up to its closing one.
func (r *jsonReader) collect(n *node, open json.Delim, depth int) *Problem {
	n.kind = listNode
	if open == '{' {
		n.kind = mappingNode
	}
	for r.dec.More() {
		child, problem := r.value(depth)
		if problem != nil {
			return problem
		}
		if n.kind == listNode {
			n.items = append(n.items, child)
			continue
		}
		val, problem := r.value(depth)
		if problem != nil {
			return problem
		}
		n.entries = append(n.entries, entry{child, val})
	}
	_, _ = r.dec.Token() // the closing bracket, which More has seen
	return nil
}

// advance moves the position to the start of the next token: over what the
// decoder has read, white space, commas and colons.
func (r *jsonReader) advance() position {
	end := int(r.dec.InputOffset())
	for end < len(r.data) && bytes.IndexByte([]byte(" \t\r\n,:"), r.data[end]) >= 0 {
		end++
	}
	for r.offset < end {
		c, size := utf8.DecodeRune(r.data[r.offset:])
		crlf := c == '\r' && r.offset+1 < len(r.data) && r.data[r.offset+1] == '\n'
		r.offset += size
		switch {
		case crlf:
		case c == '\n' || c == '\r':
			r.at = position{r.at.line + 1, 1}
		default:
			r.at.col++
		}
	}
	return r.at
}
