package topology

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// The codes of a Problem: what sort of mistake it is, for programs.
const (
	ProblemSyntax         = "syntax"          // the text is neither YAML nor JSON
	ProblemEncoding       = "encoding"        // the text is not UTF-8, or holds control characters
	ProblemTooLarge       = "too_large"       // over a limit on size, count or nesting
	ProblemEmpty          = "empty"           // there is no document
	ProblemUnknownField   = "unknown_field"   // no such field, here or in Compose
	ProblemUnsupported    = "unsupported"     // a field that exists elsewhere and is refused by name
	ProblemMissing        = "missing"         // a required field is absent
	ProblemNull           = "null"            // a field without a value
	ProblemType           = "type"            // text where a list belongs, and the like
	ProblemInvalid        = "invalid"         // the right type and an impossible value
	ProblemOutOfRange     = "out_of_range"    // a number or duration over or under its limit
	ProblemDuplicate      = "duplicate"       // the same key or name twice
	ProblemConflict       = "conflict"        // two fields that exclude each other
	ProblemUnknownService = "unknown_service" // depends_on names no service of the spec
	ProblemCycle          = "cycle"           // services wait for each other
)

// MaxProblems is how many problems a SpecError holds; the rest is counted.
const MaxProblems = 20

// Problem is one mistake in a spec.
type Problem struct {
	// Field is the path of the field: services.db.image, steps[0].run,
	// env["a b"]. It is empty where the text as a whole is at fault.
	Field string `json:"field,omitempty"`
	// Line and Column count from 1, columns in characters. Both are 0 where no
	// place is to blame.
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
	Code   string `json:"code"`
	// Message says what is wrong; Hint, where there is one, what to do instead.
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// String is the problem as one line for a person.
func (p Problem) String() string {
	var b strings.Builder
	if p.Line > 0 {
		fmt.Fprintf(&b, "line %d, column %d: ", p.Line, p.Column)
	}
	if p.Field != "" {
		b.WriteString(p.Field + ": ")
	}
	b.WriteString(p.Message)
	if p.Hint != "" {
		b.WriteString("; " + p.Hint)
	}
	return b.String()
}

// SpecError is what Parse returns for a spec that it refuses: everything that
// is wrong with it, in the order of the text. It is plain data, so that it can
// travel in the details of an error.
type SpecError struct {
	Problems []Problem `json:"problems"` // at least one, at most MaxProblems
	More     int       `json:"more,omitempty"`
}

// Error lists one problem a line.
func (e *SpecError) Error() string {
	lines := make([]string, 0, len(e.Problems)+1)
	for _, p := range e.Problems {
		lines = append(lines, p.String())
	}
	if e.More > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", e.More))
	}
	return strings.Join(lines, "\n")
}

// newSpecError orders problems by position, keeps the order of discovery among
// those at one place, and cuts the list at its limit.
func newSpecError(problems ...Problem) *SpecError {
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	e := &SpecError{Problems: problems}
	if over := len(problems) - MaxProblems; over > 0 {
		e.Problems, e.More = problems[:MaxProblems:MaxProblems], over
	}
	return e
}
