package web

import (
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/runnerhub/runnerhub/hub/api"
)

// accessLog writes one line a request. It has no query, no header and no body,
// and whatever in the path could be a secret is masked.
func accessLog(log *slog.Logger, now func() time.Time, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := now()
		rec := &recorder{ResponseWriter: w}
		defer func() {
			trace := api.TraceFrom(r.Context())
			seen := trace.View()
			attrs := []slog.Attr{
				slog.String("method", cut(r.Method, 16)),
				slog.String("path", maskPath(r.URL.Path)),
				slog.Int("status", rec.status),
				slog.Int64("bytes", rec.bytes),
				slog.Int64("ms", now().Sub(start).Milliseconds()),
				slog.String("address", addressFrom(r.Context())),
				slog.String("request_id", trace.RequestID),
			}
			for _, a := range []slog.Attr{
				slog.String("actor", seen.Actor), slog.String("operation", seen.Operation), slog.String("code", string(seen.Code)),
			} {
				if a.Value.String() != "" {
					attrs = append(attrs, a)
				}
			}
			log.LogAttrs(r.Context(), slog.LevelInfo, "request", attrs...)
		}()
		next.ServeHTTP(rec, r)
	})
}

// tokenLike is anything that has the shape of a credential, wherever it was pasted.
var tokenLike = regexp.MustCompile(`\b(rnr|ak|pair|cap|lse|inv)_[0-9A-Za-z]+`)

// secretPaths have a secret as their next element.
var secretPaths = []string{api.Base + "/logs/", api.Base + "/uploads/", api.Base + "/pairing/"}

// maskPath is a path as the access log may show it.
func maskPath(path string) string {
	for _, prefix := range secretPaths {
		if rest, ok := strings.CutPrefix(path, prefix); ok && rest != "redeem" && rest != "decide" {
			return prefix + "…"
		}
	}
	return cut(tokenLike.ReplaceAllString(path, "${1}_…"), 200)
}

func cut(s string, most int) string {
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
