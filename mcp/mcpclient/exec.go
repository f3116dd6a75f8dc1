package mcpclient

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/runnerhub/runnerhub/mcp"
)

// ExecInJob has a command run in a job's container. It is not repeated when its answer is lost, or it would run twice.
func (c *Client) ExecInJob(ctx context.Context, args mcp.ExecInJobArgs) (mcp.ExecResult, error) {
	return call[mcp.ExecResult](ctx, c, mcp.ToolExecInJob, args, ms(args.WaitMS), once)
}

// WaitExec waits for more of a command.
func (c *Client) WaitExec(ctx context.Context, args mcp.WaitExecArgs) (mcp.ExecResult, error) {
	return call[mcp.ExecResult](ctx, c, mcp.ToolWaitExec, args, ms(args.WaitMS), idempotent)
}

// StopExec kills a command.
func (c *Client) StopExec(ctx context.Context, args mcp.ExecRef) (mcp.ExecResult, error) {
	return call[mcp.ExecResult](ctx, c, mcp.ToolStopExec, args, 0, idempotent)
}

// ReadJobFile reads a part of a file in a job, or lists a folder.
func (c *Client) ReadJobFile(ctx context.Context, args mcp.ReadJobFileArgs) (mcp.ReadJobFileResult, error) {
	return call[mcp.ReadJobFileResult](ctx, c, mcp.ToolReadJobFile, args, mcp.MaxWait*time.Millisecond, idempotent)
}

// WriteJobFile makes or replaces a file in a job.
func (c *Client) WriteJobFile(ctx context.Context, args mcp.WriteJobFileArgs) (mcp.WriteJobFileResult, error) {
	return call[mcp.WriteJobFileResult](ctx, c, mcp.ToolWriteJobFile, args, mcp.MaxWait*time.Millisecond, idempotent)
}

// EndHold lets go of a held job.
func (c *Client) EndHold(ctx context.Context, args mcp.JobRef) (mcp.EndHoldResult, error) {
	return call[mcp.EndHoldResult](ctx, c, mcp.ToolEndHold, args, 0, once)
}

// StartCopy opens a copy into or out of a job.
func (c *Client) StartCopy(ctx context.Context, args mcp.CopyArgs) (mcp.ExecResult, error) {
	body, err := json.Marshal(struct {
		Service string `json:"service,omitempty"`
		Path    string `json:"path"`
		Put     bool   `json:"put,omitempty"`
		Bytes   int64  `json:"bytes,omitempty"`
	}{args.Service, args.Path, args.Put, args.Bytes})
	if err != nil {
		return mcp.ExecResult{}, err
	}
	return rest[mcp.ExecResult](ctx, c, request{
		name: "a copy", method: http.MethodPost, url: c.at("/api/v1/jobs/" + url.PathEscape(args.JobID) + "/copies"), body: body, within: margin,
	}, once)
}

// PutCopy sends a part of an archive that is copied into a job.
func (c *Client) PutCopy(ctx context.Context, ref mcp.ExecRef, offset int64, chunk []byte) (mcp.PutExecResult, error) {
	return rest[mcp.PutExecResult](ctx, c, request{
		name: "an archive", method: http.MethodPut, url: c.ofExec(ref, "input", url.Values{"offset": {number(offset)}}),
		body: chunk, media: "application/octet-stream", within: logWithin,
	}, idempotent)
}

// GetCopy reads the next part of an archive that is copied out of a job, holding the call until there is some; open says
// whether more may come.
func (c *Client) GetCopy(ctx context.Context, ref mcp.ExecRef, offset, waitMS int64) (data []byte, open bool, err error) {
	p, err := bytesOf(ctx, c, request{
		name: "an archive", method: http.MethodGet, within: logWithin + ms(waitMS),
		url: c.ofExec(ref, "output", url.Values{"offset": {number(offset)}, "wait_ms": {number(waitMS)}}),
	})
	return p.data, p.open, err
}

func (c *Client) ofExec(ref mcp.ExecRef, end string, q url.Values) string {
	return c.at("/api/v1/jobs/"+url.PathEscape(ref.JobID)+"/execs/"+url.PathEscape(ref.ExecID)+"/"+end) + "?" + q.Encode()
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

// BeginExec asks whether the runner may carry a request out. claim is a word of its own for this request; the same call again
// gets the same answer. already_settled says to leave the request alone.
func (c *Client) BeginExec(ctx context.Context, logURL, execID, claim string) error {
	return c.postExec(ctx, logURL, execID, "begin", mcp.BeginExecArgs{Claim: claim})
}

// EndExec tells what a request came to.
func (c *Client) EndExec(ctx context.Context, logURL, execID string, end mcp.EndExecArgs) error {
	return c.postExec(ctx, logURL, execID, "end", end)
}

func (c *Client) postExec(ctx context.Context, logURL, execID, end string, args any) error {
	u, err := c.below(logURL, "execs/"+execID+"/"+end, nil)
	if err != nil {
		return err
	}
	body, err := json.Marshal(args)
	if err != nil {
		return err
	}
	_, err = rest[struct{}](ctx, c, request{name: "a request", method: http.MethodPost, url: u, body: body, bare: true, within: margin}, idempotent)
	return err
}

// PutExecOutput sends the next bytes of a stream of a request.
func (c *Client) PutExecOutput(ctx context.Context, logURL, execID, stream string, offset int64, chunk []byte) (mcp.PutExecResult, error) {
	u, err := c.below(logURL, "execs/"+execID+"/output", url.Values{"stream": {stream}, "offset": {number(offset)}})
	if err != nil {
		return mcp.PutExecResult{}, err
	}
	return rest[mcp.PutExecResult](ctx, c, request{
		name: "an output", method: http.MethodPut, url: u, body: chunk, media: "application/octet-stream", bare: true, within: logWithin,
	}, idempotent)
}

// ExecInput reads the next bytes of what goes into a request; none at its end.
func (c *Client) ExecInput(ctx context.Context, logURL, execID string, offset int64) ([]byte, error) {
	u, err := c.below(logURL, "execs/"+execID+"/input", url.Values{"offset": {number(offset)}})
	if err != nil {
		return nil, err
	}
	p, err := bytesOf(ctx, c, request{name: "an input", method: http.MethodGet, url: u, bare: true, within: logWithin})
	return p.data, err
}

// part is an answer of bytes.
type part struct {
	data []byte
	open bool
}

// bytesOf sends a request whose answer is bytes.
func bytesOf(ctx context.Context, c *Client, r request) (part, error) {
	return do(ctx, c.retry, idempotent, func(ctx context.Context) (part, *failure) {
		ctx, sent := watchSent(ctx)
		ctx, cancel := context.WithTimeout(ctx, r.within)
		defer cancel()
		var p part
		err := c.exchange(ctx, r, func(res *http.Response) (err error) {
			p.open = res.Header.Get("Runnerhub-Open") == "true"
			p.data, err = io.ReadAll(res.Body)
			return err
		})
		if err != nil {
			return p, c.failed(err, sent)
		}
		return p, nil
	})
}
