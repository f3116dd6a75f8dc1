package logtext

import "bytes"

// Repeats says whether b, which follows a, says nothing that a has not said: it is the same, or the next picture
// of the same progress display.
func Repeats(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	if !progress(a) || !progress(b) {
		return false
	}
	return bytes.Equal(skeleton(a), skeleton(b))
}

// maxSkeleton is how long a line may be, in bytes, to count as a progress display.
const maxSkeleton = 400

// progress says whether a line has what a progress display has: a share in percent, a bar, or so many of so many.
func progress(line []byte) bool {
	if len(line) > maxSkeleton {
		return false
	}
	for i, c := range line {
		switch {
		case c == '%' && i > 0 && digit(line[i-1]),
			c == '/' && i > 0 && i+1 < len(line) && digit(line[i-1]) && digit(line[i+1]):
			return true
		}
	}
	return bytes.Contains(line, []byte("=>")) || bytes.Contains(line, []byte("##")) || bytes.Contains(line, []byte("█"))
}

func digit(c byte) bool { return '0' <= c && c <= '9' }

// skeleton is a line without what moves in a progress display: numbers, bars and the room that they take.
func skeleton(line []byte) []byte {
	out := make([]byte, 0, len(line))
	for _, r := range string(line) {
		class := string(r)
		switch {
		case r < 128 && digit(byte(r)), r == '.', r == ',', r == ':':
			class = "0"
		case r == '=', r == '#', r == '>', r == '-', r == '*', r == ' ', '▀' <= r && r <= '▟', '⠀' <= r && r <= '⣿':
			class = " "
		}
		if (class == "0" || class == " ") && bytes.HasSuffix(out, []byte(class)) {
			continue
		}
		out = append(out, class...)
	}
	return out
}
