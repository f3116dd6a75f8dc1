package iostreams

import (
	"regexp"
	"strings"
	"unicode"
)

// Printable replaces control characters and those that turn the direction of writing, so that what others wrote (names,
// reasons, a hub's messages) cannot steer a terminal or look like something else. Tabs and line ends stay; bytes that
// are not UTF-8 are replaced too.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' || r == '\n' {
			return r
		}
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// OneLine is Printable for a cell of a table.
func OneLine(s string) string {
	return strings.NewReplacer("\t", " ", "\n", " ").Replace(Printable(s))
}

// sgr is what sets colours: CSI with numbers, and m. It is all that a job may tell a terminal.
var sgr = regexp.MustCompile("\x1b\\[[0-9;:]*m")

// reset ends what a line's colours began.
const reset = "\x1b[0m"

// Terminal prepares a line of a job's log for a terminal: as Printable, but colours (SGR sequences) work, where color
// is set, to the end of the line.
func Terminal(line string, color bool) string {
	line = strings.TrimSuffix(line, "\r") // of a line end from Windows
	colours := sgr.FindAllStringIndex(line, -1)
	if len(colours) == 0 {
		return Printable(line)
	}
	var b strings.Builder
	at := 0
	for _, c := range colours {
		b.WriteString(Printable(line[at:c[0]]))
		if color {
			b.WriteString(line[c[0]:c[1]])
		}
		at = c[1]
	}
	b.WriteString(Printable(line[at:]))
	if color {
		b.WriteString(reset)
	}
	return b.String()
}
