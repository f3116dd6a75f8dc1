package api

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
)

// inputSchema describes arguments: unknown fields are refused, but see define for what runners send.
func inputSchema(t Type, l limits) (*jsonschema.Schema, error) {
	s, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		// The only raw JSON that a caller sends is a job spec. Branches with one type each: some clients
		// map a schema onto a dialect without lists of types.
		reflect.TypeFor[json.RawMessage](): {AnyOf: []*jsonschema.Schema{{Type: "string"}, {Type: "object"}}},
		reflect.TypeFor[time.Time]():       timestamp,
	}})
	if err != nil {
		return nil, err
	}
	every(s, neverNull)
	for name, limit := range l {
		field, err := property(s, name)
		if err != nil {
			return nil, err
		}
		limit(field)
	}
	if s.Properties == nil { // some clients want the keyword even when it is empty
		s.Properties = map[string]*jsonschema.Schema{}
	}
	return s, nil
}

// outputSchema describes a result. Unknown fields are allowed: fields may be
// added, and a client that remembers an older schema must not refuse them.
func outputSchema(t Type) (*jsonschema.Schema, error) {
	s, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: resultTypes})
	if err != nil {
		return nil, err
	}
	every(s, neverNull, open)
	return s, nil
}

// resultTypes: raw JSON in a result is a canonical job spec.
var resultTypes = map[reflect.Type]*jsonschema.Schema{
	reflect.TypeFor[json.RawMessage](): {Type: "object"},
	reflect.TypeFor[time.Time]():       timestamp,
}

var timestamp = &jsonschema.Schema{Type: "string", Format: "date-time"}

func property(s *jsonschema.Schema, path string) (*jsonschema.Schema, error) {
	for name := range strings.SplitSeq(path, ".") {
		name, list := strings.CutSuffix(name, "[]")
		s = s.Properties[name]
		if list && s != nil {
			s = s.Items
		}
		if s == nil {
			return nil, fmt.Errorf("there is no field %q to limit", path)
		}
	}
	return s, nil
}

// neverNull takes back that lists and pointers might be null: an absent value is
// absent and an empty list is [].
func neverNull(s *jsonschema.Schema) {
	if !slices.Contains(s.Types, "null") {
		return
	}
	rest := slices.DeleteFunc(slices.Clone(s.Types), func(t string) bool { return t == "null" })
	s.Types = nil
	switch len(rest) {
	case 0:
	case 1:
		s.Type = rest[0]
	default:
		s.Types = rest
	}
}

func open(s *jsonschema.Schema) {
	if s.Type == "object" && len(s.Properties) > 0 {
		s.AdditionalProperties = nil
	}
}

// every applies fs to s and all schemas within it.
func every(s *jsonschema.Schema, fs ...func(*jsonschema.Schema)) {
	if s == nil {
		return
	}
	for _, f := range fs {
		f(s)
	}
	for _, p := range s.Properties {
		every(p, fs...)
	}
	every(s.Items, fs...)
	every(s.AdditionalProperties, fs...)
}
