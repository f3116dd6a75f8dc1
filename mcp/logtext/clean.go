package logtext

import (
	"bytes"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// Clean is what a terminal would show of a line in the end: no escape sequences, of the pictures of a progress
// bar that are drawn over each other the last, and no other control characters but tabs. A line that is clean
// is returned as it is; bytes that are not UTF-8 stay.
func Clean(line []byte) []byte {
	if bytes.IndexFunc(line, control) < 0 {
		return line
	}
	if bytes.IndexByte(line, 0x1b) >= 0 || bytes.Contains(line, []byte("\u009b")) {
		line = []byte(ansi.Strip(string(line)))
	}
	line = lastPicture(line)
	out := make([]byte, 0, len(line))
	for len(line) > 0 {
		r, n := utf8.DecodeRune(line)
		switch {
		case r == '\b': // takes back what stands before it
			if len(out) > 0 {
				_, last := utf8.DecodeLastRune(out)
				out = out[:len(out)-last]
			}
		case !control(r):
			out = append(out, line[:n]...)
			// What stood between two bytes may have kept them from being a control character.
			if last, size := utf8.DecodeLastRune(out); control(last) {
				out = out[:len(out)-size]
			}
		}
		line = line[n:]
	}
	return out
}

// lastPicture is what is left of a line after the last carriage return that something follows.
func lastPicture(line []byte) []byte {
	line = bytes.TrimRight(line, "\r")
	return line[bytes.LastIndexByte(line, '\r')+1:]
}

// control says whether a terminal acts on a character in place of showing it. Characters that turn the direction
// of text are among them: they make a line look like another one.
func control(r rune) bool {
	return r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r))
}
