package gitpatch

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

// Change is what a patch does to one file.
type Change struct {
	From string // the file that it begins with; "" for a new one
	To   string // the file that it leaves; "" for one that is deleted
	Copy bool   // From stays, where it is not To
	Mode Mode   // of To
	Line int    // of the patch, where the change begins

	file  *gitdiff.File
	hunks []int // lines of the patch at which the hunks begin
}

// Name is the file that the change is about.
func (c *Change) Name() string {
	if c.To == "" {
		return c.From
	}
	return c.To
}

// Edits says whether the change is more than one of name and mode.
func (c *Change) Edits() bool { return len(c.file.TextFragments) > 0 || c.file.BinaryFragment != nil }

const (
	madeByGit = "make it with git diff --binary"
	devNull   = "/dev/null"
)

// libraryError is how the library words an error.
var libraryError = regexp.MustCompile(`^gitdiff: line (\d+): (.*)$`)

// Parse reads a patch: git's extended form, or a plain unified diff whose names may
// begin with a/ and b/. The error is a *ParseError.
func Parse(text string) ([]*Change, error) {
	switch {
	case len(text) > MaxBytes:
		return nil, &ParseError{Message: "is larger than 1 MiB", Hint: "commit what is large, and patch the rest"}
	case strings.TrimSpace(text) == "":
		return nil, &ParseError{Message: "is empty", Hint: "leave it out, or " + madeByGit}
	}
	text = whole(text)
	lines := strings.SplitAfter(text, "\n")
	files, _, err := gitdiff.Parse(strings.NewReader(text))
	if err != nil {
		return nil, refused(lines, err)
	}
	switch {
	case len(files) == 0:
		return nil, &ParseError{Message: "has no change of a file in it", Hint: "it is a unified diff; " + madeByGit}
	case len(files) > MaxFiles:
		return nil, &ParseError{Message: fmt.Sprintf("changes %d files and may change %d", len(files), MaxFiles), Hint: "commit what is large, and patch the rest"}
	}
	all := make([]*Change, len(files))
	w := walker{lines: lines}
	for i, f := range files {
		c, plain, err := w.next(f)
		if err == nil {
			err = c.read(plain)
		}
		if err != nil {
			return nil, err
		}
		all[i] = c
	}
	return all, nil
}

// whole ends a patch as the library wants it: with a line end, and behind binary data
// with the blank line that YAML and editors take away.
func whole(text string) string {
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	if strings.Contains(text, "GIT binary patch\n") && !strings.HasSuffix(text, "\n\n") {
		text += "\n"
	}
	return text
}

// refused words an error of the library's.
func refused(lines []string, err error) error {
	m := libraryError.FindStringSubmatch(err.Error())
	if m == nil {
		return &ParseError{Message: "cannot be read: " + clip(err.Error()), Hint: madeByGit}
	}
	line, _ := strconv.Atoi(m[1])
	e := &ParseError{Line: max(1, min(line, len(lines))), Message: m[2], Hint: madeByGit}
	if strings.HasPrefix(m[2], "fragment header miscounts") || strings.HasPrefix(m[2], "invalid line operation") {
		if header := headerBefore(lines, e.Line-1); header >= 0 {
			return miscounted(lines, header, e)
		}
	}
	e.Message = strings.NewReplacer("patch fragment", "hunk", "fragment", "hunk").Replace(clip(e.Message))
	return e
}

// read takes over what the library has of a file, and checks it. plain says that its
// header was not git's, so that nobody has taken a/ and b/ from its names.
func (c *Change) read(plain bool) error {
	f := c.file
	if plain {
		f.OldName, f.NewName = withoutSide(f.OldName), withoutSide(f.NewName)
	}
	if f.OldName == devNull {
		f.OldName, f.IsNew = "", true
	}
	if f.NewName == devNull {
		f.NewName, f.IsDelete = "", true
	}
	bad := func(message, hint string) error { return &ParseError{c.Line, message, hint} }
	if more(f.IsNew, f.IsDelete, f.IsCopy, f.IsRename) {
		return bad("the change contradicts itself: a file is new, deleted, copied or renamed", madeByGit)
	}
	c.From, c.To, c.Copy = f.OldName, f.NewName, f.IsCopy
	switch {
	case f.IsNew:
		c.From = ""
	case f.IsDelete:
		c.To = ""
	case c.From != c.To && !f.IsCopy && !f.IsRename:
		return bad(fmt.Sprintf("names two files, %s and %s, and says neither rename nor copy", quote(c.From), quote(c.To)), madeByGit)
	}
	for _, name := range []string{f.OldName, f.NewName} {
		if problem := PathProblem(name); name != "" && problem != "" {
			return bad("the path "+quote(name)+" "+problem, "names are relative to the working directory, behind a/ and b/")
		}
	}
	if c.Name() == "" {
		return bad("names no file", madeByGit)
	}
	return c.readMode(bad)
}

func (c *Change) readMode(bad func(message, hint string) error) error {
	f := c.file
	mode, ok := modeOf(f.NewMode)
	was, known := modeOf(f.OldMode)
	switch {
	case !ok || !known:
		return bad(fmt.Sprintf("%s has a mode that is not supported: %o", quote(c.Name()), max(f.OldMode, f.NewMode)), "100644, 100755 and 120000 are; a submodule is not changed by a patch")
	case was != Same && mode != Same && (was == Link) != (mode == Link):
		return bad(quote(c.Name())+" becomes another kind of file", "delete it and make it anew, as git diff does")
	case f.IsBinary && f.BinaryFragment == nil:
		return bad(quote(c.Name())+" is binary, and the patch does not have its content", madeByGit)
	case f.BinaryFragment != nil && f.BinaryFragment.Size > MaxFile:
		return bad(fmt.Sprintf("%s has %d bytes and may have %d", quote(c.Name()), f.BinaryFragment.Size, MaxFile), "")
	case c.From == c.To && mode == Same && !c.Edits():
		return bad("changes nothing of "+quote(c.Name()), madeByGit)
	case f.IsNew && mode == Same:
		mode = Regular
	}
	c.Mode = mode
	return nil
}

// modeOf reads a mode as git writes it; 0 is none.
func modeOf(m os.FileMode) (Mode, bool) {
	switch {
	case m == 0:
		return Same, true
	case m == 0o120000:
		return Link, true
	case m&^0o777 == 0o100000 && m&0o111 != 0:
		return Executable, true
	case m&^0o777 == 0o100000:
		return Regular, true
	}
	return Same, false
}

// withoutSide takes a/ or b/ from a name.
func withoutSide(name string) string {
	if rest, ok := strings.CutPrefix(name, "a/"); ok {
		return rest
	}
	return strings.TrimPrefix(name, "b/")
}

// more says whether more than one is true.
func more(flags ...bool) bool {
	n := 0
	for _, is := range flags {
		if is {
			n++
		}
	}
	return n > 1
}
