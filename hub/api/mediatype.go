package api

import (
	"path"
	"strings"
)

// Media types of what has no other.
const (
	plainText  = "text/plain; charset=utf-8"
	someBytes  = "application/octet-stream"
	jsonObject = "application/json"
)

// mediaTypes are those of the files that jobs usually leave, by the end of their name. The system's own table is not
// asked: two hubs would say different things of one file.
var mediaTypes = map[string]string{
	".css": "text/css", ".csv": "text/csv", ".diff": "text/x-diff", ".gif": "image/gif", ".gz": "application/gzip", ".html": "text/html",
	".jpeg": "image/jpeg", ".jpg": "image/jpeg", ".js": "text/javascript", ".json": jsonObject, ".log": plainText, ".md": "text/markdown",
	".patch": "text/x-diff", ".pdf": "application/pdf", ".png": "image/png", ".svg": "image/svg+xml", ".tap": plainText, ".tar": "application/x-tar",
	".tgz": "application/gzip", ".txt": plainText, ".webm": "video/webm", ".webp": "image/webp", ".xml": "application/xml",
	".yaml": "application/yaml", ".yml": "application/yaml", ".zip": "application/zip", ".zst": "application/zstd",
}

// mediaType is a file's by its name, or other.
func mediaType(file, other string) string {
	if known := mediaTypes[strings.ToLower(path.Ext(file))]; known != "" {
		return known
	}
	return other
}
