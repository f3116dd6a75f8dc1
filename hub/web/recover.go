package web

import (
	"log/slog"
	"net/http"

	"github.com/runnerhub/runnerhub/hub/api"
)

// recoverPanics turns a panic into an internal error that hides it. Where an
// answer has begun, the connection is cut instead, so that half an answer is not
// taken for a whole one.
func recoverPanics(log *slog.Logger, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := &recorder{ResponseWriter: w}
		defer func() {
			p := recover()
			if p == nil {
				return
			}
			if p == http.ErrAbortHandler { //nolint:errorlint // a panic's value, compared as net/http does
				panic(p)
			}
			e := api.Recovered(r.Context(), log, p)
			if rec.status != 0 {
				panic(http.ErrAbortHandler)
			}
			refuse(w, r, e)
		}()
		next.ServeHTTP(rec, r)
	})
}
