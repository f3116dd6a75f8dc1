package agent_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strings"

	"github.com/runnerhub/runnerhub/mcp"
)

// UploadArtifact implements agent.Client. It knows every announcement's lease by its URL.
func (h *fakeHub) UploadArtifact(ctx context.Context, args mcp.UploadArtifactArgs) (mcp.UploadTicket, error) {
	if err := h.enter(ctx, mcp.ToolUploadArtifact, args); err != nil {
		return mcp.UploadTicket{}, err
	}
	h.mu.Lock()
	j := h.jobs[args.JobID]
	stale := j == nil || j.Lease == nil || j.Lease.LeaseToken != args.LeaseToken
	h.mu.Unlock()
	if stale {
		return mcp.UploadTicket{}, &mcp.Error{Code: mcp.CodeStaleLease, Message: "the lease is not the job's"}
	}
	return mcp.UploadTicket{UploadURL: args.JobID + "|" + args.Path + "|" + args.SHA256}, h.leave(mcp.ToolUploadArtifact, args)
}

// Upload implements agent.Client.
func (h *fakeHub) Upload(ctx context.Context, t mcp.UploadTicket, from io.ReaderAt, size int64, sent func(int64)) error {
	if err := h.enter(ctx, "upload", t); err != nil {
		return err
	}
	data, err := io.ReadAll(io.NewSectionReader(from, 0, size))
	if err != nil {
		return err
	}
	part := strings.Split(t.UploadURL, "|")
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != part[2] {
		return &mcp.Error{Code: mcp.CodeInvalidArgument, Message: "other bytes than were announced"}
	}
	sent(size)
	h.mu.Lock()
	j := h.jobs[part[0]]
	if j.Files == nil {
		j.Files = map[string]string{}
	}
	j.Files[part[1]] = string(data)
	h.mu.Unlock()
	return h.leave("upload", t)
}

// PutLog implements agent.Client.
func (h *fakeHub) PutLog(ctx context.Context, url string, offset int64, chunk []byte) (mcp.PutLogResult, error) {
	if err := h.enter(ctx, "log", offset); err != nil {
		return mcp.PutLogResult{}, err
	}
	var id string
	var n int
	if _, err := fmt.Sscanf(string(bytes.ReplaceAll([]byte(url), []byte("/"), []byte(" "))), " log %s %d", &id, &n); err != nil {
		return mcp.PutLogResult{}, &mcp.Error{Code: mcp.CodeNotFound, Message: "no such log"}
	}
	h.mu.Lock()
	j := h.jobs[id]
	if j.Logs[n] == nil {
		j.Logs[n] = &bytes.Buffer{}
	}
	b := j.Logs[n]
	size := int64(b.Len())
	switch {
	case len(chunk) > mcp.MaxLogChunk:
		h.mu.Unlock()
		return mcp.PutLogResult{}, &mcp.Error{Code: mcp.CodeTooLarge, Message: "the chunk is too large"}
	case offset > size:
		h.mu.Unlock()
		return mcp.PutLogResult{}, &mcp.Error{Code: mcp.CodeConflict, Message: "a gap", Details: map[string]any{"next_offset": float64(size)}}
	case !bytes.Equal(b.Bytes()[offset:min(size, offset+int64(len(chunk)))], chunk[:min(size-offset, int64(len(chunk)))]):
		h.mu.Unlock()
		return mcp.PutLogResult{}, &mcp.Error{Code: mcp.CodeConflict, Message: "other bytes"}
	}
	if rest := offset + int64(len(chunk)) - size; rest > 0 {
		b.Write(chunk[int64(len(chunk))-rest:])
	}
	next := int64(b.Len())
	h.signal()
	h.mu.Unlock()
	return mcp.PutLogResult{NextOffset: next}, h.leave("log", offset)
}
