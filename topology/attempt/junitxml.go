package attempt

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// Limits on XML, of which the decoder holds each open element and each attribute of a
// tag in memory many times as large as it is written.
const (
	maxTag   = 64 << 10 // bytes of a tag
	maxDepth = 200      // elements within each other
)

var (
	errLongTag = errors.New("a tag of it is too long")
	errTooDeep = errors.New("its elements are too deep within each other")
)

// tagReader passes XML on and ends at a tag that is too long. What is between tags may
// be of any length.
type tagReader struct {
	in    *bufio.Reader
	until []byte // what ends a comment or CDATA that is open; nil for none
	last  []byte // the last bytes in it
	tag   int    // bytes of the tag that is open; 0 for none
	quote byte   // of an attribute's value that is open; 0 for none
}

func newTagReader(in io.Reader) *tagReader { return &tagReader{in: bufio.NewReader(in)} }

// Read implements io.Reader.
func (t *tagReader) Read(p []byte) (int, error) {
	n, err := t.in.Read(p)
	for i, b := range p[:n] {
		if !t.pass(b, p[i+1:n]) {
			return i, errLongTag
		}
	}
	return n, err
}

// pass follows one byte. next is what comes after it, as far as that was read.
func (t *tagReader) pass(b byte, next []byte) bool {
	switch {
	case t.until != nil:
		if t.last = append(t.last, b); len(t.last) > len(t.until) {
			t.last = t.last[1:]
		}
		if bytes.Equal(t.last, t.until) {
			t.until, t.last = nil, nil
		}
	case t.tag == 0 && b == '<':
		t.tag = 1
		ahead, _ := t.in.Peek(len(cdata)) // less at the end
		ahead = append(bytes.Clone(next), ahead...)
		switch {
		case bytes.HasPrefix(ahead, cdata):
			t.tag, t.until = 0, []byte("]]>")
		case bytes.HasPrefix(ahead, comment):
			t.tag, t.until = 0, []byte("-->")
		}
	case t.tag == 0:
	case t.quote != 0:
		t.tag++
		if b == t.quote {
			t.quote = 0
		}
	case b == '>':
		t.tag = 0
	default:
		t.tag++
		if b == '"' || b == '\'' {
			t.quote = b
		}
	}
	return t.tag <= maxTag
}

var cdata, comment = []byte("![CDATA["), []byte("!--")
