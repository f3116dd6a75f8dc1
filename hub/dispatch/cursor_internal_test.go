package dispatch

import (
	"encoding/base64"
	"testing"

	"github.com/runnerhub/runnerhub/hub"
)

// A cursor is read as it was made, and anything else is refused as one.
func FuzzCursors(f *testing.F) {
	for _, c := range []cursor{{}, {attempt: 1, offset: 5, state: "running1-0badcafe"}, {back: true, attempt: 2, offset: 1 << 62, state: "a.b"}} {
		f.Add(c.String())
	}
	for _, raw := range []string{"f.-1.0.", "f.1.9223372036854775808.", "x.1.1.", "b.+1.01.", hub.JobIDPrefix + "1", hub.JobIDPrefix + "\x00"} {
		f.Add(base64.RawURLEncoding.EncodeToString([]byte(raw)))
	}
	f.Add("not base64!")
	f.Fuzz(func(t *testing.T, s string) {
		c, err := parseCursor(s)
		switch {
		case err != nil:
			refusedAsArgument(t, s, err)
		case c.attempt < 0 || c.offset < 0:
			t.Fatalf("%q is read as %+v", s, c)
		default:
			if again, err := parseCursor(c.String()); err != nil || again != c {
				t.Fatalf("%q is read as %+v, and what that writes as %+v, error %v", s, c, again, err)
			}
		}
		filter, err := new(Service).filter(t.Context(), caller{}, ListRequest{Cursor: s})
		switch {
		case err != nil:
			refusedAsArgument(t, s, err)
		case s != "" && filter.BeforeID == "":
			t.Fatalf("%q is the first page", s)
		}
	})
}

func refusedAsArgument(t *testing.T, s string, err error) {
	t.Helper()
	if hub.CodeOf(err) != hub.InvalidArgument {
		t.Fatalf("%q: %v", s, err)
	}
}
