package topology_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"
	"pgregory.net/rapid"

	"github.com/runnerhub/runnerhub/topology"
)

func compileSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(topology.JSONSchema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("spec.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("spec.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// Whatever Parse accepts the schema accepts: as written, and in canonical form.
func TestSchemaAcceptsValidSpecs(t *testing.T) {
	t.Parallel()
	schema := compileSchema(t)
	files, err := filepath.Glob("testdata/specs/valid/*")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(asJSON(t, data)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		canonical, err := drawSpec(t).Canonical()
		if err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(canonical))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(doc); err != nil {
			t.Fatalf("%v\n%s", err, canonical)
		}
	})
}

func TestSchemaRefuses(t *testing.T) {
	t.Parallel()
	schema := compileSchema(t)
	for _, text := range []string{
		"name: a", "command: a\nservices: {db: {image: b}}", "command: a\nnetwork: none", "command: a\nuser: b", "command: a\npull: never", "image: a\nfrobnicate: 1", "image: a\ncommand: b\nsteps: [{run: c}]", "image: a\nsteps: [{name: b}]",
		"image: a\nservices: {db: {image: b, restart: always}}", "image: a\nservices: {job: {image: b}}", "image: a\nservices: {db: {}}",
		"image: a\nservices: {db: {image: b, healthcheck: {interval: 1s}}}", "image: a\nname:", "image: a\nenv: {A: []}",
		"image: a\nconcurrency: deploy", "image: a\nconcurrency: {cancel_running: true}", "image: a\nrequires: [big]", "image: a\nresources: {disk: 1024}", "image: a\nulimits: {files: 1}", "image: a\nulimits: {nofile: {soft: 1}}", "image: a\ntimeout: 30", "image: a\nnetwork: host",
		"image: a\nsource: {}", "image: a\nsource: {commit: " + strings.Repeat("a", 40) + "}", "image: a\nsource: {repository: \"https://h/p\"}",
		"image: a\ncache: {key: b, paths: [c]}", "image: a\ncache: [{key: b}]", "image: a\ncache: [{key: $b, paths: [c]}]", "image: a\ncache: [{key: {prefix: b}, paths: [c]}]",
		"image: a\nsource: {files: {/etc/x: y}}", "image: a\nsource: {files: {x: {mode: \"0644\"}}}", "image: a\nsource: {archive: x}",
	} {
		if err := schema.Validate(asJSON(t, []byte(text))); err == nil {
			t.Errorf("accepted: %s", text)
		}
		if _, err := topology.Parse([]byte(text)); err == nil {
			t.Errorf("parsed: %s", text)
		}
	}
}

// The schema's vocabularies are those of the code.
func TestSchemaVocabularies(t *testing.T) {
	t.Parallel()
	var schema struct {
		Properties struct {
			Requires struct{ Items struct{ Enum []any } }
			Retry    struct {
				Properties struct {
					On struct{ Items struct{ Enum []string } }
				}
			}
		}
	}
	if err := json.Unmarshal(topology.JSONSchema(), &schema); err != nil {
		t.Fatal(err)
	}
	var words []string
	for _, w := range schema.Properties.Requires.Items.Enum {
		if s, ok := w.(string); ok { // 386 is there as a number as well
			words = append(words, s)
		}
	}
	if diff := cmp.Diff(topology.Capabilities, words); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(topology.RetryClasses, schema.Properties.Retry.Properties.On.Items.Enum); diff != "" {
		t.Error(diff)
	}
	if !slices.IsSorted(topology.Capabilities) || !slices.IsSorted(topology.RetryClasses) {
		t.Error("the vocabularies are not sorted")
	}
}

// The reference names every field that the schema has.
func TestReferenceNamesEveryField(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../docs/spec.md")
	if err != nil {
		t.Fatal(err)
	}
	type object struct{ Properties map[string]json.RawMessage }
	var schema struct {
		object
		Defs map[string]object `json:"$defs"`
	}
	if err := json.Unmarshal(topology.JSONSchema(), &schema); err != nil {
		t.Fatal(err)
	}
	objects := append(slices.Collect(maps.Values(schema.Defs)), schema.object)
	for _, o := range objects {
		for field := range o.Properties {
			if !strings.Contains(string(doc), "`"+field+"`") {
				t.Errorf("docs/spec.md lacks %s", field)
			}
		}
	}
}

// asJSON is a spec as a schema validator wants it.
func asJSON(t *testing.T, data []byte) any {
	t.Helper()
	text := data
	if !json.Valid(data) {
		var plain any
		err := yaml.Load(data, &plain)
		if err != nil {
			t.Fatal(err)
		}
		if text, err = json.Marshal(plain); err != nil {
			t.Fatal(err)
		}
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}
