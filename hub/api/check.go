package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
)

// check holds a value against the part of JSON Schema that the table uses.
// A null where a field may be absent counts as absent: many clients send it.
func (c *checker) check(path string, s *jsonschema.Schema, value any) {
	got := typeOf(value)
	if want := typesOf(s); len(want) > 0 && !slices.Contains(want, got) && (got != "integer" || !slices.Contains(want, "number")) {
		c.add(path, "must be %s, not %s%s", article(want), article([]string{got}), instead(s, want, value))
		return
	}
	switch v := value.(type) {
	case map[string]any:
		c.object(path, s, v)
	case []any:
		if s.MaxItems != nil && len(v) > *s.MaxItems {
			c.add(path, "has %d items; at most %d are allowed", len(v), *s.MaxItems)
			return
		}
		for i, item := range v {
			if s.Items != nil {
				c.check(fmt.Sprintf("%s[%d]", path, i), s.Items, item)
			}
		}
	case string:
		c.text(path, s, v)
	case json.Number:
		c.number(path, s, v)
	}
}

func (c *checker) object(path string, s *jsonschema.Schema, v map[string]any) {
	closed := s.AdditionalProperties != nil && s.AdditionalProperties.Not != nil
	for _, name := range slices.Sorted(maps.Keys(v)) {
		switch field, ok := s.Properties[name]; {
		case ok && v[name] == nil && !slices.Contains(s.Required, name): // absent
		case ok:
			c.check(join(path, name), field, v[name])
		case closed:
			c.add(join(path, name), "is not a known field%s", misplaced(name, s))
		case s.AdditionalProperties != nil:
			c.check(join(path, name), s.AdditionalProperties, v[name])
		}
	}
	for _, name := range s.Required {
		if _, ok := v[name]; !ok {
			c.add(join(path, name), "is required")
		}
	}
}

func (c *checker) text(path string, s *jsonschema.Schema, v string) {
	switch {
	case s.MinLength != nil && len(v) < *s.MinLength:
		c.add(path, "must not be empty")
	case s.MaxLength != nil && len(v) > *s.MaxLength:
		c.add(path, "has %d bytes; at most %d are allowed", len(v), *s.MaxLength)
	case len(s.Enum) > 0 && !slices.Contains(s.Enum, any(v)):
		c.add(path, "must be one of %s, not %s%s", words(s.Enum), quote(v), sameWord(s.Enum, v))
	case s.Format == "date-time":
		if _, err := time.Parse(time.RFC3339Nano, v); err != nil {
			c.add(path, "must be a time such as 2026-01-02T15:04:05Z, not %s", quote(v))
		}
	}
}

func (c *checker) number(path string, s *jsonschema.Schema, v json.Number) {
	f, err := v.Float64()
	switch {
	case err != nil:
		c.add(path, "is out of range")
	case s.Minimum != nil && f < *s.Minimum, s.Maximum != nil && f > *s.Maximum:
		c.add(path, "must be %s, not %s%s", interval(s), v, waits(path, s, f))
	}
}

func interval(s *jsonschema.Schema) string {
	n := func(f *float64) string { return strconv.FormatFloat(*f, 'f', -1, 64) }
	switch {
	case s.Minimum == nil:
		return "at most " + n(s.Maximum)
	case s.Maximum == nil:
		return "at least " + n(s.Minimum)
	default:
		return "between " + n(s.Minimum) + " and " + n(s.Maximum)
	}
}

func typesOf(s *jsonschema.Schema) []string {
	if s.Type != "" {
		return []string{s.Type}
	}
	out := slices.Clone(s.Types)
	for _, branch := range s.AnyOf {
		out = append(out, typesOf(branch)...)
	}
	return out
}

func typeOf(value any) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case json.Number:
		if strings.ContainsAny(v.String(), ".eE") {
			return "number"
		}
		return "integer"
	case []any:
		return "array"
	default:
		return "object"
	}
}

func article(types []string) string {
	named := map[string]string{
		"null": "null", "boolean": "true or false", "string": "a string", "integer": "an integer",
		"number": "a number", "array": "an array", "object": "an object",
	}
	out := make([]string, len(types))
	for i, t := range types {
		out[i] = named[t]
	}
	return strings.Join(out, " or ")
}

func words(enum []any) string {
	out := make([]string, len(enum))
	for i, w := range enum {
		out[i] = fmt.Sprint(w)
	}
	return strings.Join(out, ", ")
}

// quote repeats a caller's word, cut so that a message stays a line.
func quote(s string) string {
	return strconv.Quote(Cut(s, 40))
}

// Cut is a caller's text up to so many bytes, for an answer that repeats it.
func Cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

func join(path, name string) string {
	name = Cut(name, 64)
	if path == "" {
		return name
	}
	return path + "." + name
}
