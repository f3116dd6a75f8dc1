package web_test

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/runnerhub/runnerhub/hub/api"
	"github.com/runnerhub/runnerhub/hub/dispatch"
	"github.com/runnerhub/runnerhub/hub/web"
)

func failing(err error) func(context.Context, string) (dispatch.JobView, error) {
	return func(context.Context, string) (dispatch.JobView, error) { return dispatch.JobView{}, err }
}

// document is the served OpenAPI document.
func document(t *testing.T, d *door) map[string]any {
	t.Helper()
	got := d.send(t, "GET", web.OpenAPIPath, "", "")
	var doc map[string]any
	if err := json.Unmarshal([]byte(got.body), &doc); err != nil || got.status != 200 {
		t.Fatalf("status %d, %v", got.status, err)
	}
	return doc
}

var field = regexp.MustCompile(`\{(\w+)\}`)

// Every operation of the document is served and the other way round.
func TestOpenAPIAndRoutesAgree(t *testing.T) {
	t.Parallel()
	d := open(t, nil)
	doc := document(t, d)
	var described []string
	for path, item := range doc["paths"].(map[string]any) {
		for method, entry := range item.(map[string]any) {
			described = append(described, strings.ToUpper(method)+" "+path)
			if got := d.send(t, strings.ToUpper(method), field.ReplaceAllString(path, "x"), "", ""); got.status == 405 || strings.Contains(got.body, "nothing at this path") {
				t.Errorf("%s %s answers %d", method, path, got.status)
			}
			// What the path holds, and nothing else, is a required path parameter.
			var want []string
			for _, m := range field.FindAllStringSubmatch(path, -1) {
				want = append(want, m[1])
			}
			var have []string
			parameters, _ := entry.(map[string]any)["parameters"].([]any)
			for _, p := range parameters {
				if p := p.(map[string]any); p["in"] == "path" && p["required"] == true {
					have = append(have, p["name"].(string))
				}
			}
			if !slices.Equal(have, want) {
				t.Errorf("%s %s: path parameters %v, want %v", method, path, have, want)
			}
		}
	}
	served := []string{"PUT " + api.LogPath("{token}"), "PUT " + api.UploadPath("{token}"), "GET " + api.Base + "/jobs/{job_id}/files/{path}"}
	for _, end := range []string{"POST begin", "POST end", "GET input", "PUT output"} {
		method, name, _ := strings.Cut(end, " ")
		served = append(served, method+" "+api.LogPath("{token}")+"/execs/{exec_id}/"+name)
	}
	for _, end := range []string{"PUT input", "GET output"} {
		method, name, _ := strings.Cut(end, " ")
		served = append(served, method+" "+api.Base+"/jobs/{job_id}/execs/{exec_id}/"+name)
	}
	for _, o := range api.Operations(api.Services{}) {
		served = append(served, o.Route.Method+" "+api.Base+o.Route.Path)
	}
	slices.Sort(described)
	slices.Sort(served)
	if !slices.Equal(described, served) {
		t.Errorf("described %v\nserved %v", described, served)
	}
}

// OpenAPI 3.1 schemas are JSON Schema 2020-12: each must compile, references included.
func TestOpenAPISchemasAreSound(t *testing.T) {
	t.Parallel()
	raw := open(t, nil).send(t, "GET", web.OpenAPIPath, "", "").body
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	if err := c.AddResource("mem:///openapi.json", doc); err != nil {
		t.Fatal(err)
	}
	n := 0
	walk("", doc, func(pointer string) {
		n++
		if _, err := c.Compile("mem:///openapi.json#" + pointer); err != nil {
			t.Errorf("%s: %v", pointer, err)
		}
	})
	if n < 60 {
		t.Errorf("only %d schemas were found", n)
	}
}

// walk calls f with the pointer of each schema in an OpenAPI document.
func walk(pointer string, node any, f func(string)) {
	switch v := node.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			at := pointer + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
			if key == "schema" || pointer == "/components/schemas" {
				f(at)
				continue
			}
			walk(at, v[key], f)
		}
	case []any:
		for i, item := range v {
			walk(pointer+"/"+strconv.Itoa(i), item, f)
		}
	}
}

// What is served holds what is described.
func TestAnswersHoldTheDescribedSchemas(t *testing.T) {
	t.Parallel()
	d := open(t, nil)
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(d.send(t, "GET", web.OpenAPIPath, "", "").body))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("mem:///openapi.json", doc); err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string]answer{
		"GetJobResult":       d.send(t, "GET", "/api/v1/jobs/job_1", adaToken, ""),
		"ListJobsResult":     d.send(t, "GET", "/api/v1/jobs", adaToken, ""),
		"LeaseJobResult":     d.send(t, "POST", "/api/v1/lease", runnerToken, `{"request_id":"r","protocol":1}`),
		"StartPairingResult": d.send(t, "POST", "/api/v1/pairing", "", `{"machine":{"hostname":"h","os":"l","arch":"a","version":"1"},"public_key":"k"}`),
		"PutLogResult":       d.send(t, "PUT", "/api/v1/logs/"+logToken+"?offset=0", "", "x"),
		"Error":              d.send(t, "GET", "/api/v1/jobs?x=1", adaToken, ""),
	} {
		schema, err := c.Compile("mem:///openapi.json#/components/schemas/" + name)
		if err != nil {
			t.Fatal(err)
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(got.body)))
		if err != nil {
			t.Fatalf("%s: %v: %s", name, err, got.body)
		}
		if err := schema.Validate(value); err != nil {
			t.Errorf("%s: %v\n%s", name, err, got.body)
		}
	}
}
