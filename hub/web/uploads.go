package web

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/api"
	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/pairing"
)

// Uploads is what takes the bytes of uploads in; *dispatch.Service does.
type Uploads interface {
	// WriteUpload takes bytes of the upload whose capability has the digest, from an offset on; length is -1 when it is not known.
	WriteUpload(ctx context.Context, capDigest []byte, offset, length int64, body io.Reader) (hub.UploadProgress, error)
}

// silence is how long a sender may send nothing. A part is as long as a slow line needs for it.
const silence = 30 * time.Second

// putUpload takes a part of an upload: PUT url?offset=N. The capability in the path is the whole right to it.
func putUpload(uploads Uploads, log *slog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token := r.PathValue("token")
		if _, err := pairing.Check(token, pairing.Capability); err != nil {
			refuse(w, r, noSuchUpload())
			return
		}
		offset, err := strconv.ParseInt(r.URL.Query().Get("offset"), 10, 64)
		if err != nil || offset < 0 {
			refuse(w, r, fault(mcp.CodeInvalidArgument, "offset must be a number from 0 on", "send PUT URL?offset=N, with the next_offset of the answer before"))
			return
		}
		body := &patientBody{r: http.MaxBytesReader(w, r.Body, mcp.MaxUploadPart+1), control: http.NewResponseController(w)}
		got, err := uploads.WriteUpload(r.Context(), hub.Digest(token), offset, r.ContentLength, body)
		switch {
		case hub.CodeOf(err) == hub.NotFound:
			refuse(w, r, noSuchUpload())
		case err != nil:
			refuse(w, r, api.Report(r.Context(), log, err))
		default:
			writeJSON(w, http.StatusOK, mcp.PutUploadResult{NextOffset: got.NextOffset, Done: got.Done})
		}
	})
}

func noSuchUpload() *mcp.Error {
	return fault(mcp.CodeNotFound, "there is no upload at this URL, or it has ended", "announce the bytes again")
}

// patientBody lets a body take as long as it needs, while something of it comes. One that is too long is told apart from
// one that breaks off: it would be no shorter the next time.
type patientBody struct {
	r       io.Reader
	control *http.ResponseController
}

func (b *patientBody) Read(p []byte) (int, error) {
	_ = b.control.SetReadDeadline(time.Now().Add(silence)) // a writer without deadlines is a test's
	n, err := b.r.Read(p)
	if e, ok := errors.AsType[*http.MaxBytesError](err); ok {
		err = hub.Errorf(hub.TooLarge, "the request's body is over %d bytes", e.Limit-1).WithHint("send smaller parts").
			WithDetail("limit", "max_upload_part").WithDetail("max", e.Limit-1)
	}
	return n, err
}
