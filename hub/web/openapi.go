package web

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/runnerhub/runnerhub/hub/api"
	"github.com/runnerhub/runnerhub/mcp"
)

// OpenAPIPath is where the HTTP API is described.
const OpenAPIPath = api.Base + "/openapi.json"

type object = map[string]any

// OpenAPI describes the HTTP API as an OpenAPI 3.1 document, made from the same
// table as the routes.
func OpenAPI(ops []api.Operation) map[string]any {
	paths := object{
		api.LogPath("{token}"):    object{"put": logEntry()},
		api.UploadPath("{token}"): object{"put": uploadEntry()},
		filePath:                  object{"get": fileEntry()},
	}
	execPaths(paths)
	for i := range ops {
		op := &ops[i]
		path := api.Base + op.Route.Path
		item, ok := paths[path].(object)
		if !ok {
			item = object{}
			paths[path] = item
		}
		item[strings.ToLower(op.Route.Method)] = entry(op)
	}
	return object{
		"openapi": "3.1.0",
		"info": object{
			"title":       "Runner Hub",
			"version":     mcp.Version,
			"description": "The HTTP twins of the hub's MCP tools. Durations are milliseconds, times RFC 3339 in UTC. A failed call answers an Error at the status of its code.",
			"license":     object{"name": "Apache-2.0", "identifier": "Apache-2.0"},
		},
		"servers": []any{object{"url": "/"}},
		"tags": []any{
			object{"name": string(api.People), "description": "For people and agents, with an API key"},
			object{"name": string(api.Runner), "description": "For runners, with a runner's token"},
			object{"name": string(api.Open), "description": "Without a token"},
		},
		"paths": paths,
		"components": object{
			"schemas": api.Components(ops, ref),
			"securitySchemes": object{
				string(api.People): object{"type": "http", "scheme": "bearer", "description": "An API key, ak_…"},
				string(api.Runner): object{"type": "http", "scheme": "bearer", "description": "A paired machine's token, rnr_…"},
			},
			"responses": object{"Error": object{
				"description": "The call failed; code says how", "content": jsonContent(object{"$ref": ref("Error")}),
			}},
		},
	}
}

func ref(name string) string { return "#/components/schemas/" + name }

func jsonContent(schema any) object {
	return object{"application/json": object{"schema": schema}}
}

func entry(op *api.Operation) object {
	e := object{
		"operationId": op.Name,
		"summary":     op.Title,
		"description": op.Description,
		"tags":        []string{string(op.Audience)},
		"security":    []any{object{string(op.Audience): []string{}}},
		"responses":   responses(op.ResultName()),
	}
	if op.Audience == api.Open {
		e["security"] = []any{}
	}
	inPath := PathFields(op.Route.Path)
	var parameters []any
	for _, name := range inPath {
		parameters = append(parameters, parameter(op, name, "path", true))
	}
	if hasBody(op.Route.Method) {
		if schema := without(op.Input, inPath); len(schema.Properties) > 0 {
			e["requestBody"] = object{"required": len(schema.Required) > 0, "content": jsonContent(schema)}
		}
	} else {
		for _, name := range op.Input.PropertyOrder {
			if !slices.Contains(inPath, name) {
				parameters = append(parameters, parameter(op, name, "query", slices.Contains(op.Input.Required, name)))
			}
		}
	}
	if parameters != nil {
		e["parameters"] = parameters
	}
	return e
}

func hasBody(method string) bool { return method == http.MethodPost || method == http.MethodPut }

func responses(result string) object {
	return object{
		"200":     object{"description": "Done", "content": jsonContent(object{"$ref": ref(result)})},
		"default": object{"$ref": "#/components/responses/Error"},
	}
}

func parameter(op *api.Operation, name, in string, required bool) object {
	field := *op.Input.Properties[name]
	p := object{"name": name, "in": in, "schema": &field}
	if required {
		p["required"] = true
	}
	if field.Description != "" {
		p["description"] = field.Description
		field.Description = ""
	}
	return p
}

// without is an arguments' schema less the fields that are in the path.
func without(s *jsonschema.Schema, fields []string) *jsonschema.Schema {
	out := *s
	out.Properties = maps.Clone(s.Properties)
	dropped := func(name string) bool { return slices.Contains(fields, name) }
	maps.DeleteFunc(out.Properties, func(name string, _ *jsonschema.Schema) bool { return dropped(name) })
	out.Required = slices.DeleteFunc(slices.Clone(s.Required), dropped)
	out.PropertyOrder = slices.DeleteFunc(slices.Clone(s.PropertyOrder), dropped)
	return &out
}

func logEntry() object {
	return bytesEntry("put_log", "Send a chunk of log",
		fmt.Sprintf("Up to %d bytes at their offset in an attempt's log, at the log_url of its lease; the token in it is the whole right to write. "+
			"A repeat of stored bytes is accepted; a gap, or other bytes than the stored ones, is a conflict whose details carry next_offset.", mcp.MaxLogChunk),
		"PutLogResult")
}

func uploadEntry() object {
	return bytesEntry("put_upload", "Send a part of an upload",
		fmt.Sprintf("Bytes at their offset in what was announced, at the URL of the answer: up to %d at once, and %d at least but for the last; the token in it is the whole right to write. "+
			"A repeat of stored bytes is accepted; a gap is a conflict whose details carry next_offset. With the last bytes, size and SHA-256 of the whole are checked; "+
			"what is not what was announced is dropped. Repeat the last part when its answer was lost.", mcp.MaxUploadPart, mcp.MinUploadPart),
		"PutUploadResult")
}

// filePath is api.ArtifactContent as OpenAPI writes it.
var filePath = strings.Replace(api.ArtifactContent, "{path...}", "{path}", 1)

func fileEntry() object {
	return object{
		"operationId": "get_artifact_content",
		"summary":     "Download an artifact",
		"description": "The bytes of a file that a job left, as list_artifacts names it; its path may have slashes. Takes Range; the ETag is its SHA-256.",
		"tags":        []string{string(api.People)},
		"security":    []any{object{string(api.People): []string{}}},
		"parameters": []any{
			object{"name": "job_id", "in": "path", "required": true, "schema": object{"type": "string"}},
			object{"name": "path", "in": "path", "required": true, "schema": object{"type": "string"}},
			object{"name": "attempt", "in": "query", "schema": object{"type": "integer", "minimum": 0}},
		},
		"responses": object{
			"200":     object{"description": "The whole file", "content": object{"application/octet-stream": object{}}},
			"206":     object{"description": "The range that was asked for", "content": object{"application/octet-stream": object{}}},
			"default": object{"$ref": "#/components/responses/Error"},
		},
	}
}

func bytesEntry(id, summary, description, result string) object {
	return object{
		"operationId": id,
		"summary":     summary,
		"description": description,
		"tags":        []string{string(api.Open)},
		"security":    []any{},
		"parameters": []any{
			object{"name": "token", "in": "path", "required": true, "schema": object{"type": "string"}},
			object{"name": "offset", "in": "query", "required": true, "schema": object{"type": "integer", "minimum": 0}},
		},
		"requestBody": object{"required": true, "content": object{"application/octet-stream": object{}}},
		"responses":   responses(result),
	}
}

func serveOpenAPI(ops []api.Operation) http.Handler {
	doc, err := json.Marshal(OpenAPI(ops))
	if err != nil {
		panic(fmt.Sprintf("web: OpenAPI document: %v", err)) // a mistake in the table
	}
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(doc)
	})
}
