package api

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/dispatch"
	"github.com/runnerhub/runnerhub/mcp"
)

func uploadArtifact(s Services) Operation {
	return define(Operation{
		Name: mcp.ToolUploadArtifact, Title: "Announce an artifact", Audience: Runner,
		Description: "Announce a file that a leased job left, by its size and SHA-256, before the job's result is reported. Send its bytes to upload_url, in parts from " +
			"next_offset on (PUT upload_url?offset=N); it exists once all have arrived and were checked. With exists there is nothing to send. " +
			"The same announcement again answers the same URL and how far it got.",
		Hints: Hints{Idempotent: true},
		Route: Route{Method: http.MethodPost, Path: "/jobs/{job_id}/artifacts"},
		limits: proofLimits.with(limits{
			"name": text(512), "path": text(1024), "size": atLeast(0), "sha256": text(64),
		}),
	}, func(ctx context.Context, p hub.Principal, in mcp.UploadArtifactArgs) (mcp.UploadTicket, error) {
		digest, err := digestOf(in.SHA256)
		if err != nil {
			return mcp.UploadTicket{}, err
		}
		t, err := s.Jobs.UploadArtifact(ctx, p, dispatch.ArtifactRequest{
			JobID: in.JobID, Proof: proofOf(in.LeaseProof), Size: in.Size, Digest: digest,
			File: hub.ArtifactFile{Name: in.Name, Path: in.Path, Executable: in.Executable},
		})
		return ticketView(baseURL(ctx), t), err
	}, func(out mcp.UploadTicket) string {
		if out.Exists {
			return "The hub has it."
		}
		return fmt.Sprintf("Send its bytes from %d on.", out.NextOffset)
	})
}

// digestOf reads the SHA-256 of an announcement.
func digestOf(text string) ([]byte, error) {
	digest, err := hex.DecodeString(text)
	if err != nil {
		return nil, hub.Errorf(hub.InvalidArgument, "sha256 is not in hexadecimal digits").
			WithHint("send the 64 digits that sha256sum prints")
	}
	return digest, nil
}

// ticketView is an announcement's answer for its sender.
func ticketView(base string, t dispatch.UploadTicket) mcp.UploadTicket {
	out := mcp.UploadTicket{Exists: t.Blob != nil, NextOffset: t.NextOffset, ExpiresMS: ms(t.Expires)}
	if t.Token != "" {
		out.UploadURL = base + UploadPath(t.Token)
	}
	return out
}

func listArtifacts(s Services) Operation {
	return leading(define(Operation{
		Name: mcp.ToolListArtifacts, Title: "List a job's artifacts", Audience: People, Toolset: ArtifactTools,
		Description: "The files that a job's attempt left, by path, with size, SHA-256 and a URL to download each with an API key. " +
			"read_artifact shows the text of one. What tests came to is in get_job already, as result.tests, and small values are in result.outputs.",
		Hints:  Hints{ReadOnly: true, Idempotent: true},
		Route:  Route{Method: http.MethodGet, Path: "/jobs/{job_id}/artifacts"},
		limits: limits{"job_id": idLimit, "attempt": atLeast(0), "limit": pageLimit, "cursor": upTo(2048)},
	}, func(ctx context.Context, p hub.Principal, in mcp.ListArtifactsArgs) (mcp.ListArtifactsResult, error) {
		got, err := s.Jobs.ListArtifacts(ctx, p, dispatch.ArtifactsRequest{JobID: in.JobID, Attempt: in.Attempt, Cursor: in.Cursor, Limit: in.Limit})
		if err != nil {
			return mcp.ListArtifactsResult{}, err
		}
		out := mcp.ListArtifactsResult{JobID: got.JobID, Attempt: got.Attempt, Artifacts: []mcp.Artifact{}, NextCursor: got.NextCursor, Note: got.Note}
		for _, a := range got.Artifacts {
			out.Artifacts = append(out.Artifacts, artifactView(baseURL(ctx), a))
		}
		return out, nil
	}, artifactsText), artifactLinks)
}

