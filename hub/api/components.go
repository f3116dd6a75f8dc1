package api

import (
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/runnerhub/runnerhub/mcp"
)

// Components are the types of all results, and of errors, by name: for a
// document in which schemas refer to each other instead of repeating each other.
func Components(ops []Operation, ref func(name string) string) map[string]*jsonschema.Schema {
	types := map[string]Type{}
	collect(reflect.TypeFor[mcp.Error](), types)
	collect(reflect.TypeFor[mcp.PutLogResult](), types)
	collect(reflect.TypeFor[mcp.PutUploadResult](), types)
	collect(reflect.TypeFor[mcp.PutExecResult](), types)
	for _, o := range ops {
		collect(o.out, types)
	}
	out := map[string]*jsonschema.Schema{}
	for name, t := range types {
		known := map[reflect.Type]*jsonschema.Schema{}
		for k, v := range resultTypes {
			known[k] = v
		}
		for other, u := range types {
			if other != name {
				known[u] = &jsonschema.Schema{Ref: ref(other)}
			}
		}
		s, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: known})
		if err != nil {
			panic(fmt.Sprintf("api: schema of %s: %v", name, err))
		}
		every(s, neverNull, open)
		out[name] = s
	}
	codes := out["Error"].Properties["code"]
	for _, c := range mcp.Codes() {
		codes.Enum = append(codes.Enum, string(c.Code))
	}
	return out
}

// ResultName is the name of the operation's result among Components.
func (o *Operation) ResultName() string { return o.out.Name() }

// collect finds the structs that t is made of.
func collect(t Type, found map[string]Type) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		collect(t.Elem(), found)
	case reflect.Struct:
		if t == reflect.TypeFor[time.Time]() || t == reflect.TypeFor[json.RawMessage]() || found[t.Name()] != nil {
			return
		}
		found[t.Name()] = t
		for i := range t.NumField() {
			collect(t.Field(i).Type, found)
		}
	}
}
