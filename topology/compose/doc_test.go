package compose_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/runnerhub/runnerhub/topology"
)

const (
	reference = "../../docs/topologies.md"
	begins    = "<!-- fields begin: written by go test ./topology/compose -update -->\n"
	ends      = "<!-- fields end -->\n"
)

// The documentation's tables are those of the code.
func TestReference(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile(reference)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(doc), begins)
	_, after, closed := strings.Cut(rest, ends)
	if !found || !closed {
		t.Fatal("the marks of the tables are missing in " + reference)
	}
	want := before + begins + tables() + ends + after
	if want == string(doc) {
		return
	}
	if !*update {
		t.Fatal("the tables differ from the code; go test ./topology/compose -update writes them")
	}
	if err := os.WriteFile(reference, []byte(want), 0o600); err != nil {
		t.Fatal(err)
	}
}

func tables() string {
	says := map[topology.Support]string{
		topology.Supported: "yes", topology.ByOwner: "if the owner allows it", topology.FileOnly: "in Compose files",
		topology.NoEffect: "no effect", topology.Refused: "**no**",
	}
	var b strings.Builder
	for _, section := range []struct {
		title  string
		fields []topology.ComposeField
	}{
		{"The top of a file", topology.ComposeTop()},
		{"A service", topology.ComposeService()},
		{"`build`", topology.ComposeBuild()},
		{"`deploy`", topology.ComposeDeploy()},
	} {
		fmt.Fprintf(&b, "\n### %s\n\n| field | supported | note |\n|---|---|---|\n", section.title)
		for _, f := range section.fields {
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", f.Name, says[f.Support], strings.ReplaceAll(f.Note, "|", `\|`))
		}
	}
	b.WriteString("\n")
	return b.String()
}
