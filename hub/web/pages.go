package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
	"path"
	"time"

	"github.com/runnerhub/runnerhub/hub/api"
)

//go:embed static
var static embed.FS

// pagePolicy lets a page load what the hub itself serves and nothing else; no
// inline script or style, no frame, no form that leaves the page.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'none'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"

// pages adds the pages that people see.
func pages(mux *http.ServeMux) {
	for at, file := range map[string]string{
		"/{$}":              "index.html",
		api.PairPath:        "pair.html",
		"/assets/pair.js":   "pair.js",
		"/assets/style.css": "style.css",
		"/assets/icon.svg":  "icon.svg",
	} {
		mux.Handle(at, readable(page(file)))
	}
}

// mediaTypes are said here, since the system's own table may differ.
var mediaTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".svg":  "image/svg+xml",
}

func page(file string) http.Handler {
	content, err := static.ReadFile("static/" + file)
	if err != nil {
		panic("web: " + err.Error()) // a file that was not embedded
	}
	digest := sha256.Sum256(content)
	tag := `"` + hex.EncodeToString(digest[:8]) + `"`
	mediaType := mediaTypes[path.Ext(file)]
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Type", mediaType)
		h.Set("Content-Security-Policy", pagePolicy)
		h.Set("Cache-Control", "no-cache") // ask each time; the tag answers
		h.Set("ETag", tag)
		http.ServeContent(w, r, file, time.Time{}, bytes.NewReader(content))
	})
}
