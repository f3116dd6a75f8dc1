package gitpatch

import (
	"bytes"
	"cmp"
	"crypto/sha1" //nolint:gosec // it is how git names contents, not how anything is kept secret
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

const fromTheSource = "Make the patch against the very source that the job names, with the patch of the job before in it."

// Apply applies the change to a file's content, nil for a file that is not there. A
// hunk that is not where its header says is looked for elsewhere; notes tell where it
// was found. The error is a *Conflict.
func (c *Change) Apply(old []byte) (content []byte, notes []string, err error) {
	switch {
	case len(old) > MaxFile:
		return nil, nil, c.conflict(0, "", "the file has %d bytes, and one that is patched may have %d", len(old), MaxFile)
	case !c.Edits() && c.To == "":
		return nil, nil, nil
	case !c.Edits():
		return old, nil, nil
	case c.file.BinaryFragment != nil:
		content, err = c.applyBinary(old)
	default:
		content, notes, err = c.applyText(old)
	}
	if err == nil && c.To == "" && len(content) > 0 {
		err = c.conflict(0, fromTheSource, "the file has more in it than the patch deletes")
	}
	return content, notes, err
}

func (c *Change) conflict(hunk int, hint, format string, args ...any) error {
	line := c.Line
	if hunk > 0 {
		line = c.hunks[hunk-1]
	}
	return &Conflict{c.Name(), hunk, line, fmt.Sprintf(format, args...), hint}
}

// numbered is a hunk with its place in the patch.
type numbered struct {
	frag   *gitdiff.TextFragment
	number int
}

func (c *Change) applyText(old []byte) ([]byte, []string, error) {
	hunks := make([]numbered, len(c.file.TextFragments))
	for i, f := range c.file.TextFragments {
		hunks[i] = numbered{f, i + 1}
	}
	slices.SortStableFunc(hunks, func(a, b numbered) int { return cmp.Compare(a.frag.OldPosition, b.frag.OldPosition) })
	p := newPlacer(old)
	placed := *c.file
	placed.TextFragments = nil
	var notes []string
	for _, h := range hunks {
		at, err := p.place(h.frag)
		if err != nil {
			hint := fromTheSource
			if err.hint != "" {
				hint = err.hint
			}
			return nil, nil, c.conflict(h.number, hint, "%s", err.message)
		}
		if said := h.frag.OldPosition; h.frag.OldLines > 0 && int64(at+1) != said {
			notes = append(notes, fmt.Sprintf("hunk %d of %s was found at line %d and not at %d", h.number, clip(c.Name()), at+1, said))
		}
		moved := *h.frag
		if moved.OldPosition = int64(at + 1); c.From == "" {
			moved.OldPosition = 0
		}
		placed.TextFragments = append(placed.TextFragments, &moved)
	}
	var out bytes.Buffer
	if err := gitdiff.Apply(&out, bytes.NewReader(old), &placed); err != nil {
		number := 0
		if at, ok := errors.AsType[*gitdiff.ApplyError](err); ok && at.Fragment > 0 && at.Fragment <= len(hunks) {
			number = hunks[at.Fragment-1].number
		}
		return nil, nil, c.conflict(number, fromTheSource, "%s", strings.NewReplacer("src", "the file", "fragment", "the hunk", "conflict: ", "").Replace(err.Error()))
	}
	return out.Bytes(), notes, nil
}

// blobID is a whole name of a content in a repository with SHA-1.
var blobID = regexp.MustCompile(`^[0-9a-f]{40}$`)

// noBlob is how git writes that there is no content.
var noBlob = strings.Repeat("0", 40)

func (c *Change) applyBinary(old []byte) ([]byte, error) {
	want, made := c.file.OldOIDPrefix, c.file.NewOIDPrefix
	if got := blob(old); blobID.MatchString(want) && want != noBlob && got != want {
		return nil, c.conflict(0, fromTheSource, "the file is not the one that the patch was made of: its blob is %s and not %s", got, want)
	}
	var out bytes.Buffer
	if err := gitdiff.Apply(&out, bytes.NewReader(old), c.file, gitdiff.WithMaxBinaryFragmentBytes(MaxFile)); err != nil {
		return nil, c.conflict(0, fromTheSource, "the binary content cannot be had: %v", err)
	}
	if blobID.MatchString(made) && made != noBlob && blob(out.Bytes()) != made {
		return nil, c.conflict(0, "Make the patch anew: "+madeByGit+".", "the binary content is damaged")
	}
	return out.Bytes(), nil
}

// blob is git's name of a content.
func blob(content []byte) string {
	h := sha1.New() //nolint:gosec // see above
	fmt.Fprintf(h, "blob %d\x00", len(content))
	h.Write(content)
	return hex.EncodeToString(h.Sum(nil))
}
