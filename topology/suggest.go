package topology

import (
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agnivade/levenshtein"
)

// nearest returns the word that was probably meant, or "". Half of its
// characters may differ, at most three. Long text is never compared, so that an
// error costs little however the spec looks.
func nearest(word string, known []string) string {
	if len(word) > maxQuoted || word == "" {
		return ""
	}
	length := utf8.RuneCountInString(word)
	best, score := "", 2*min(3, max(1, length/2))+1
	for _, k := range known {
		n := levenshtein.ComputeDistance(word, k)
		s := 2 * n
		if k != "" && k[0] != word[0] {
			s++ // the first letter is seldom wrong
		}
		if s < score && n < len(k) {
			best, score = k, s
		}
	}
	return best
}

// Nearest returns the known word that was probably meant, or "".
func Nearest(word string, known []string) string { return nearest(word, known) }

// didYouMean is the hint that offers the nearest word, or "".
func didYouMean(word string, known []string) string {
	if best := nearest(word, known); best != "" {
		return "did you mean " + quote(best) + "?"
	}
	return ""
}

// strangers is what a mapping knows about fields that it does not have.
type strangers struct {
	refused map[string]string // a field of Compose or of a later version → what to do instead
	meant   map[string]string // another word for something that exists → where it is
}

// explain says why a field is refused. Where it is a slip, near is what was meant.
func (s strangers) explain(key string, known fields) (code, message, hint, near string) {
	if hint, ok := s.meant[key]; ok {
		return ProblemUnknownField, "unknown field", hint, ""
	}
	if hint, ok := s.refused[key]; ok {
		return ProblemUnsupported, "not supported", hint, ""
	}
	if strings.HasPrefix(key, "x-") {
		return ProblemUnsupported, "extension fields are not supported", "put an anchor where its value is first used", ""
	}
	near = nearest(key, known.names())
	return ProblemUnknownField, "unknown field", didYouMean(key, known.names()), near
}

// names lists the fields in a stable order, so that suggestions are stable.
func (f fields) names() []string { return slices.Sorted(maps.Keys(f)) }
