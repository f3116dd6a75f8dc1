package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTableStandsBetweenItsLines(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "doc.md")
	if err := os.WriteFile(path, []byte("a\n"+Hubs.Begin+"\nold\n"+Hubs.End+"\nb\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var r Report
	r.Add(Row{Place: 2, What: "second", Measured: "0.5", Goal: "at least 1"})
	r.Add(Row{Place: 1, What: "stale", Measured: "9", Goal: "at least 1", Met: true})
	r.Add(Row{Place: 1, What: "first", Measured: "2", Goal: "at least 1", Met: true})
	for range 2 { // the second time over its own
		if err := r.Write(path, Hubs, "a machine"); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := "a\n" + Hubs.Begin + "\n\na machine\n\n| | measured on the same machine in one run | reached | goal | |\n|---|---|---|---|---|\n" +
		"| 1 | first | 2 | at least 1 | met |\n| 2 | second | 0.5 | at least 1 | **missed** |\n\n" + Hubs.End + "\nb\n"
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	var seen strings.Builder
	r.Print(&seen)
	if !strings.HasPrefix(seen.String(), "met    first\n       2 (goal: at least 1)\nMISSED second\n") {
		t.Errorf("printed\n%s", seen.String())
	}
}

func TestTableNeedsItsLines(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "doc.md")
	if err := os.WriteFile(path, []byte("no table here\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var r Report
	if err := r.Write(path, Hubs, "a machine"); err == nil {
		t.Error("a document without a place for the table was written")
	}
}
