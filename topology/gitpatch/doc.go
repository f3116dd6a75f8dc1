// Package gitpatch reads unified diffs as git writes them, applies them to the
// bytes of a file, and makes them of two states of a file. What a diff holds is
// other people's: names that leave the tree and content that unpacks to more than
// the limits are refused, and no work or memory goes beyond what the limits allow.
// It touches no file system and needs no git.
package gitpatch

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Limits on a patch, so that what is written in a job costs its machine little.
const (
	MaxBytes = 1 << 20  // of a patch's text
	MaxFiles = 10_000   // that it changes
	MaxFile  = 16 << 20 // bytes of a file that it changes, before and after
)

// Mode is what kind of file a change leaves.
type Mode uint8

// The kinds that there are to git.
const (
	Same       Mode = iota // as it was
	Regular                // 100644
	Executable             // 100755
	Link                   // 120000: a symbolic link, whose content is its target
)

// ParseError is a text that is no patch which can be applied.
type ParseError struct {
	Line    int // of the text, from 1; 0 where no line is to blame
	Message string
	Hint    string // may be empty
}

// Error is the message with its line.
func (e *ParseError) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("line %d of the patch: %s", e.Line, e.Message)
	}
	return "the patch " + e.Message
}

// Conflict is a change that does not fit the file that it is applied to.
type Conflict struct {
	File    string
	Hunk    int // of the file's, from 1; 0 for the file as a whole
	Line    int // of the patch, where the hunk or the file begins
	Message string
	Hint    string // may be empty
}

// Error names the place and says what was found there.
func (e *Conflict) Error() string {
	where := clip(e.File)
	if e.Hunk > 0 {
		where += fmt.Sprintf(", hunk %d", e.Hunk)
	}
	return fmt.Sprintf("%s (line %d of the patch): %s", where, e.Line, e.Message)
}

// clip shortens text that an error repeats.
func clip(s string) string {
	const most = 120
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= most {
		return s
	}
	end := most
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}
