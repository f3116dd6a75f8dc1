package web

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/runnerhub/runnerhub/hub/api"
	"github.com/runnerhub/runnerhub/mcp"
)

// bind joins what the path, the query and the body say to the operation's
// arguments. Whether they are right is for the operation to say; a name twice is refused here.
func bind(op *api.Operation, r *http.Request, body []byte) (json.RawMessage, *mcp.Error) {
	args := map[string]json.RawMessage{}
	if len(bytes.TrimSpace(body)) > 0 {
		if err := json.Unmarshal(body, &args); err != nil {
			return nil, fault(mcp.CodeInvalidArgument, "the body is not a JSON object", "send one JSON object")
		}
		if args == nil { // the body was null
			args = map[string]json.RawMessage{}
		}
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, fault(mcp.CodeInvalidArgument, "the query cannot be read", "escape it as in an HTML form")
	}
	for name, values := range query {
		if _, twice := args[name]; twice {
			return nil, fault(mcp.CodeInvalidArgument, name+" is in the query and in the body", "send it once")
		}
		raw, e := queryValue(name, op.Input.Properties[name], values)
		if e != nil {
			return nil, e
		}
		args[name] = raw
	}
	for _, name := range PathFields(op.Route.Path) {
		if _, twice := args[name]; twice {
			return nil, fault(mcp.CodeInvalidArgument, name+" is in the path already", "leave it out of query and body")
		}
		args[name] = quoted(r.PathValue(name))
	}
	raw, err := json.Marshal(args)
	if err != nil { // a value of the body that is not JSON would have failed above
		return nil, fault(mcp.CodeInvalidArgument, "the body is not a JSON object", "send one JSON object")
	}
	return raw, nil
}

// queryValue reads a query's text as the type that the field has. What does not
// fit stays text, so that the operation says what it should have been.
func queryValue(name string, field *jsonschema.Schema, values []string) (json.RawMessage, *mcp.Error) {
	if field != nil && field.Type == "array" {
		list := make([]string, 0, len(values))
		for _, v := range values {
			list = append(list, strings.Split(v, ",")...)
		}
		raw, _ := json.Marshal(list) // text always can be
		return raw, nil
	}
	if len(values) != 1 {
		return nil, fault(mcp.CodeInvalidArgument, cut(name, 64)+" is in the query more than once", "send it once")
	}
	v := values[0]
	switch {
	case field == nil:
	case field.Type == "integer":
		if n, err := strconv.ParseInt(v, 10, 64); err == nil {
			return json.RawMessage(strconv.FormatInt(n, 10)), nil
		}
	case field.Type == "boolean" && slices.Contains([]string{"true", "false"}, v):
		return json.RawMessage(v), nil
	}
	return quoted(v), nil
}

func quoted(s string) json.RawMessage {
	raw, _ := json.Marshal(s) // text always can be
	return raw
}

// PathFields are the names of the arguments that a route's path holds.
func PathFields(path string) []string {
	var names []string
	for element := range strings.SplitSeq(path, "/") {
		if name, ok := strings.CutPrefix(element, "{"); ok {
			names = append(names, strings.TrimSuffix(name, "}"))
		}
	}
	return names
}
