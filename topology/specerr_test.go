package topology_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runnerhub/runnerhub/topology"
)

// All mistakes are found at once, in the order of the text.
func TestSpecErrorCollects(t *testing.T) {
	t.Parallel()
	_, err := topology.Parse([]byte("imagee: a\ntimeout: 30\nservices:\n  db:\n    image: b\n    restart: always\n  web:\n    image: c\n    depends_on: [dbb]\n"))
	want := `line 1, column 1: imagee: unknown field; did you mean "image"?
line 2, column 10: timeout: a duration needs a unit; write "30s" for seconds
line 6, column 5: services.db.restart: not supported; services live as long as the job and are never restarted
line 9, column 18: services.web.depends_on[0]: there is no service "dbb"; did you mean "db"?`
	if err == nil || err.Error() != want {
		t.Errorf("got:\n%v\nwant:\n%s", err, want)
	}
}

// The list is cut at its limit, and says so.
func TestSpecErrorCap(t *testing.T) {
	t.Parallel()
	_, err := topology.Parse([]byte("image: a\nenv:\n" + strings.Repeat("  1: a\n", 26)))
	var specErr *topology.SpecError
	if !errors.As(err, &specErr) {
		t.Fatal(err)
	}
	if len(specErr.Problems) != topology.MaxProblems || specErr.More == 0 {
		t.Errorf("%d problems and %d more", len(specErr.Problems), specErr.More)
	}
	if !strings.HasSuffix(err.Error(), "\nand 6 more") {
		t.Errorf("the end is missing: %v", err)
	}
}

// A SpecError is plain data with the names that clients rely on.
func TestSpecErrorJSON(t *testing.T) {
	t.Parallel()
	_, err := topology.Parse([]byte("image: a\nneme: b"))
	data, jsonErr := json.Marshal(err)
	if jsonErr != nil {
		t.Fatal(jsonErr)
	}
	want := `{"problems":[{"field":"neme","line":2,"column":1,"code":"unknown_field","message":"unknown field","hint":"did you mean \"name\"?"}]}`
	if string(data) != want {
		t.Errorf("got %s", data)
	}
	var back topology.SpecError
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(err, error(&back)); diff != "" {
		t.Error(diff)
	}
}
