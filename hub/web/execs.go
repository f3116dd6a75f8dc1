package web

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/api"
	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/pairing"
)

// Execs is what moves the bytes of requests to reach into a job; *dispatch.Service does.
type Execs interface {
	BeginExec(ctx context.Context, capDigest []byte, execID, claim string) error
	EndExec(ctx context.Context, capDigest []byte, execID, claim string, e hub.ExecEnd) error
	ExecInput(ctx context.Context, capDigest []byte, execID string, from int64) ([]byte, error)
	AppendExec(ctx context.Context, capDigest []byte, execID string, stderr bool, offset int64, data []byte) (int64, error)

	FillExec(ctx context.Context, p hub.Principal, jobID, execID string, offset int64, data []byte) (int64, error)
	ReadExec(ctx context.Context, p hub.Principal, jobID, execID string, from int64, wait time.Duration) (data []byte, open bool, err error)
}

// OpenHeader says with a part of an output whether more may come: "true" or "false".
const OpenHeader = "Runnerhub-Open"

// execRoutes adds both ends of a request: the runner's, whose right is the capability of its attempt's log, and the caller's.
func execRoutes(mux *http.ServeMux, o Options, signedIn func(http.Handler) http.Handler) {
	x := &execs{Execs: o.Execs, o: o}
	for end, m := range map[string]methods{
		"begin":  {http.MethodPost: x.capable(x.begin)},
		"end":    {http.MethodPost: x.capable(x.end)},
		"input":  {http.MethodGet: x.capable(x.input)},
		"output": {http.MethodPut: x.capable(x.output)},
	} {
		mux.Handle(runnersExec+end, m)
	}
	mux.Handle(callersExec+"input", methods{http.MethodPut: signedIn(http.HandlerFunc(x.fill))})
	mux.Handle(callersExec+"output", methods{http.MethodGet: signedIn(http.HandlerFunc(x.read))})
}

const (
	runnersExec = api.Base + "/logs/{token}/execs/{exec_id}/"
	callersExec = api.Base + "/jobs/{job_id}/execs/{exec_id}/"
)

type execs struct {
	Execs
	o Options
}

// capable finds the capability in the path; a runner's token is neither needed nor looked at.
func (x *execs) capable(f func(w http.ResponseWriter, r *http.Request, digest []byte, id string) *mcp.Error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token := r.PathValue("token")
		if _, err := pairing.Check(token, pairing.Capability); err != nil {
			refuse(w, r, fault(mcp.CodeNotFound, "there is no such request at this URL", "begin with the log_url of the lease, whole"))
			return
		}
		if e := f(w, r, hub.Digest(token), r.PathValue("exec_id")); e != nil {
			refuse(w, r, e)
		}
	})
}

func (x *execs) begin(w http.ResponseWriter, r *http.Request, digest []byte, id string) *mcp.Error {
	var in mcp.BeginExecArgs
	if e := readJSON(w, r, &in); e != nil {
		return e
	}
	if in.Claim == "" || len(in.Claim) > 128 {
		return fault(mcp.CodeInvalidArgument, "claim has 1 to 128 bytes", "send a fresh random word")
	}
	return x.answer(w, r, struct{}{}, x.BeginExec(r.Context(), digest, id, in.Claim))
}

func (x *execs) end(w http.ResponseWriter, r *http.Request, digest []byte, id string) *mcp.Error {
	var in mcp.EndExecArgs
	if e := readJSON(w, r, &in); e != nil {
		return e
	}
	return x.answer(w, r, struct{}{}, x.EndExec(r.Context(), digest, id, in.Claim, hub.ExecEnd{
		Status: in.Status, ExitCode: in.ExitCode, Message: in.Message, Truncated: in.Truncated,
	}))
}

func (x *execs) input(w http.ResponseWriter, r *http.Request, digest []byte, id string) *mcp.Error {
	offset, e := offsetOf(r)
	if e != nil {
		return e
	}
	data, err := x.ExecInput(r.Context(), digest, id, offset)
	if err != nil {
		return api.Report(r.Context(), x.o.Log, err)
	}
	writeBytes(w, data)
	return nil
}

