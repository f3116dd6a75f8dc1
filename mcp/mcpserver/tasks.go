package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/runnerhub/runnerhub/hub/api"
	"github.com/runnerhub/runnerhub/mcp"
)

// The tasks extension of MCP (SEP-2663): a client that announces it with a call of submit_job is given a task in place of an
// answer that says that the job has only begun, and asks for that until there is a result. The task is the job, and its id the job's:
// nothing is kept here, so any hub over the store answers, also after a restart.
//
// mcp-go does not know the extension. It checks these requests like all others and then says that there is no such
// method; that is where this begins.

// tasksExtension is what clients and servers announce.
const tasksExtension = "io.modelcontextprotocol/tasks"

// resultTypeTask marks a result as a task.
const resultTypeTask mcpgo.ResultType = "task"

// taskRequest is a request of the extension's.
type taskRequest struct {
	Method string `json:"method"`
	Params struct {
		Meta   *mcpgo.Meta `json:"_meta"`
		TaskID string      `json:"taskId"`
	} `json:"params"`
}

// taskRequestIn reads a message that is one; nil for any other.
func taskRequestIn(message []byte) *taskRequest {
	if !bytes.Contains(message, []byte("tasks/")) {
		return nil // most messages need not be read for this
	}
	var r taskRequest
	if json.Unmarshal(message, &r) != nil {
		return nil
	}
	switch r.Method {
	case "tasks/get", "tasks/update", "tasks/cancel":
		return &r
	}
	return nil
}

// taskResult is a task on the wire.
type taskResult struct {
	Meta           map[string]any        `json:"_meta"`
	ResultType     mcpgo.ResultType      `json:"resultType"`
	TaskID         string                `json:"taskId"`
	Status         api.TaskStatus        `json:"status"`
	StatusMessage  string                `json:"statusMessage,omitempty"`
	CreatedAt      time.Time             `json:"createdAt"`
	LastUpdatedAt  time.Time             `json:"lastUpdatedAt"`
	TTLMS          *int64                `json:"ttlMs"`
	PollIntervalMS int64                 `json:"pollIntervalMs"`
	Result         *mcpgo.CallToolResult `json:"result,omitempty"`
}

// acknowledgement is the answer to what changes a task.
type acknowledgement struct {
	Meta       map[string]any   `json:"_meta"`
	ResultType mcpgo.ResultType `json:"resultType"`
}

func taskView(t api.Task, as mcpgo.ResultType) taskResult {
	out := taskResult{
		Meta: serverMeta(), ResultType: as, TaskID: t.ID, Status: t.Status, StatusMessage: t.Message,
		CreatedAt: t.CreatedAt, LastUpdatedAt: t.UpdatedAt, PollIntervalMS: t.Poll.Milliseconds(),
	}
	if t.TTL > 0 {
		ttl := t.TTL.Milliseconds()
		out.TTLMS = &ttl
	}
	if t.Result != nil {
		out.Result = success(*t.Result, t.Text, t.Links, true)
		out.Result.ResultType = mcpgo.ResultTypeComplete
	}
	return out
}

// serverMeta says who answers, as mcp-go does in its own answers.
func serverMeta() map[string]any {
	return map[string]any{mcpgo.MetaKeyServerInfo: mcpgo.Implementation{Name: serverName, Title: serverTitle, Version: mcp.Version}}
}

// announcesTasks says whether a client takes tasks, which it says with each request anew.
func announcesTasks(c *mcpgo.ClientCapabilities) bool {
	if c == nil {
		return false
	}
	_, ok := c.Extensions[tasksExtension]
	return ok
}

// offerTask answers a call that has stored a job with a task, where its client takes one and the job goes on.
func offerTask(ctx context.Context, lib *api.Library, value any) bool {
	stored, ok := value.(mcp.SubmitJobResult)
	info := server.RequestProtocolInfoFromContext(ctx)
	if !ok || info == nil || !info.Modern || !announcesTasks(info.ClientCapabilities) {
		return false
	}
	t, ok := lib.TaskOf(stored)
	if ok {
		exchangeOf(ctx).reply = &reply{http.StatusOK, answerTo{Result: taskView(t, resultTypeTask)}}
	}
	return ok
}

// answer serves a request of the extension's that mcp-go has found nothing wrong with.
func (r *taskRequest) answer(ctx context.Context, lib *api.Library, header http.Header) reply {
	refused := func(err rpcError) reply { return reply{modernStatus(err.Code), answerTo{Error: &err}} }
	if !announcesTasks(r.Params.Meta.ClientCapabilities()) {
		return refused(rpcError{mcpgo.MISSING_REQUIRED_CLIENT_CAPABILITY, "this needs a client that announces " + tasksExtension + " with the request", map[string]any{
			"requiredCapabilities": map[string]any{"extensions": map[string]any{tasksExtension: struct{}{}}},
		}})
	}
	if name, ok := mcpgo.DecodeHeaderValue(header.Get(mcpgo.HeaderName)); !ok || name != r.Params.TaskID {
		return refused(rpcError{Code: mcpgo.HEADER_MISMATCH, Message: "the header " + mcpgo.HeaderName + " is not the taskId of the request"})
	}
	var result any = acknowledgement{serverMeta(), mcpgo.ResultTypeComplete}
	var fault *mcp.Error
	switch r.Method {
	case "tasks/cancel":
		fault = lib.CancelTask(ctx, r.Params.TaskID)
	default: // jobs ask for no input, so there is nothing that an update could answer
		var t api.Task
		if t, fault = lib.Task(ctx, r.Params.TaskID); r.Method == "tasks/get" {
			result = taskView(t, mcpgo.ResultTypeComplete)
		}
	}
	if fault != nil {
		return refused(rpcFault(fault, mcpgo.INVALID_PARAMS))
	}
	return reply{http.StatusOK, answerTo{Result: result}}
}
