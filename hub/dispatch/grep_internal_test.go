package dispatch

import (
	"strings"
	"testing"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/mcp/joblog"
)

func TestPatternsThatWouldKeepTheHubBusyAreRefused(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]hub.Code{
		`error|warn(ing)?: .{0,80}timeout`: "",
		`^[0-9a-f]{40}$`:                   "",
		`(x?){500}y`:                       hub.InvalidArgument,
		`(((x{1,30}){1,30})y)`:             hub.InvalidArgument,
		strings.Repeat("a", maxGrep+1):     hub.InvalidArgument,
		`(`:                                hub.InvalidArgument,
	} {
		_, err := compileGrep(pattern)
		if got := hub.CodeOf(err); got != want {
			t.Errorf("%.40q: %v, want code %q", pattern, err, want)
		}
		if e, ok := err.(*hub.Error); ok && e.Hint == "" { //nolint:errorlint // the hint of the very error that the caller sees
			t.Errorf("%.40q: %v has no hint", pattern, err)
		}
	}
}

// A search that is over its time ends where the caller can go on, and gets on by a line at least.
func TestASearchOverItsTimeGetsOn(t *testing.T) {
	t.Parallel()
	grep, err := compileGrep("needle")
	if err != nil {
		t.Fatal(err)
	}
	line := item{Entry: joblog.Entry{Record: joblog.Record{Stream: joblog.Stdout, Payload: []byte("hay")}}}
	bag := &lineBag{filter: lineFilter{grep: grep}, room: 10, text: maxText, long: longLine, until: func() bool { return true }}
	if !bag.add(line) || bag.late {
		t.Error("the first line was not looked at")
	}
	if bag.add(line) || !bag.late {
		t.Error("the search went on over its time")
	}
}
