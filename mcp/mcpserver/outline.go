package mcpserver

import "github.com/google/jsonschema-go/jsonschema"

// terse is the schema of arguments without the lengths that nobody runs into who means well. They are in the OpenAPI
// document and hold all the same: an error names the one that was passed.
func terse(s *jsonschema.Schema) *jsonschema.Schema {
	if s == nil {
		return nil
	}
	out := *s
	out.MinLength, out.MaxLength, out.MinItems, out.MaxItems = nil, nil, nil, nil
	if s.Minimum != nil && *s.Minimum <= 1 && *s.Minimum >= 0 {
		out.Minimum = nil // nobody asks for less than nothing
	}
	out.Items = terse(s.Items)
	if s.Properties != nil {
		out.Properties = make(map[string]*jsonschema.Schema, len(s.Properties))
		for name, p := range s.Properties {
			out.Properties[name] = terse(p)
		}
	}
	return &out
}

// outline is what a result's schema costs a model to read: its fields and their types, and of what is nested in
// them that it is an object or a list. Which fields are always there it does not say. What fits the whole schema fits
// the outline; the whole one is in the OpenAPI document, for programs that are generated from it.
func outline(s *jsonschema.Schema) *jsonschema.Schema {
	out := &jsonschema.Schema{Type: s.Type, Types: s.Types}
	if len(s.Properties) > 0 {
		out.Properties = make(map[string]*jsonschema.Schema, len(s.Properties))
		out.PropertyOrder = s.PropertyOrder
	}
	for name, p := range s.Properties {
		out.Properties[name] = brief(p)
	}
	return out
}

func brief(s *jsonschema.Schema) *jsonschema.Schema {
	out := &jsonschema.Schema{Type: s.Type, Types: s.Types}
	if s.Items != nil {
		out.Items = &jsonschema.Schema{Type: s.Items.Type, Types: s.Items.Types}
	}
	return out
}
