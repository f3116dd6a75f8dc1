package topology_test

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/runnerhub/runnerhub/topology"
)

// billionLaughs doubles (or more) at each of its levels by aliases.
func billionLaughs(levels, width int) string {
	var b strings.Builder
	b.WriteString("image: a\nenv:\n  a0: &a0 [" + strings.Repeat("ha,", width) + "]\n")
	for i := 1; i < levels; i++ {
		fmt.Fprintf(&b, "  a%d: &a%d [%s]\n", i, i, strings.Repeat(fmt.Sprintf("*a%d,", i-1), width))
	}
	return b.String()
}

// mergeBomb repeats a large mapping by << in very many places.
func mergeBomb(n int) string {
	var b strings.Builder
	b.WriteString("image: a\nenv: &e\n")
	for i := range 4000 {
		fmt.Fprintf(&b, "  V%d: x\n", i)
	}
	b.WriteString("steps:\n")
	b.WriteString(strings.Repeat("- <<: *e\n", n))
	return b.String()
}

// textBomb repeats one long text by aliases.
func textBomb() string {
	return "image: a\nenv:\n  A: &a " + strings.Repeat("x", 200_000) + "\n" +
		"  B: *a\n  C: *a\n  D: *a\n  E: *a\n  F: *a\n  G: *a\n"
}

// nastyTexts are the seeds of the fuzzer that no author would write.
func nastyTexts() []string {
	return []string{
		billionLaughs(9, 9), "image: &a [*a]", "a: &a {<<: *a}", "a: *b",
		strings.Repeat("[", 100), strings.Repeat("- ", 100), strings.Repeat("{a: ", 100),
		"", "\n", "#", "---", "---\n---", "null", "5", "[]", "{}", "\ufeffimage: a", "\xff\xfei",
		"image: \"\\0\"", "{\"image\":\"a\\u0000\"}", "image: \"a\x00\"", "image: a\nenv: {A: \"\\ud83d\\ude00\"}",
		"{\"image\":\"a\",\"env\":{\"A\":\"\\ud83d\"}}", "%YAML 1.2\n---\nimage: a", "image: a\n\tname: b",
		"image: a\ncommand: \"sh -c 'a b' \\\"c\\\" $(d) `e`\"", "image: a\ncommand: a | b", "? [a]\n: b", ": a",
		"image: a\nresources: {cpus: .inf, memory: 99999999999999999999, pids: 1e3}",
		"image: a\nresources: {cpus: 1e-2, memory: 1.5g}", "image: a\ntimeout: 2562047h47m16.854775807s",
		"image: !!binary aGk=", "image: !foo a", "!!map {image: a}", "image: a\nenv: {<<: {A: b}, A: c}",
		"image: a\r\nname: b\r", "image: a\nname: \"x\u2028y\"", "{\"image\":\"a\",}", "{\"image\":\"a\"}{",
	}
}

// TestLimits is not parallel: it measures what is allocated.
func TestLimits(t *testing.T) {
	manyItems := strings.TrimSuffix(strings.Repeat(`"x",`, topology.MaxSpecNodes), ",")
	tests := map[string]struct {
		text, want string
		kib        uint64 // allocated by Parse, at most; the text is there before
	}{
		"ten megabytes": {
			text: "image: a\nname: " + strings.Repeat("x", 10<<20),
			want: "the spec is larger than 1 MiB; keep files and data out of it",
			kib:  8,
		},
		"one byte too many": {
			text: "image: a\nname: " + strings.Repeat("x", topology.MaxSpecBytes-14),
			want: "the spec is larger than 1 MiB; keep files and data out of it",
			kib:  8,
		},
		"billion laughs": {
			text: billionLaughs(10, 10),
			want: "line 6, column 7: the spec has more than 10000 values; aliases count each time they are used",
			kib:  256,
		},
		"wide aliases": {
			text: billionLaughs(2, 5_000),
			want: "line 4, column 7: the spec has more than 10000 values; aliases count each time they are used",
			kib:  16384,
		},
		"merged mappings": {
			text: mergeBomb(5_000),
			want: "line 4005, column 3: the spec has more than 10000 values; aliases count each time they are used",
			kib:  16384,
		},
		"repeated text": {
			text: textBomb(),
			want: "line 3, column 3: the spec is larger than 1 MiB; its aliases repeat too much text",
			kib:  4096,
		},
		"many items in JSON": {
			text: `{"image":"a","command":[` + manyItems + `]}`,
			want: "line 1, column 40005: the spec has more than 10000 values; aliases count each time they are used",
			kib:  16384,
		},
		"many items in YAML": {
			text: "image: a\ncommand: [" + strings.Repeat("x, ", topology.MaxSpecNodes) + "]",
			want: "line 2, column 10: the spec has more than 10000 values; aliases count each time they are used",
			kib:  16384,
		},
		"nothing but separators": {
			text: "[" + strings.Repeat("a,", 500_000) + "]",
			want: "the YAML has too many parts; keep data out of the spec, or send it as JSON",
			kib:  2048,
		},
		"deep lists": {
			text: "image: a\ncommand: " + strings.Repeat("[", 100_000),
			want: "the YAML has too many parts; keep data out of the spec, or send it as JSON",
			kib:  512,
		},
		"deep flow": {
			text: "image: a\ncommand: " + strings.Repeat("[", 50_000),
			want: "line 2, column 42: lists and mappings nest more than 32 deep",
			kib:  1024,
		},
		"deep block": {
			text: "image: a\ncommand:\n" + strings.Repeat("- ", 50_000),
			want: "line 3, column 65: lists and mappings nest more than 32 deep",
			kib:  1024,
		},
		"deep JSON": {
			text: `{"command":` + strings.Repeat("[", 9_000) + strings.Repeat("]", 9_000) + "}",
			want: "line 1, column 43: lists and mappings nest more than 32 deep",
			kib:  1024,
		},
		"a command that splits into more than fits": {
			text: "image: a\ncommand: " + strings.Repeat("x ", topology.MaxSpecNodes),
			want: "the spec has more than 10000 values once it is written out in full; aliases count each time they are used",
			kib:  16384,
		},
		"text that grows when it is written out": {
			text: "image: a\nenv: {A: \"" + strings.Repeat(`\e`, 300_000) + "\"}",
			want: "the spec is larger than 1 MiB once it is written out in full; keep files and data out of it",
			kib:  65536,
		},
		"directives": {
			text: strings.Repeat("%TAG !a! b\n", 10_000) + "---\nimage: a",
			want: "line 1, column 1: a line cannot start with %: YAML directives are not accepted",
			kib:  512,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			data := []byte(tc.text)
			var err error
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err = topology.Parse(data)
			runtime.ReadMemStats(&after)
			var specErr *topology.SpecError
			if !errors.As(err, &specErr) {
				t.Fatalf("got %v", err)
			}
			if got := err.Error(); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
			if code := specErr.Problems[0].Code; name != "directives" && code != topology.ProblemTooLarge {
				t.Errorf("code %s", code)
			}
			if kib := (after.TotalAlloc - before.TotalAlloc) >> 10; kib > tc.kib {
				t.Errorf("%d KiB were allocated, at most %d were expected", kib, tc.kib)
			}
		})
	}
}

// A large script is what a spec may hold: it has few nodes.
func TestLargeScriptIsAccepted(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	b.WriteString("image: a\nsteps:\n- run: |\n")
	for b.Len() < topology.MaxSpecBytes-topology.MaxSpecBytes/8 {
		b.WriteString("    echo this is an ordinary line of a script of the sort that people write\n")
	}
	spec, err := topology.Parse(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	checkRoundTrip(t, spec)
}
