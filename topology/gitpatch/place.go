package gitpatch

import (
	"fmt"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

// maxCompared is how many bytes are compared, with eight for each line, in search of the places of a file's hunks.
const maxCompared = 64 << 20

// placer finds where in a file hunks belong. Authors of patches, people and models
// alike, get the lines right and the numbers of lines wrong.
type placer struct {
	text   []byte
	starts []int32 // of the lines, and the text's end
	from   int     // the first line behind the hunk before
	shift  int     // by how much that was elsewhere than its header said
	left   int     // bytes that may be compared
}

// misplaced says why a hunk has no place.
type misplaced struct{ message, hint string }

func newPlacer(text []byte) *placer {
	p := &placer{text: text, left: maxCompared}
	for at := 0; at < len(text); {
		p.starts = append(p.starts, int32(at)) //nolint:gosec // a file is at most MaxFile
		at += lineEnd(text[at:])
	}
	p.starts = append(p.starts, int32(len(text))) //nolint:gosec // as above
	return p
}

// lineEnd is the length of the first line, its line end included.
func lineEnd(text []byte) int {
	for i, b := range text {
		if b == '\n' {
			return i + 1
		}
	}
	return len(text)
}

func (p *placer) lines() int { return len(p.starts) - 1 }

func (p *placer) line(i int) string { return string(p.text[p.starts[i]:p.starts[i+1]]) }

// place returns the line, from 0, at which a hunk goes.
func (p *placer) place(f *gitdiff.TextFragment) (int, *misplaced) {
	want, made := sides(f)
	if len(want) == 0 { // lines that go behind one, with nothing said of what is around them
		at := int(min(max(f.OldPosition, 0), int64(p.lines()+1))) + p.shift
		if at < p.from || at > p.lines() {
			return 0, &misplaced{message: fmt.Sprintf("the file has %d lines, and the hunk goes behind line %d", p.lines(), f.OldPosition)}
		}
		p.from = at
		return at, nil
	}
	said := int(min(max(f.OldPosition-1, 0), int64(p.lines()))) + p.shift
	if p.fits(want, said) == len(want) {
		p.from = said + len(want)
		return said, nil
	}
	found, best, most, others := -1, said, p.fits(want, said), 0
	for at := p.from; at+len(want) <= p.lines() && p.left > 0; at++ {
		n := p.fits(want, at)
		switch {
		case n == len(want) && found < 0:
			found = at
		case n == len(want):
			others++
		case n > most:
			best, most = at, n
		}
	}
	switch {
	case p.left <= 0:
		return 0, &misplaced{message: "its place cannot be found: too many lines of the file are like it"}
	case found >= 0 && others > 0:
		return 0, &misplaced{
			fmt.Sprintf("it is not at line %d, and fits at %d other places", said+1, others+1), "Put more lines around the change, or the right line number.",
		}
	case found >= 0:
		p.shift += found - said
		p.from = found + len(want)
		return found, nil
	case len(made) > 0 && p.fits(made, said) == len(made):
		return 0, &misplaced{"the file has this change already", "Leave it out of the patch."}
	}
	return 0, p.differs(want, best, most)
}

// fits is how many lines of want are in the file from a line on.
func (p *placer) fits(want []string, at int) int {
	for i, line := range want {
		if at < p.from || at+i >= p.lines() || p.left <= 0 {
			return i
		}
		have := p.text[p.starts[at+i]:p.starts[at+i+1]]
		if p.left -= 8 + min(len(have), len(line)); string(have) != line {
			return i
		}
	}
	return len(want)
}

// differs tells of the first line that is not as the hunk has it.
func (p *placer) differs(want []string, at, matched int) *misplaced {
	at += matched
	if at >= p.lines() {
		return &misplaced{message: fmt.Sprintf("the patch has %s where the file ends, behind line %d", quote(want[matched]), p.lines())}
	}
	have := p.line(at)
	m := &misplaced{message: fmt.Sprintf("at line %d the patch has %s and the file has %s", at+1, quote(want[matched]), quote(have))}
	switch a, b := want[matched], have; {
	case strings.TrimRight(a, "\r\n") == strings.TrimRight(b, "\r\n"):
		m.hint = "Only the line ends differ: keep those of the file (\\r\\n, or none at its end)."
	case strings.Join(strings.Fields(a), " ") == strings.Join(strings.Fields(b), " "):
		m.hint = "Only spaces and tabs differ: keep those of the file."
	}
	return m
}

// sides are the lines of a hunk before and after.
func sides(f *gitdiff.TextFragment) (before, after []string) {
	for _, l := range f.Lines {
		if l.Old() {
			before = append(before, l.Line)
		}
		if l.New() {
			after = append(after, l.Line)
		}
	}
	return before, after
}
