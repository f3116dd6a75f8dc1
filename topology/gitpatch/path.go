package gitpatch

import (
	"path"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxPath    = 4096 // bytes
	maxElement = 255  // bytes of a part of a path: what file systems take
)

var windowsRoot = regexp.MustCompile(`^[A-Za-z]:`)

// PathProblem says what is wrong with the path of a file in a patch, "" for nothing.
func PathProblem(name string) string {
	switch {
	case len(name) > maxPath:
		return "is longer than 4096 bytes"
	case !utf8.ValidString(name):
		return "is not UTF-8"
	case strings.ContainsFunc(name, unicode.IsControl) || strings.Contains(name, `\`):
		return "has a control character or a backslash in it"
	case path.IsAbs(name) || windowsRoot.MatchString(name):
		return "is absolute"
	case path.Clean(name) != name || name == "." || name == ".." || strings.HasPrefix(name, "../"):
		return "leaves the working directory, or takes a detour"
	}
	for element := range strings.SplitSeq(name, "/") {
		if strings.EqualFold(element, ".git") {
			return "is one of git's own files"
		}
		if len(element) > maxElement {
			return "has a name in it that is longer than 255 bytes"
		}
	}
	return ""
}

// quote is text as an error repeats it.
func quote(s string) string { return strconv.Quote(clip(s)) }
