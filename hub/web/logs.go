package web

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/api"
	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/pairing"
)

// Logs is what takes log bytes in; *dispatch.Service does.
type Logs interface {
	// AppendLog adds bytes to the log whose capability has the digest and returns the offset to go on from.
	AppendLog(ctx context.Context, capDigest []byte, offset int64, data []byte) (next int64, err error)
}

// putLog takes a chunk of log: PUT log_url?offset=N. The capability in the path
// is the whole right to it; a runner's token is neither needed nor looked at.
func putLog(logs Logs, log *slog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token := r.PathValue("token")
		if _, err := pairing.Check(token, pairing.Capability); err != nil {
			refuse(w, r, noSuchLog())
			return
		}
		offset, err := strconv.ParseInt(r.URL.Query().Get("offset"), 10, 64)
		if err != nil || offset < 0 {
			refuse(w, r, fault(mcp.CodeInvalidArgument, "offset must be a number from 0 on", "send PUT log_url?offset=N, with the next_offset of the answer before"))
			return
		}
		data, e := readBody(w, r, mcp.MaxLogChunk)
		if e != nil {
			refuse(w, r, e)
			return
		}
		next, err := logs.AppendLog(r.Context(), hub.Digest(token), offset, data)
		switch {
		case hub.CodeOf(err) == hub.NotFound:
			refuse(w, r, noSuchLog())
		case err != nil:
			refuse(w, r, api.Report(r.Context(), log, err))
		default:
			writeJSON(w, http.StatusOK, mcp.PutLogResult{NextOffset: next})
		}
	})
}

func noSuchLog() *mcp.Error {
	return fault(mcp.CodeNotFound, "there is no log at this URL, or it takes no more", "use the log_url of the lease, whole")
}
