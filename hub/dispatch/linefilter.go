package dispatch

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/mcp/joblog"
	"github.com/runnerhub/runnerhub/mcp/logtext"
)

// maxContext is how many lines before and after a found one may be asked for.
const maxContext = 20

// lineFilter selects lines: those of a source, and of them those that are searched for.
type lineFilter struct {
	step, service, stream string
	grep                  *regexp.Regexp
	errors                bool
}

func newFilter(r ReadLogRequest) (lineFilter, error) {
	f := lineFilter{step: r.Step, service: r.Service, stream: r.Stream, errors: r.Errors}
	switch joblog.Stream(r.Stream) {
	case "", joblog.Stdout, joblog.Stderr, joblog.System:
	default:
		return f, hub.Errorf(hub.InvalidArgument, "stream %q is none of stdout, stderr, system", clip(r.Stream, 40))
	}
	if r.Context < 0 || r.Context > maxContext {
		return f, hub.Errorf(hub.InvalidArgument, "context %d is not between 0 and %d", r.Context, maxContext)
	}
	if r.Context > 0 && r.Grep == "" && !r.Errors {
		return f, hub.Errorf(hub.InvalidArgument, "context is lines around those that grep or errors find, and neither is given").
			WithHint("add grep or errors=true, or leave context out")
	}
	if r.Grep == "" {
		return f, nil
	}
	var err error
	f.grep, err = compileGrep(r.Grep)
	return f, err
}

func (f lineFilter) active() bool { return f != lineFilter{} }

// searches says whether lines are looked for by what is in them.
func (f lineFilter) searches() bool { return f.grep != nil || f.errors }

// covers says whether a record is of the source that is asked for.
func (f lineFilter) covers(r joblog.Record) bool {
	return (f.step == "" || r.Source.Step == f.step) &&
		(f.service == "" || r.Source.Service == f.service) &&
		(f.stream == "" || string(r.Stream) == f.stream)
}

// finds says whether a line's text is one that is searched for.
func (f lineFilter) finds(text []byte) bool {
	return (f.grep == nil || f.grep.Match(text)) && (!f.errors || logtext.Weigh(text) > logtext.Nothing)
}

func (f lineFilter) String() string {
	var out []string
	for _, x := range [][2]string{{"step", f.step}, {"service", f.service}, {"stream", f.stream}} {
		if x[1] != "" {
			out = append(out, fmt.Sprintf("%s %q", x[0], x[1]))
		}
	}
	if f.grep != nil {
		out = append(out, fmt.Sprintf("grep %q", f.grep))
	}
	if f.errors {
		out = append(out, "errors")
	}
	return strings.Join(out, ", ")
}
