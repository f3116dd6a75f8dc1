package topology_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runnerhub/runnerhub/topology"
)

// FuzzParse: no input crashes, every error is a bounded SpecError, and what is
// accepted survives the way through its canonical form.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/specs/*/*")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	for _, text := range nastyTexts() {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		spec, err := topology.Parse(data)
		if err != nil {
			checkSpecError(t, err)
			return
		}
		checkRoundTrip(t, spec)
	})
}

func checkSpecError(t *testing.T, err error) {
	t.Helper()
	var specErr *topology.SpecError
	if !errors.As(err, &specErr) {
		t.Fatalf("the error is a %T: %v", err, err)
	}
	if n := len(specErr.Problems); n == 0 || n > topology.MaxProblems {
		t.Fatalf("%d problems", n)
	}
	// The longest is a circle through all services.
	if text := err.Error(); len(text) > 4096*(len(specErr.Problems)+1) {
		t.Fatalf("the error is %d bytes long", len(text))
	}
	line, column := 0, 0
	for _, p := range specErr.Problems {
		if p.Code == "" || p.Message == "" {
			t.Fatalf("incomplete: %+v", p)
		}
		if p.Line < line || p.Line == line && p.Column < column {
			t.Fatalf("out of order:\n%v", err)
		}
		line, column = p.Line, p.Column
	}
}

// checkRoundTrip holds Canonical to its promise.
func checkRoundTrip(t interface {
	Helper()
	Fatalf(string, ...any)
}, spec *topology.Spec) {
	t.Helper()
	canonical, err := spec.Canonical()
	if err != nil {
		t.Fatalf("canonical: %v", err)
	}
	again, err := topology.Parse(canonical)
	if err != nil {
		t.Fatalf("the canonical form is refused: %v\n%s", err, canonical)
	}
	if diff := cmp.Diff(spec, again); diff != "" {
		t.Fatalf("the canonical form reads back to another value (-first +second):\n%s", diff)
	}
	stable, err := again.Canonical()
	if err != nil || string(stable) != string(canonical) {
		t.Fatalf("the canonical form is not stable: %v\n%s\n%s", err, canonical, stable)
	}
}
