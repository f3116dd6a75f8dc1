package compose_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/compose"
)

// What would keep compose-go busy for minutes, or fill the memory, is refused before it gets it.
func TestFilesThatCostTooMuch(t *testing.T) {
	t.Parallel()
	const web = "services: {web: {image: a}}\n"
	tests := map[string]struct{ text, words string }{
		"nesting":              {web + "x-a: " + strings.Repeat("[", 9000) + strings.Repeat("]", 9000), "nested more than 32 deep"},
		"nesting by aliases":   {web + "x-a: &a " + strings.Repeat("[", 20) + strings.Repeat("]", 20) + "\nx-b: " + strings.Repeat("[", 20) + "*a" + strings.Repeat("]", 20), "nested more than 32 deep"},
		"values":               {web + "x-a: [" + strings.Repeat("1,", 10_000) + "]", "more than 10000 keys and values"},
		"values by aliases":    {web + "x-a: &a [" + strings.Repeat("1,", 200) + "]\nx-b: [" + strings.Repeat("*a,", 200) + "]", "more than 10000 keys and values"},
		"values of two files":  {"include: [more.yaml]\n" + web + "x-a: [" + strings.Repeat("1,", 6000) + "]", "more than 10000 keys and values"},
		"a file many times":    {"services: {" + extending(3) + "}", "more than 10000 keys and values"},
		"nested variables":     {"services: {web: {image: a, command: '" + strings.Repeat("${A:-", 100_000) + "x" + strings.Repeat("}", 100_000) + "'}}\n", "too many variables"},
		"variables in a row":   {"services: {web: {image: a, command: '" + strings.Repeat("${A:-x}", 100_000) + "'}}\n", "too many variables"},
		"large values":         {"services: {web: {image: a, command: ['" + strings.Repeat("', '$LARGE", 2000) + "']}}\n", "16 MiB of text"},
		"text by aliases":      {web + "x-a: &a " + strings.Repeat("x", 100_000) + "\nx-b: [" + strings.Repeat("*a,", 200) + "]", "16 MiB of text"},
		"an alias of its own":  {web + "x-a: &a [*a]", "inside its own anchor"},
		"a service too many":   {"services: {" + strings.Repeat("s: {image: a},", 5000) + "}", "more than 10000 keys and values"},
		"deeper than the YAML": {web + "x-a: " + strings.Repeat("[", 20_000), "compose.yaml"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, dir, "compose.yaml", tt.text)
			write(t, dir, "more.yaml", "services: {s: {image: a}}\nx-a: ["+strings.Repeat("1,", 4000)+"]\n")
			spec := &topology.Spec{Image: "job", Env: map[string]string{"LARGE": strings.Repeat("x", 10_000)}, Compose: topology.Compose{Files: []string{"compose.yaml"}}}
			_, _, failure := compose.Load(t.Context(), dir, spec)
			if failure == nil || failure.Class != topology.ClassSpecInvalid || !strings.Contains(failure.Message, tt.words) {
				t.Fatalf("%.300v", failure)
			}
		})
	}
}

// extending are services that each take one from a file with 4000 values.
func extending(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "s%d: {extends: {file: more.yaml, service: s}},", i)
	}
	return b.String()
}

// A job that is over does not wait for its Compose files.
func TestLoadEndsWithItsContext(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var services strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&services, "  s%d: {image: a}\n", i)
	}
	write(t, dir, "compose.yaml", "services:\n"+services.String())
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("nobody wants it"))
	spec := &topology.Spec{Image: "job", Compose: topology.Compose{Files: []string{"compose.yaml"}}}
	_, _, failure := compose.Load(ctx, dir, spec)
	if failure == nil || failure.Class != topology.ClassCanceled || !strings.Contains(failure.Message, "nobody wants it") {
		t.Errorf("%+v", failure)
	}
}
