package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/runnerhub/runnerhub/hub"
)

// decode reads arguments strictly: everything that is wrong with them is told at
// once, in words that a model can act on.
func decode[In any](schema *jsonschema.Schema, args json.RawMessage) (In, error) {
	var in In
	if len(bytes.TrimSpace(args)) == 0 || string(bytes.TrimSpace(args)) == "null" {
		args = json.RawMessage("{}")
	}
	value, err := parse(args)
	if err != nil {
		return in, hub.Errorf(hub.InvalidArgument, "the arguments are not JSON: %v", err).
			WithHint("send one JSON object")
	}
	c := checker{}
	c.check("", schema, value)
	if len(c.problems) > 0 {
		return in, c.err()
	}
	// The check is stricter than the decoder in all but exotic cases, such as a
	// number too large for its type or a time that is none.
	if err := json.Unmarshal(args, &in); err != nil {
		return in, unmarshalError(err)
	}
	return in, nil
}

func parse(args json.RawMessage) (any, error) {
	d := json.NewDecoder(bytes.NewReader(args))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, errors.New("they end in the middle")
		}
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the object")
	}
	return value, nil
}

func unmarshalError(err error) error {
	if t, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && t.Field != "" {
		return hub.Errorf(hub.InvalidArgument, "%s: %s does not fit", t.Field, t.Value)
	}
	return hub.Errorf(hub.InvalidArgument, "the arguments cannot be read: %v", err)
}

// Problem is one fault of the arguments, as the details of an error carry it.
type Problem struct {
	Field   string `json:"field"`
	Message string `json:"message"`
}

// maxProblems is how many faults are told at once.
const maxProblems = 10

type checker struct{ problems []Problem }

func (c *checker) add(field, format string, args ...any) {
	if len(c.problems) < maxProblems {
		c.problems = append(c.problems, Problem{Field: field, Message: fmt.Sprintf(format, args...)})
	}
}

func (c *checker) err() error {
	first := c.problems[0]
	message := first.Message
	if first.Field != "" {
		message = first.Field + " " + first.Message
	}
	if n := len(c.problems) - 1; n > 0 {
		message += fmt.Sprintf(" (and %d more, see details)", n)
	}
	return hub.Errorf(hub.InvalidArgument, "%s", message).
		WithHint("correct the arguments and call again").
		WithDetail("fields", c.problems)
}
