package mcpstdio_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/runnerctl/mcpstdio"
)

// Whatever a client writes, what it gets are messages, one a line, and at most one for each of its lines.
func FuzzServe(f *testing.F) {
	for _, s := range []string{"", "{}", "[]\n[", `{"id":1,"method":"ping"}`, `{"id":"\ud800","method":"a"}`, "{\"id\":1e999,\"METHOD\":\"x\"}", "\x00\n\r\n\"", `{"method":"notifications/cancelled","params":3}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var out bytes.Buffer
		err := mcpstdio.Serve(t.Context(), mcpstdio.Config{
			In: bytes.NewReader(in), Out: &out, Note: func(string, ...any) {},
			Open: func() (string, string, error) { return "", "", &mcp.Error{Code: mcp.CodeUnauthenticated, Message: "m"} },
		})
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.SplitAfter(out.String(), "\n")
		if last := lines[len(lines)-1]; last != "" || len(lines)-1 > bytes.Count(in, []byte("\n"))+1 {
			t.Errorf("%q is answered with %q", in, &out)
		}
		for _, l := range lines[:len(lines)-1] {
			var m struct {
				JSONRPC string
				ID      json.RawMessage
				Error   struct{ Code int }
			}
			if err := json.Unmarshal([]byte(l), &m); err != nil || m.JSONRPC != "2.0" || m.Error.Code == 0 {
				t.Errorf("%q is answered with %q: %v", in, l, err)
			}
		}
	})
}
