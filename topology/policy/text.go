package policy

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Text writes a policy as a file that Parse reads back, every rule with what it is
// about; those that are not set are comments that show their default.
func (p *Policy) Text() string {
	var b strings.Builder
	group := ""
	for i, f := range Fields {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "# %s. Default: %s.\n", f.About, f.Default)
		name, indent := f.Name, ""
		if of, part, grouped := strings.Cut(f.Name, "."); grouped {
			name, indent = part, "  "
			if of != group && p.Ceiling != (Ceiling{}) {
				b.WriteString(of + ":\n")
			} else if of != group {
				b.WriteString("# " + of + ":\n")
			}
			group = of
		}
		values := f.show(p)
		switch {
		case len(values) == 0 && f.kind == listField:
			fmt.Fprintf(&b, "# %s%s: [%s]\n", indent, name, strings.ReplaceAll(f.Example, ",", ", "))
		case len(values) == 0:
			fmt.Fprintf(&b, "# %s%s: %s\n", indent, name, f.Example)
		case f.kind == listField:
			fmt.Fprintf(&b, "%s%s:\n", indent, name)
			for _, v := range values {
				fmt.Fprintf(&b, "%s  - %s\n", indent, scalar(v))
			}
		default:
			fmt.Fprintf(&b, "%s%s: %s\n", indent, name, values[0])
		}
	}
	return b.String()
}

// scalar writes text as YAML, in quotes where it needs them.
func scalar(s string) string {
	out, err := yaml.Marshal(s)
	if err != nil { // of text there is none
		panic(err)
	}
	return strings.TrimSuffix(string(out), "\n")
}
