package api

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/runnerhub/runnerhub/topology"
)

// This file says of arguments that do not fit what was probably meant.

// instead is the value that would fit where one of another type was sent, if it is plain to see, or else what the field is.
func instead(s *jsonschema.Schema, want []string, value any) string {
	text, ok := value.(string)
	switch {
	case ok && slices.Contains(want, "integer"):
		if _, err := strconv.ParseInt(text, 10, 64); err == nil {
			return ": send " + text + " without quotes"
		}
	case ok && slices.Contains(want, "boolean") && (text == "true" || text == "false"):
		return ": send " + text + " without quotes"
	case slices.Contains(want, "string"):
		if n, isNumber := value.(json.Number); isNumber {
			return fmt.Sprintf(": send %q", n.String())
		}
	}
	if s.Description != "" {
		return ": " + s.Description
	}
	return ""
}

// misplaced is where an unknown field was probably meant to go.
func misplaced(name string, s *jsonschema.Schema) string {
	if _, ok := s.Properties["spec"]; ok && topology.HasField(name) {
		return ": it belongs into spec"
	}
	return meant(name, s.PropertyOrder)
}

// otherWords are what other tools call states of a job and the like.
var otherWords = map[string]string{
	"complete": "ended", "completed": "ended", "done": "ended", "finished": "ended", "pending": "queued", "waiting": "queued",
	"in_progress": "running", "success": "succeeded", "passed": "succeeded", "failure": "failed", "error": "failed",
	"cancelled": "canceled", "timeout": "timed_out", "open": "active", "first": "first_failure", "any": "first_failure",
}

// sameWord is the word of a list that stands for one of another tool's.
func sameWord(enum []any, word string) string {
	if ours, ok := otherWords[strings.ToLower(word)]; ok && slices.Contains(enum, any(ours)) {
		return "; that is " + ours + " here"
	}
	return ""
}

// waits says how to wait for longer than one call may take.
func waits(path string, s *jsonschema.Schema, asked float64) string {
	if strings.HasSuffix(path, "wait_ms") && s.Maximum != nil && asked > *s.Maximum {
		return ": call again to wait for longer"
	}
	return ""
}

// meant offers the known name that was probably meant, or else all of them.
func meant(name string, known []string) string {
	switch best := Nearest(name, known); {
	case best != "":
		return "; did you mean " + best + "?"
	case len(known) == 0:
		return "; there are none here"
	default:
		return "; known are " + strings.Join(known, ", ")
	}
}

// Nearest is the known name, in lower case, that was probably meant, or that the name abbreviates; "" for none.
func Nearest(name string, known []string) string {
	name = strings.ToLower(name)
	for _, k := range known {
		if len(name) > 2 && strings.HasPrefix(k, name) {
			return k
		}
	}
	return topology.Nearest(name, known)
}
