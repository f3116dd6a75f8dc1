package aiclient

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
)

// Server is how a client starts an MCP server.
type Server struct {
	Command string // a path that needs no search
	Args    []string
}

// starts tells whether an entry starts `runnerctl mcp`: s itself, or a runnerctl of another place or with another profile.
func (s Server) starts(command string, args []string) bool {
	base := path.Base(strings.ReplaceAll(command, `\`, "/"))
	return (command == s.Command || strings.TrimSuffix(base, ".exe") == "runnerctl") && slices.Contains(args, "mcp")
}

// MalformedError is a file that cannot be read, so that nothing in it is touched.
type MalformedError struct {
	Line   int // from 1; 0 if the fault is not at one place
	Reason string
}

// Error implements error.
func (e *MalformedError) Error() string {
	if e.Line == 0 {
		return e.Reason
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.Reason)
}

// ForeignError is an entry that somebody else has made.
type ForeignError struct{ Name string }

// Error implements error.
func (e *ForeignError) Error() string {
	return fmt.Sprintf("the server %q there does not start `runnerctl mcp`", e.Name)
}

// quote writes a value as JSON, which is TOML too for strings and lists of them.
func quote(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err) // strings and lists of them
	}
	return strings.TrimSpace(b.String())
}

// newline is how the lines of a text end.
func newline(text []byte) string {
	if bytes.Contains(text, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}

// splice is text with the bytes from begin to end replaced.
func splice(text []byte, begin, end int, by string) []byte {
	return slices.Concat(text[:begin], []byte(by), text[end:])
}
