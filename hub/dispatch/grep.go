package dispatch

import (
	"context"
	"regexp"
	"regexp/syntax"
	"time"

	"github.com/runnerhub/runnerhub/hub"
)

// Matching takes time in proportion to the text and to the size of the compiled
// pattern, and a short pattern can compile to a huge one: (x{1,30}){1,30}. So both are bounded, and the time.
const (
	maxGrep        = 1 << 10         // bytes of a pattern
	maxGrepProgram = 1000            // instructions of a compiled pattern
	grepTime       = 2 * time.Second // of one call; the caller goes on with the cursor
)

// compileGrep compiles a pattern that somebody sent.
func compileGrep(pattern string) (*regexp.Regexp, error) {
	if len(pattern) > maxGrep {
		return nil, hub.Errorf(hub.InvalidArgument, "the pattern has %d bytes and may have %d", len(pattern), maxGrep).
			WithHint("search for a shorter one")
	}
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, hub.Errorf(hub.InvalidArgument, "the pattern is no regular expression: %v", err).
			WithHint("RE2 syntax: no look-around and no back-references; escape special characters with a backslash")
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil || len(program.Inst) > maxGrepProgram {
		return nil, hub.Errorf(hub.InvalidArgument, "the pattern is too complex to search a log with").
			WithHint("use fewer or smaller counted repetitions, such as x{1,30}")
	}
	return regexp.Compile(pattern)
}

// searchTime returns what says that a search has gone on for long enough: over grepTime, or its caller is gone.
func searchTime(ctx context.Context) func() bool {
	end := time.Now().Add(grepTime)
	return func() bool { return ctx.Err() != nil || time.Now().After(end) }
}
