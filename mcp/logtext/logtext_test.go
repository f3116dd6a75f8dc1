package logtext

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// recorded is what a tool printed, cleaned, a line each.
func recorded(t *testing.T, name string) [][]byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "recorded", name+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	var out [][]byte
	for line := range bytes.Lines(raw) {
		out = append(out, Clean(bytes.TrimSuffix(line, []byte("\n"))))
	}
	return out
}

func TestTellingOfRecordedOutputs(t *testing.T) {
	t.Parallel()
	files, err := os.ReadDir(filepath.Join("testdata", "recorded"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		name := strings.TrimSuffix(f.Name(), ".txt")
		lines := recorded(t, name)
		var got []string
		for _, i := range Telling(lines, 3) {
			got = append(got, string(bytes.TrimSpace(lines[i])))
		}
		if diff := cmp.Diff(telling[name], got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if len(files) != len(telling) {
		t.Errorf("%d recordings, and what %d of them tell", len(files), len(telling))
	}
}

func FuzzClean(f *testing.F) {
	for _, s := range []string{"plain", "\x1b[31mred\x1b[0m", "10%\r20%\r", "a\bb", "\x1b]0;title\x07x", "\xff\xfe", "\u202etxt.exe"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		valid := utf8.Valid(line)
		once := Clean(bytes.Clone(line))
		if bytes.ContainsFunc(once, control) {
			t.Errorf("%q: %q has control characters", line, once)
		}
		if valid && !utf8.Valid(once) {
			t.Errorf("%q became %q", line, once)
		}
		if twice := Clean(bytes.Clone(once)); !bytes.Equal(once, twice) {
			t.Errorf("%q, cleaned again %q", once, twice)
		}
		Weigh(once)
	})
}
