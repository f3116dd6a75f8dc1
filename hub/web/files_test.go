package web_test

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/mcp"
)

// artifact has a job leave a file, as a runner does it, and returns it as its person sees it.
func (h *realHub) artifact(t *testing.T, path, text string) mcp.Artifact {
	t.Helper()
	ctx := t.Context()
	runner, admin := h.client(t, h.pair(t)), h.client(t, h.admin)
	must[mcp.SubmitJobResult](t)(admin.SubmitJob(ctx, mcp.SubmitJobArgs{JobRequest: mcp.JobRequest{Spec: []byte(`{"image":"alpine"}`)}}))
	lease := must[mcp.LeaseJobResult](t)(runner.LeaseJob(ctx, mcp.LeaseJobArgs{
		RequestID: "r", WaitMS: 25_000, Protocol: mcp.Protocol, Capabilities: []string{"docker"}, OS: "linux", Arch: "amd64", Slots: 1, FreeSlots: 1,
	})).Lease
	proof := mcp.LeaseProof{JobID: lease.JobID, Attempt: lease.Attempt, LeaseEpoch: lease.LeaseEpoch, LeaseToken: lease.LeaseToken}
	must[mcp.HeartbeatJobResult](t)(runner.HeartbeatJob(ctx, mcp.HeartbeatJobArgs{LeaseProof: proof, Phase: "collecting"}))
	sum := sha256.Sum256([]byte(text))
	announced := mcp.UploadArtifactArgs{LeaseProof: proof, Name: "out", Path: path, Size: int64(len(text)), SHA256: hex.EncodeToString(sum[:])}
	for _, bad := range []string{"/etc/passwd", "../up", "a/../b", "a\\b", "a\nb", "a//b", "."} {
		odd := announced
		odd.Path = bad
		if _, err := runner.UploadArtifact(ctx, odd); err == nil {
			t.Errorf("the path %q was taken", bad)
		}
	}
	ticket := must[mcp.UploadTicket](t)(runner.UploadArtifact(ctx, announced))
	if got := must[mcp.ListArtifactsResult](t)(admin.ListArtifacts(ctx, mcp.ListArtifactsArgs{JobID: lease.JobID})); len(got.Artifacts) != 0 || got.Note == "" {
		t.Errorf("before it was sent there is %+v", got)
	}
	if err := runner.Upload(ctx, ticket, strings.NewReader(text), int64(len(text)), nil); err != nil {
		t.Fatal(err)
	}
	if known := must[mcp.UploadTicket](t)(runner.UploadArtifact(ctx, announced)); !known.Exists {
		t.Errorf("announced again: %+v", known)
	}
	list := must[mcp.ListArtifactsResult](t)(admin.ListArtifacts(ctx, mcp.ListArtifactsArgs{JobID: lease.JobID}))
	if len(list.Artifacts) != 1 || list.Artifacts[0].Path != path || list.Artifacts[0].SHA256 != announced.SHA256 {
		t.Fatalf("listed: %+v", list)
	}
	read := must[mcp.ReadArtifactResult](t)(admin.ReadArtifact(ctx, mcp.ReadArtifactArgs{JobID: lease.JobID, Path: path, Offset: 8}))
	if read.Text != text[8:] || read.NextOffset != 0 {
		t.Errorf("read: %+v", read)
	}
	return list.Artifacts[0]
}

// stranger is the API key of somebody who belongs to no workspace.
func (h *realHub) stranger(t *testing.T) string {
	t.Helper()
	if _, err := h.accounts.CreateUser(t.Context(), "eve", false); err != nil {
		t.Fatal(err)
	}
	key, _, err := h.accounts.CreateKey(t.Context(), "eve", "laptop", 0, hub.KeyScope{})
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// TestDownloadOfAnArtifact reads an artifact whole and in part, as its person, and as somebody else.
func TestDownloadOfAnArtifact(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	art := h.artifact(t, "out/größe x.html", "<script>0123456789</script>")
	get := func(token, header, value string) (*http.Response, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, art.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		if header != "" {
			req.Header.Set(header, value)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res, string(body)
	}
	res, body := get(h.admin, "", "")
	if res.StatusCode != http.StatusOK || body != "<script>0123456789</script>" || res.Header.Get("Content-Type") != "application/octet-stream" ||
		!strings.HasPrefix(res.Header.Get("Content-Disposition"), "attachment") || res.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%d %q %v", res.StatusCode, body, res.Header)
	}
	if res, body := get(h.admin, "Range", "bytes=8-11"); res.StatusCode != http.StatusPartialContent || body != "0123" {
		t.Errorf("a range: %d %q", res.StatusCode, body)
	}
	if res, body := get(h.admin, "Range", "bytes=-9"); res.StatusCode != http.StatusPartialContent || body != "</script>" {
		t.Errorf("the end: %d %q", res.StatusCode, body)
	}
	if res, _ := get(h.admin, "Range", "bytes=99-"); res.StatusCode != http.StatusRequestedRangeNotSatisfiable {
		t.Errorf("a range beyond the end: %d", res.StatusCode)
	}
	if res, body := get(h.admin, "If-None-Match", `"`+art.SHA256+`"`); res.StatusCode != http.StatusNotModified || body != "" {
		t.Errorf("what the client has: %d", res.StatusCode)
	}
	if res, _ := get("", "", ""); res.StatusCode != http.StatusUnauthorized {
		t.Errorf("without a key: %d", res.StatusCode)
	}
	if res, _ := get(h.stranger(t), "", ""); res.StatusCode != http.StatusNotFound {
		t.Errorf("as somebody else: %d", res.StatusCode)
	}
}
