package policy_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/runnerhub/runnerhub/topology/policy"
)

// The manual has every rule with its words.
func TestTheManualHasEveryRule(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/operate.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range policy.Fields {
		if row := fmt.Sprintf("\n| `%s` | %s | %s |\n", f.Name, f.About, f.Default); !strings.Contains(string(text), row) {
			t.Errorf("docs/operate.md lacks the row%s", row)
		}
	}
}
