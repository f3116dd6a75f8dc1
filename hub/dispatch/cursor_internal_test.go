package dispatch

import (
	"encoding/base64"
	"testing"

	"github.com/runnerhub/runnerhub/hub"
)

// A cursor is read as it was made, and anything else is refused as one.
func FuzzCursors(f *testing.F) {
	for _, c := range []cursor{{}, {attempt: 1, offset: 5, state: "running1-0badcafe"}, {job: tagOf("job_1"), back: true, attempt: 2, offset: 1 << 62, state: "a.b"}, {job: tagOf("job_2")}} {
		f.Add(c.String())
	}
	for _, raw := range []string{"f.-1.0.", "f.1.9223372036854775808.", "x.1.1.", "b.+1.01.", hub.JobIDPrefix + "1", hub.JobIDPrefix + "\x00"} {
		f.Add(base64.RawURLEncoding.EncodeToString([]byte(raw)))
	}
	f.Add("not base64!")
	f.Fuzz(func(t *testing.T, s string) {
		c, err := parseCursor(s, "job_1")
		switch {
		case err != nil:
			refusedAsArgument(t, s, err)
		case c.attempt < 0 || c.offset < 0:
			t.Fatalf("%q is read as %+v", s, c)
		default:
			if again, err := parseCursor(c.String(), "job_1"); err != nil || again != c {
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

func TestCursorIsOfItsJob(t *testing.T) {
	t.Parallel()
	c := cursor{job: tagOf("job_1"), attempt: 1, offset: 7, state: "running1-0badcafe"}
	if got, err := parseCursor(c.String(), "job_1"); err != nil || got != c {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := parseCursor(c.String(), "job_2"); hub.CodeOf(err) != hub.InvalidArgument {
		t.Errorf("another job's cursor: %v", err)
	}
	earlier := base64.RawURLEncoding.EncodeToString([]byte("f.1.7.running1-0badcafe")) // as hubs made them before
	if got, err := parseCursor(earlier, "job_1"); err != nil || got != c {
		t.Errorf("an earlier release's: %+v, %v", got, err)
	}
}

func refusedAsArgument(t *testing.T, s string, err error) {
	t.Helper()
	if hub.CodeOf(err) != hub.InvalidArgument {
		t.Fatalf("%q: %v", s, err)
	}
}
