package web

import (
	"context"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"path"
	"strconv"
	"time"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/api"
	"github.com/runnerhub/runnerhub/mcp"
)

// Files is what gives the bytes of artifacts out; *dispatch.Service does.
type Files interface {
	Artifact(ctx context.Context, p hub.Principal, jobID string, attempt int, file string) (hub.Artifact, error)
	OpenArtifact(ctx context.Context, a hub.Artifact, offset, length int64) (io.ReadCloser, error)
}

// getFile gives out an artifact as it is, for a person. What a job wrote is never shown as a page of the hub's.
func getFile(files Files, log *slog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, p := r.Context(), api.PrincipalFrom(r.Context())
		if !api.People.Admits(p) {
			refuse(w, r, fault(mcp.CodePermissionDenied, "artifacts are for people and agents", "call it with an API key (ak_…)"))
			return
		}
		if err := api.Permit(p, api.ArtifactTools, false); err != nil {
			refuse(w, r, api.Fault(err))
			return
		}
		attempt := 0
		if text := r.URL.Query().Get("attempt"); text != "" {
			n, err := strconv.Atoi(text)
			if err != nil || n < 0 {
				refuse(w, r, fault(mcp.CodeInvalidArgument, "attempt must be a number from 1 on", "leave it out for the latest one"))
				return
			}
			attempt = n
		}
		a, err := files.Artifact(ctx, p, r.PathValue("job_id"), attempt, r.PathValue("path"))
		if err != nil {
			refuse(w, r, api.Report(ctx, log, err))
			return
		}
		content := &fileReader{size: a.Size, open: func(offset int64) (io.ReadCloser, error) { return files.OpenArtifact(ctx, a, offset, -1) }}
		defer content.Close()
		if err := content.begin(); err != nil { // before an answer has begun
			refuse(w, r, api.Report(ctx, log, err))
			return
		}
		h := w.Header()
		h.Set("Content-Type", "application/octet-stream")
		h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": path.Base(a.Path)}))
		h.Set("Etag", `"`+hex.EncodeToString(a.Digest)+`"`)
		http.ServeContent(&patientWriter{w, http.NewResponseController(w)}, r, "", time.Time{}, content)
	})
}

// fileReader is an artifact's bytes as an io.ReadSeeker: it opens them anew where they are wanted.
type fileReader struct {
	open   func(offset int64) (io.ReadCloser, error)
	size   int64
	offset int64
	body   io.ReadCloser // from offset on; nil: not opened
}

func (f *fileReader) begin() (err error) {
	if f.body == nil {
		f.body, err = f.open(f.offset)
	}
	return err
}

func (f *fileReader) Read(p []byte) (int, error) {
	if err := f.begin(); err != nil {
		return 0, err
	}
	n, err := f.body.Read(p)
	f.offset += int64(n)
	return n, err
}

func (f *fileReader) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += f.offset
	case io.SeekEnd:
		offset += f.size
	}
	if offset < 0 {
		return 0, errors.New("web: a seek before the beginning")
	}
	if offset != f.offset {
		_ = f.Close()
		f.offset = offset
	}
	return offset, nil
}

// Close may be called at any time; the next read opens the bytes anew.
func (f *fileReader) Close() error {
	if f.body == nil {
		return nil
	}
	body := f.body
	f.body = nil
	return body.Close()
}

// patientWriter lets an answer take as long as its reader needs, while it reads.
type patientWriter struct {
	http.ResponseWriter
	control *http.ResponseController
}

func (w *patientWriter) Write(p []byte) (int, error) {
	n, err := w.ResponseWriter.Write(p)
	_ = w.control.SetWriteDeadline(time.Now().Add(silence)) // a writer without deadlines is a test's
	return n, err
}