func artifactLinks(out mcp.ListArtifactsResult) []mcp.Resource {
	var links []mcp.Resource
	for _, a := range out.Artifacts[:min(len(out.Artifacts), maxListRefs)] {
		links = append(links, artifactResource(out.JobID, out.Attempt, a))
	}
	return links
}

func readArtifact(s Services) Operation {
	return define(Operation{
		Name: mcp.ToolReadArtifact, Title: "Read an artifact", Audience: People, Toolset: ArtifactTools,
		Description: "The text of a file that a job left, up to 32 KiB from offset on; next_offset says where to read on. A file that is no text, or a large one, " +
			"is downloaded from artifact.url with an API key, or with `runnerctl download`.",
		Hints:  Hints{ReadOnly: true, Idempotent: true},
		Route:  Route{Method: http.MethodGet, Path: "/jobs/{job_id}/artifact"},
		limits: limits{"job_id": idLimit, "path": text(1024), "attempt": atLeast(0), "offset": atLeast(0)},
	}, func(ctx context.Context, p hub.Principal, in mcp.ReadArtifactArgs) (mcp.ReadArtifactResult, error) {
		a, err := s.Jobs.Artifact(ctx, p, in.JobID, in.Attempt, in.Path)
		if err != nil {
			return mcp.ReadArtifactResult{}, err
		}
		out := mcp.ReadArtifactResult{JobID: a.JobID, Attempt: a.Attempt, Artifact: artifactView(baseURL(ctx), a)}
		if in.Offset > a.Size {
			return out, hub.Errorf(hub.InvalidArgument, "offset %d is beyond the file's %d bytes", in.Offset, a.Size).
				WithHint("start at 0, and go on from next_offset of the answer before")
		}
		r, err := s.Jobs.OpenArtifact(ctx, a, in.Offset, mcp.MaxArtifactText)
		if err != nil {
			return out, err
		}
		defer r.Close()
		data, err := io.ReadAll(r)
		if err != nil {
			return out, err
		}
		end := in.Offset + int64(len(data))
		if whole := wholeText(data); whole != nil {
			if out.Text = string(whole); end < a.Size {
				out.NextOffset = in.Offset + int64(len(whole))
				out.Note = fmt.Sprintf("These are %d of %d bytes; read on with offset=%d.", len(whole), a.Size, out.NextOffset)
			}
			return out, nil
		}
		out.Note = "The file is no text in UTF-8; download it from artifact.url."
		return out, nil
	}, func(out mcp.ReadArtifactResult) string {
		if out.Text == "" && out.Note != "" {
			return out.Note
		}
		return strings.TrimSpace(fmt.Sprintf("%s of %s. %s", plural(len(out.Text), "byte"), out.Artifact.Path, out.Note)) + "\n" + untrusted + "\n" + out.Text
	})
}

// wholeText is text up to the last whole character, nil for what is none. A character may have been cut off at the end.
func wholeText(data []byte) []byte {
	for cut := range min(utf8.UTFMax, len(data)+1) {
		if part := data[:len(data)-cut]; utf8.Valid(part) && !strings.Contains(string(part), "\x00") {
			return append([]byte{}, part...)
		}
	}
	return nil
}

// ArtifactContent is where the bytes of an artifact are; its pattern's fields are job_id and path.
const ArtifactContent = Base + "/jobs/{job_id}/files/{path...}"

func artifactView(base string, a hub.Artifact) mcp.Artifact {
	elements := strings.Split(a.Path, "/")
	for i, e := range elements {
		elements[i] = url.PathEscape(e)
	}
	return mcp.Artifact{
		Name: a.Name, Path: a.Path, Size: a.Size, SHA256: hex.EncodeToString(a.Digest), Executable: a.Executable,
		URL:       base + Base + "/jobs/" + url.PathEscape(a.JobID) + "/files/" + strings.Join(elements, "/") + "?attempt=" + strconv.Itoa(a.Attempt),
		CreatedAt: a.CreatedAt, ExpiresAt: a.ExpiresAt,
	}
}
