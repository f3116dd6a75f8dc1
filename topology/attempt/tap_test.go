package attempt

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/topologytest"
)

// TestTapTakesMarksOut feeds a stream with marks to taps in pieces of every size.
func TestTapTakesMarksOut(t *testing.T) {
	t.Parallel()
	const mark = "\x1erh-job\x1e"
	stream := mark + "b 1\none\nno end" + mark + "e 1 7\nleft behind\n" + mark + "b 2\n" +
		"\x1erh-job? " + mark + "is in ps" + mark + "e 3 0\n" + mark + mark + "e 2 0\n" + "\x1erh"
	want := map[string]string{"a": "one\nno endleft behind\n", "b": "\x1erh-job? " + mark + "is in ps" + mark + "e 3 0\n" + mark + "\x1erh"}
	for size := 1; size <= len(stream); size++ {
		synctest.Test(t, func(t *testing.T) {
			obs := &topologytest.Observer{}
			p := newPump(obs, "", nil, nil)
			var ends []string
			tap := newTap(p, topology.Offsets{})
			tap.mark, tap.steps = []byte(mark), []topology.Step{{Name: "a"}, {Name: "b"}}
			tap.ended = func(s topology.Stream, n, code int) { ends = append(ends, fmt.Sprintf("%s %d %d", s, n, code)) }
			for at := 0; at < len(stream); at += size {
				tap.write(topology.Stdout, []byte(stream[at:min(at+size, len(stream))]))
			}
			tap.flush()
			p.close(false)
			got := map[string]string{}
			for _, r := range obs.Records() {
				if r.Offset > 0 && !strings.HasSuffix(stream[:r.Offset], string(r.Data)) {
					t.Fatalf("pieces of %d: %q does not end at %d", size, r.Data, r.Offset)
				}
				if between := strings.HasPrefix(string(r.Data), "left") || string(r.Data) == "\x1erh"; (r.Offset == 0) != between {
					t.Errorf("pieces of %d: offset %d of %q", size, r.Offset, r.Data)
				}
				got[r.Step] += string(r.Data)
			}
			if !maps.Equal(got, want) || strings.Join(ends, ", ") != "stdout 1 7, stdout 2 0" {
				t.Errorf("pieces of %d: %q, want %q; ends %v", size, got, want, ends)
			}
		})
	}
}
