package api

import (
	"encoding/json"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/runnerhub/runnerhub/mcp"
)

// limits says what a field's type does not: ranges, lengths, words. Keys are
// field names, with dots into objects and [] into lists. They end up in the schema, which is both
// shown to callers and checked.
type limits map[string]limit

type limit func(*jsonschema.Schema)

func between(low, high int) limit {
	return func(s *jsonschema.Schema) {
		s.Minimum, s.Maximum = jsonschema.Ptr(float64(low)), jsonschema.Ptr(float64(high))
	}
}

func atLeast(low int) limit {
	return func(s *jsonschema.Schema) { s.Minimum = jsonschema.Ptr(float64(low)) }
}

// upTo limits text to so many bytes. A schema counts characters, so it allows
// what the check may still refuse and never the other way round.
func upTo(bytes int) limit {
	return func(s *jsonschema.Schema) { s.MaxLength = &bytes }
}

// text is upTo for text that must not be empty.
func text(bytes int) limit {
	return func(s *jsonschema.Schema) { s.MinLength, s.MaxLength = jsonschema.Ptr(1), &bytes }
}

// items limits a list and, where bytes is not 0, each text in it.
func items(most, bytes int) limit {
	return func(s *jsonschema.Schema) {
		s.MaxItems = &most
		if bytes > 0 {
			s.Items.MaxLength = &bytes
		}
	}
}

func oneOf(words ...string) limit {
	return func(s *jsonschema.Schema) {
		s.Enum = make([]any, len(words))
		for i, w := range words {
			s.Enum[i] = w
		}
	}
}

func byDefault(value any, l limit) limit {
	raw, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return func(s *jsonschema.Schema) {
		l(s)
		s.Default = raw
	}
}

// Limits that several operations share.
var (
	waitLimit   = between(0, mcp.MaxWait)
	idLimit     = text(64)
	labelLimit  = upTo(64)
	slugLimit   = upTo(39)
	cursorLimit = upTo(512)
	pageLimit   = byDefault(20, between(1, 100))
	keyLimit    = upTo(128)
)

// under are the limits of an argument that holds the same fields.
func (l limits) under(field string) limits {
	out := limits{}
	for k, v := range l {
		out[field+"."+k] = v
	}
	return out
}

// with joins limits; later ones win.
func (l limits) with(more limits) limits {
	out := limits{}
	for _, m := range []limits{l, more} {
		for k, v := range m {
			out[k] = v
		}
	}
	return out
}
