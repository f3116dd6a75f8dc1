package web

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strconv"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/api"
	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/pairing"
)

// Sources is what gives source archives out; *dispatch.Service does.
type Sources interface {
	// OpenSource opens the archive of a job's attempt for its ticket, once.
	OpenSource(ctx context.Context, jobID string, attempt int, token string) (hub.SourceArchive, error)
}

// getSource gives a source archive out: GET source.url. The ticket in the path is the whole right to it, and works once.
func getSource(sources Sources, log *slog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token := r.PathValue("token")
		attempt, err := strconv.Atoi(r.PathValue("attempt"))
		if err == nil {
			_, err = pairing.Check(token, pairing.Capability)
		}
		if err != nil {
			refuse(w, r, noSuchSource())
			return
		}
		archive, err := sources.OpenSource(r.Context(), r.PathValue("job_id"), attempt, token)
		switch {
		case hub.CodeOf(err) == hub.NotFound:
			refuse(w, r, noSuchSource())
			return
		case err != nil:
			refuse(w, r, api.Report(r.Context(), log, err))
			return
		}
		defer archive.Close()
		w.Header().Set("Content-Type", "application/zstd")
		w.Header().Set("Content-Length", strconv.FormatInt(archive.Size, 10))
		w.WriteHeader(http.StatusOK)
		n, err := io.Copy(&patientWriter{ResponseWriter: w, control: http.NewResponseController(w)}, archive)
		archive.Arrived(err == nil && n == archive.Size)
	})
}

func noSuchSource() *mcp.Error {
	return fault(mcp.CodeNotFound, "there is no source at this URL, or its attempt has ended", "use the source of the lease, whole")
}