func (x *execs) output(w http.ResponseWriter, r *http.Request, digest []byte, id string) *mcp.Error {
	offset, e := offsetOf(r)
	if e != nil {
		return e
	}
	stream := r.URL.Query().Get("stream")
	if stream != "stdout" && stream != "stderr" {
		return fault(mcp.CodeInvalidArgument, "stream must be stdout or stderr", "send PUT …/output?stream=stdout&offset=N")
	}
	data, e := readBody(w, r, mcp.MaxCopyChunk)
	if e != nil {
		return e
	}
	next, err := x.AppendExec(r.Context(), digest, id, stream == "stderr", offset, data)
	return x.answer(w, r, mcp.PutExecResult{NextOffset: next}, err)
}

func (x *execs) fill(w http.ResponseWriter, r *http.Request) {
	offset, e := offsetOf(r)
	if err := api.Permit(api.PrincipalFrom(r.Context()), api.JobTools, true); err != nil {
		e = api.Fault(err)
	}
	var data []byte
	if e == nil {
		data, e = readBody(w, r, mcp.MaxCopyChunk)
	}
	if e == nil {
		next, err := x.FillExec(r.Context(), api.PrincipalFrom(r.Context()), r.PathValue("job_id"), r.PathValue("exec_id"), offset, data)
		e = x.answer(w, r, mcp.PutExecResult{NextOffset: next}, err)
	}
	if e != nil {
		refuse(w, r, e)
	}
}

func (x *execs) read(w http.ResponseWriter, r *http.Request) {
	offset, e := offsetOf(r)
	if err := api.Permit(api.PrincipalFrom(r.Context()), api.JobTools, false); err != nil {
		e = api.Fault(err)
	}
	if e != nil {
		refuse(w, r, e)
		return
	}
	wait, err := strconv.ParseInt(r.URL.Query().Get("wait_ms"), 10, 64)
	if r.URL.Query().Get("wait_ms") != "" && (err != nil || wait < 0 || wait > mcp.MaxWait) {
		refuse(w, r, fault(mcp.CodeInvalidArgument, "wait_ms must be 0 to "+strconv.Itoa(mcp.MaxWait), "leave it out for an answer at once"))
		return
	}
	data, open, err := x.ReadExec(r.Context(), api.PrincipalFrom(r.Context()), r.PathValue("job_id"), r.PathValue("exec_id"), offset,
		time.Duration(wait)*time.Millisecond)
	if err != nil {
		refuse(w, r, api.Report(r.Context(), x.o.Log, err))
		return
	}
	w.Header().Set(OpenHeader, strconv.FormatBool(open))
	writeBytes(w, data)
}

func (x *execs) answer(w http.ResponseWriter, r *http.Request, value any, err error) *mcp.Error {
	if err != nil {
		return api.Report(r.Context(), x.o.Log, err)
	}
	writeJSON(w, http.StatusOK, value)
	return nil
}

func offsetOf(r *http.Request) (int64, *mcp.Error) {
	offset, err := strconv.ParseInt(r.URL.Query().Get("offset"), 10, 64)
	if err != nil || offset < 0 {
		return 0, fault(mcp.CodeInvalidArgument, "offset must be a number from 0 on", "send the next_offset of the answer before")
	}
	return offset, nil
}

// readJSON reads a small body.
func readJSON(w http.ResponseWriter, r *http.Request, into any) *mcp.Error {
	body, e := readBody(w, r, api.DefaultBody)
	if e != nil {
		return e
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fault(mcp.CodeInvalidArgument, "the body cannot be read", "send one JSON object")
	}
	return nil
}

// writeBytes answers bytes that nobody shall take for a page of the hub's.
func writeBytes(w http.ResponseWriter, data []byte) {
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	_, _ = w.Write(data)
}
