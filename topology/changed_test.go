package topology_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/runnerhub/runnerhub/topology"
)

func parseChanged(spec, changes []byte) (*topology.Spec, error) {
	draft, err := topology.ReadDraft(spec)
	if err != nil {
		return nil, err
	}
	return draft.With(changes)
}

func TestDraft(t *testing.T) {
	t.Parallel()
	const base = "image: golang:1.26\nenv: {A: '1', B: '2'}\nsteps: [{name: test, run: go test ./...}]\ntimeout: 5m\n"
	for name, c := range map[string]struct{ base, changes, want string }{
		"nothing":               {base, `{}`, base},
		"a key of a mapping":    {base, `{"env": {"A": "3"}}`, strings.Replace(base, "A: '1'", "A: '3'", 1)},
		"a key more":            {base, `{"env": {"C": "3"}}`, strings.Replace(base, "B: '2'", "B: '2', C: '3'", 1)},
		"a key out":             {base, `{"timeout": null, "env": {"A": null}}`, "image: golang:1.26\nenv: {B: '2'}\nsteps: [{name: test, run: go test ./...}]\n"},
		"a key out that is not": {base, `{"user": null, "resources": {"cpus": null, "memory": "1GiB"}}`, base + "resources: {memory: 1GiB}\n"},
		"a list as a whole":     {base, `{"steps": [{"run": "go vet"}]}`, strings.Replace(base, "{name: test, run: go test ./...}", "{run: go vet}", 1)},
		"YAML":                  {base, "env:\n  A: 1.10\n", strings.Replace(base, "'1'", "'1.10'", 1)},
		"anchors of its own":    {base, "env: &e {A: x}\nservices: {db: {image: pg, environment: *e}}\n", strings.Replace(base, "A: '1'", "A: x", 1) + "services: {db: {image: pg, environment: {A: x}}}\n"},
		"a base that is no job": {"env: {A: '1'}\n", `{"image": "busybox", "command": ["true"]}`, "image: busybox\ncommand: ['true']\nenv: {A: '1'}\n"},
		"a mapping for a word":  {"image: busybox\nhold_on_failure: 1m\nconcurrency: {group: a}\n", `{"concurrency": {"group": "b"}}`, "image: busybox\nhold_on_failure: 1m\nconcurrency: {group: b}\n"},
		"a word for a mapping":  {"image: busybox\nservices: {a: {image: x}}\n", `{"services": {"a": {"image": "y", "command": "z"}}}`, "image: busybox\nservices: {a: {image: y, command: z}}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := parseChanged([]byte(c.base), []byte(c.changes))
			if err != nil {
				t.Fatal(err)
			}
			want, err := topology.Parse([]byte(c.want))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestDraftRefuses(t *testing.T) {
	t.Parallel()
	const base = "image: busybox\n"
	for name, c := range map[string]struct{ base, changes, field, words string }{
		"an unknown field":  {base, `{"env": {}, "imag": "x"}`, "imag", "image"},
		"no image":          {base, `{"image": null}`, "image", ""},
		"a key twice":       {base, "env: {A: x}\nenv: {A: y}\n", "env", "twice"},
		"no mapping":        {base, `[1]`, "", ""},
		"no YAML":           {base, "{", "", "in the changes"},
		"nothing":           {base, "", "", "changes must be a mapping"},
		"a base of words":   {"hello world", `{"image": "x"}`, "", "the spec must be a mapping"},
		"deep":              {base, strings.Repeat(`{"a":`, 40) + "1" + strings.Repeat("}", 40), "", "deep"},
		"more than may be":  {"image: x\nenv: {" + strings.Repeat("A: b, ", 4000) + "}\n", "image: y\nenv: {" + strings.Repeat("A: b, ", 4000) + "}\n", "", "values"},
		"steps and command": {base + "command: [x]\n", `{"steps": [{"run": "x"}]}`, "", "command"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := parseChanged([]byte(c.base), []byte(c.changes))
			var bad *topology.SpecError
			if !errors.As(err, &bad) {
				t.Fatalf("%T: %v", err, err)
			}
			p := bad.Problems[0]
			if p.Field != c.field && c.field != "" || !strings.Contains(p.Message+p.Hint, c.words) {
				t.Errorf("%+v", p)
			}
		})
	}
}

// What is merged is what RFC 7396's own algorithm, as it stands there, makes of the same JSON.
func TestDraftMergesAsTheRFC(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		base, patch := drawJSON(t), drawJSON(t)
		for _, key := range []string{"image", "env", "steps", "services", "timeout"} {
			if rapid.IntRange(0, 3).Draw(t, "null") == 0 {
				patch[key] = nil
			}
		}
		before, changes, after := marshal(t, base), marshal(t, patch), marshal(t, mergePatch(base, patch))
		got, err := parseChanged(before, changes)
		want, wantErr := topology.Parse(after)
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("%v, and %v for %s", err, wantErr, after)
		}
		if diff := cmp.Diff(want, got); err == nil && diff != "" {
			t.Fatalf("%s with %s (-want +got):\n%s", before, changes, diff)
		}
	})
}

func drawJSON(t *rapid.T) map[string]any {
	canonical, err := drawSpec(t).Canonical()
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	dec := json.NewDecoder(bytes.NewReader(canonical))
	dec.UseNumber()
	if err := dec.Decode(&out); err != nil {
		t.Fatal(err)
	}
	return out
}

func marshal(t *rapid.T, v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func mergePatch(target, patch any) any {
	p, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	out, ok := target.(map[string]any)
	if !ok {
		out = map[string]any{}
	}
	for k, v := range p {
		if v == nil {
			delete(out, k)
		} else {
			out[k] = mergePatch(out[k], v)
		}
	}
	return out
}
