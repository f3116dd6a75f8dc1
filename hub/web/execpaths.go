package web

import (
	"fmt"

	"github.com/runnerhub/runnerhub/hub/api"
	"github.com/runnerhub/runnerhub/mcp"
)

// execPaths describes the routes of bytes.
func execPaths(paths object) {
	text := object{"type": "string"}
	number := object{"type": "integer", "minimum": 0}
	param := func(name, in string, schema object) object {
		return object{"name": name, "in": in, "required": true, "schema": schema}
	}
	binary := object{"application/octet-stream": object{}}
	bytesOut := object{
		"200":     object{"description": "The next bytes, none at the end", "content": binary},
		"default": object{"$ref": "#/components/responses/Error"},
	}
	add := func(path, method, id, summary, description, tag string, params []any, body, answers object) {
		e := object{
			"operationId": id, "summary": summary, "description": description, "tags": []string{tag}, "security": []any{},
			"parameters": params, "responses": answers,
		}
		if tag == string(api.People) {
			e["security"] = []any{object{tag: []string{}}}
		}
		if body != nil {
			e["requestBody"] = object{"required": true, "content": body}
		}
		item, ok := paths[path].(object)
		if !ok {
			item = object{}
			paths[path] = item
		}
		item[method] = e
	}
	runner := []any{param("token", "path", text), param("exec_id", "path", text)}
	at := func(own []any, more ...any) []any {
		return append(append(append([]any{}, own...), param("offset", "query", number)), more...)
	}
	empty := object{"200": object{"description": "Done", "content": jsonContent(object{"type": "object"})}, "default": object{"$ref": "#/components/responses/Error"}}
	open := string(api.Open)
	add(runnersExec+"begin", "post", "begin_exec", "Begin a request",
		"Before a runner carries out a request of a heartbeat's answer: whoever comes first, with a word of its own, may; the same word again may too. "+
			"already_settled says to leave it alone.", open, runner,
		jsonContent(object{"type": "object", "properties": object{"claim": text}, "required": []string{"claim"}}), empty)
	add(runnersExec+"end", "post", "end_exec", "End a request", "What a request came to: status exited, failed, timed_out or stopped.", open, runner,
		jsonContent(object{"type": "object", "properties": object{
			"claim": text, "status": text, "exit_code": object{"type": "integer"}, "message": text, "truncated": object{"type": "boolean"},
		}, "required": []string{"claim", "status"}}), empty)
	add(runnersExec+"input", "get", "get_exec_input", "Read what goes into a request", "The next bytes from an offset on.", open, at(runner), nil, bytesOut)
	add(runnersExec+"output", "put", "put_exec_output", "Send what a request put out",
		fmt.Sprintf("The next bytes of a stream: up to %d of a command's, %d of an archive. A repeat is accepted.", mcp.MaxExecChunk, mcp.MaxCopyChunk),
		open, at(runner, param("stream", "query", object{"enum": []string{"stdout", "stderr"}})), binary, responses("PutExecResult"))
	caller := []any{param("job_id", "path", text), param("exec_id", "path", text)}
	people := string(api.People)
	add(callersExec+"input", "put", "put_copy", "Send an archive that start_copy announced",
		fmt.Sprintf("Up to %d bytes at their offset.", mcp.MaxCopyChunk), people, at(caller), binary, responses("PutExecResult"))
	add(callersExec+"output", "get", "get_copy", "Read an archive that start_copy asked for",
		"The next bytes from an offset on, held up to wait_ms; the header "+OpenHeader+" says whether more may come.", people,
		at(caller, object{"name": "wait_ms", "in": "query", "schema": object{"type": "integer", "minimum": 0, "maximum": mcp.MaxWait}}), nil, bytesOut)
}
