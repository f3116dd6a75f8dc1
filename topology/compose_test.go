package topology_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/runnerhub/runnerhub/topology"
)

// Each field of Compose's is known in a service, or refused by its name with a hint,
// as the table says that is also the documentation's.
func TestComposeFieldsAreKnownOrRefused(t *testing.T) {
	t.Parallel()
	places := map[string]struct {
		table      []topology.ComposeField
		text, path string
	}{
		"service": {topology.ComposeService(), "image: a\nservices:\n  b:\n    %s: {}\n", "services.b."},
		"build":   {topology.ComposeBuild(), "image: a\nservices:\n  b:\n    build:\n      %s: {}\n", "services.b.build."},
		"deploy":  {topology.ComposeDeploy(), "image: a\nservices:\n  b:\n    image: c\n    deploy:\n      %s: {}\n", "services.b.deploy."},
		"top":     {topology.ComposeTop(), "image: a\n%s: {}\n", ""},
	}
	for place, p := range places {
		for _, f := range p.table {
			if f.Name == "name" { // of the job, which is something else
				continue
			}
			codes := codesAt(t, fmt.Sprintf(p.text, f.Name), p.path+f.Name)
			refused := slices.Contains(codes, topology.ProblemUnsupported)
			known := f.Support == topology.Supported || f.Support == topology.ByOwner
			if refused == known || slices.Contains(codes, topology.ProblemUnknownField) {
				t.Errorf("%s.%s: %v", place, f.Name, codes)
			}
		}
		if !slices.IsSortedFunc(p.table, func(a, b topology.ComposeField) int { return strings.Compare(a.Name, b.Name) }) {
			t.Errorf("the table %s is not sorted", place)
		}
	}
}

// What the design has and this version has not is refused by name as well, and
// so is the top of a Compose file.
func TestTopLevelFieldsRefusedByName(t *testing.T) {
	t.Parallel()
	for _, field := range strings.Fields(`version include models networks x-common
		build ports privileged deploy cap_add restart container_name`) {
		codes := codesAt(t, "image: a\n"+field+": {}\n", field)
		if !slices.Equal(codes, []string{topology.ProblemUnsupported}) {
			t.Errorf("%s: %v", field, codes)
		}
	}
}

// codesAt parses a text and returns the codes of the problems of one field. A
// refusal must say what to do instead.
func codesAt(t *testing.T, text, field string) (codes []string) {
	t.Helper()
	_, err := topology.Parse([]byte(text))
	var specErr *topology.SpecError
	if err != nil && !errors.As(err, &specErr) {
		t.Fatal(err)
	}
	if specErr == nil {
		return nil
	}
	for _, p := range specErr.Problems {
		if p.Field != field {
			continue
		}
		codes = append(codes, p.Code)
		if p.Code == topology.ProblemUnsupported && p.Hint == "" {
			t.Errorf("%s is refused without a hint", field)
		}
	}
	return codes
}
