package api

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/dispatch"
	"github.com/runnerhub/runnerhub/mcp"
)

var fileLimits = limits{"job_id": idLimit, "service": upTo(63), "path": text(4096)}

func readJobFile(s Services) Operation {
	return define(Operation{
		Name: mcp.ToolReadJobFile, Title: "Read a file in a job", Audience: People, Toolset: JobTools,
		Description: "A file below a job's working directory, from offset on, or the entries of a folder. Works where exec_in_job does.",
		Hints:       Hints{ReadOnly: true, Idempotent: true},
		Route:       Route{Method: http.MethodGet, Path: "/jobs/{job_id}/file"},
		limits: fileLimits.with(limits{
			"offset": atLeast(0), "max_bytes": between(1, dispatch.MaxFilePage),
		}),
	}, func(ctx context.Context, p hub.Principal, in mcp.ReadJobFileArgs) (mcp.ReadJobFileResult, error) {
		got, err := s.Jobs.ReadFile(ctx, p, dispatch.ReadFileRequest{
			FileRequest: dispatch.FileRequest{JobID: in.JobID, Service: in.Service, Path: in.Path}, Offset: in.Offset, Max: in.MaxBytes,
		})
		if err != nil {
			return mcp.ReadJobFileResult{}, err
		}
		return fileView(in.Offset, got), nil
	}, fileText)
}

func writeJobFile(s Services) Operation {
	return define(Operation{
		Name: mcp.ToolWriteJobFile, Title: "Write a file in a job", Audience: People, Toolset: JobTools,
		Description: "Make or replace a file below a job's working directory, at most 1 MiB. Works where exec_in_job does.",
		Hints:       Hints{Destructive: true, Idempotent: true, OpenWorld: true},
		Route:       Route{Method: http.MethodPut, Path: "/jobs/{job_id}/file", MaxBody: 4 << 20},
		limits: fileLimits.with(limits{
			"content": upTo(dispatch.MaxFileBytes), "content_base64": upTo(2 * dispatch.MaxFileBytes), "mode": upTo(4),
		}),
	}, func(ctx context.Context, p hub.Principal, in mcp.WriteJobFileArgs) (mcp.WriteJobFileResult, error) {
		content, err := eitherBytes("content", in.Content, in.ContentBase64)
		if err != nil {
			return mcp.WriteJobFileResult{}, err
		}
		created, err := s.Jobs.WriteFile(ctx, p, dispatch.WriteFileRequest{
			FileRequest: dispatch.FileRequest{JobID: in.JobID, Service: in.Service, Path: in.Path}, Content: content, Mode: in.Mode,
		})
		return mcp.WriteJobFileResult{Created: created}, err
	}, func(out mcp.WriteJobFileResult) string {
		if out.Created {
			return "The file is there now."
		}
		return "The file was there and is replaced."
	})
}

// eitherBytes is what an argument says, or the one that says the same in base64.
func eitherBytes(field, plain, encoded string) ([]byte, error) {
	if encoded == "" {
		return []byte(plain), nil
	}
	if plain != "" {
		return nil, hub.Errorf(hub.InvalidArgument, "%s and %s_base64 exclude each other", field, field)
	}
	data, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil, hub.Errorf(hub.InvalidArgument, "%s_base64 is no base64", field)
	}
	return data, nil
}

func fileView(offset int64, got dispatch.FilePage) mcp.ReadJobFileResult {
	out := mcp.ReadJobFileResult{Type: mcp.TypeFile, SizeBytes: got.Size}
	if got.Folder {
		out.Type = mcp.TypeFolder
		for _, e := range got.Entries {
			entry := mcp.FileEntry{Name: strings.ToValidUTF8(e.Name, "\uFFFD"), Type: e.Type}
			if e.Type == mcp.TypeFile && e.Size >= 0 {
				entry.SizeBytes = &e.Size
			}
			out.Entries = append(out.Entries, entry)
		}
		if more := got.Total - len(got.Entries); more > 0 {
			out.Note = fmt.Sprintf("%d more are left out; list them with exec_in_job.", more)
		}
		return out
	}
	data := got.Data
	if whole := wholeText(data); len(whole) > 0 {
		out.Text, data = string(whole), whole
	} else if len(data) > 0 {
		out.Base64 = base64.StdEncoding.EncodeToString(data)
	}
	if end := offset + int64(len(data)); end < got.Size && len(data) > 0 {
		out.NextOffset = end
		out.Note = fmt.Sprintf("These are %s from %d of %d; read on with offset=%d.", plural(len(data), "byte"), offset, got.Size, end)
	}
	return out
}

// fileText is the file for a model that is given text and no structure.
func fileText(out mcp.ReadJobFileResult) string {
	var b strings.Builder
	switch {
	case out.Type == mcp.TypeFolder:
		fmt.Fprintf(&b, "A folder; these are %d of its entries. %s\n%s\n", len(out.Entries), out.Note, untrusted)
		for _, e := range out.Entries {
			b.WriteString(e.Name)
			switch {
			case e.Type == mcp.TypeFolder:
				b.WriteString("/")
			case e.SizeBytes != nil:
				fmt.Fprintf(&b, "  %d", *e.SizeBytes)
			default:
				b.WriteString("  " + e.Type)
			}
			b.WriteString("\n")
		}
	case out.Base64 != "":
		fmt.Fprintf(&b, "The file is no text; base64 has its bytes. %s", out.Note)
	default:
		fmt.Fprintf(&b, "The file has %s. %s\n%s\n%s", plural(int(out.SizeBytes), "byte"), out.Note, untrusted, out.Text)
	}
	return b.String()
}
