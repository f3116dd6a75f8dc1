package gitpatch

import (
	"fmt"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

// walker finds the lines of a patch at which what the library has read begins, and
// lines that it has passed over though they look like a part of a hunk: to leave
// these out would run a job with half of a change.
type walker struct {
	lines []string
	at    int
}

// next goes on to the header of a file and through its hunks.
func (w *walker) next(f *gitdiff.File) (c *Change, plain bool, err error) {
	for w.at < len(w.lines) && !strings.HasPrefix(w.lines[w.at], "diff --git ") && !plainHeader(w.lines, w.at) {
		w.at++
	}
	if w.at == len(w.lines) {
		return nil, false, &ParseError{Message: "cannot be read", Hint: madeByGit}
	}
	c = &Change{file: f, Line: w.at + 1, hunks: make([]int, len(f.TextFragments))}
	plain = plainHeader(w.lines, w.at)
	w.at++
	for i, frag := range f.TextFragments {
		for w.at < len(w.lines) && !isHunk(w.lines[w.at]) {
			w.at++
		}
		header := w.at
		c.hunks[i] = header + 1
		w.at++
		for n := 0; n < len(frag.Lines) && w.at < len(w.lines); w.at++ {
			if !isMarker(w.lines[w.at]) {
				n++
			}
		}
		if w.at < len(w.lines) && isMarker(w.lines[w.at]) {
			w.at++
		}
		if w.leftOver() {
			return nil, false, miscounted(w.lines, header, &ParseError{Line: header + 1})
		}
	}
	return c, plain, nil
}

// leftOver says whether what follows a hunk looks like more of it.
func (w *walker) leftOver() bool {
	at, blank := w.at, false
	for at < len(w.lines) && w.lines[at] == "\n" {
		at, blank = at+1, true
	}
	if at >= len(w.lines) || !inHunk(w.lines, at) {
		return false
	}
	switch line := w.lines[at]; line[0] {
	case '+':
		return true
	case '-': // "-- " stands before the version of git in a mail
		return strings.TrimRight(line, " \n") != "--"
	default:
		return !blank
	}
}

// plainHeader says whether a file's header that is not git's begins at a line.
func plainHeader(lines []string, at int) bool {
	return at+2 < len(lines) && strings.HasPrefix(lines[at], "--- ") && strings.HasPrefix(lines[at+1], "+++ ") && isHunk(lines[at+2])
}

func isHunk(line string) bool   { return strings.HasPrefix(line, "@@ -") }
func isMarker(line string) bool { return strings.HasPrefix(line, `\ `) }

// inHunk says whether a line can be one of a hunk.
func inHunk(lines []string, at int) bool {
	line := lines[at]
	return line != "" && strings.ContainsRune(" +-\\\n", rune(line[0])) && !plainHeader(lines, at)
}

// headerBefore is the last line, at or before one, that begins a hunk; -1 for none.
func headerBefore(lines []string, at int) int {
	for at = min(at, len(lines)-1); at >= 0 && !isHunk(lines[at]); at-- {
	}
	return at
}

// miscounted says of a hunk whose header counts other lines than follow it what it
// should be.
func miscounted(lines []string, header int, e *ParseError) error {
	var oldStart, newStart, oldLines, newLines int
	last := header + 1
	for last < len(lines) && inHunk(lines, last) {
		last++
	}
	for last > header+1 && lines[last-1] == "\n" { // between this and what follows
		last--
	}
	for _, line := range lines[header+1 : last] {
		switch line[0] {
		case '-':
			oldLines++
		case '+':
			newLines++
		case ' ', '\n':
			oldLines, newLines = oldLines+1, newLines+1
		}
	}
	e.Line, e.Message = header+1, "the hunk's header counts other lines than follow it: "+clip(strings.TrimSpace(lines[header]))
	e.Hint = madeByGit
	oldRange, newRange, ok := strings.Cut(strings.TrimPrefix(lines[header], "@@ -"), " +")
	if _, err := fmt.Sscanf(oldRange, "%d", &oldStart); err != nil || !ok {
		return e
	}
	if _, err := fmt.Sscanf(newRange, "%d", &newStart); err != nil {
		return e
	}
	e.Hint = fmt.Sprintf("if its lines are right, it is @@ -%d,%d +%d,%d @@", oldStart, oldLines, newStart, newLines)
	return e
}
