package web

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"

	"github.com/runnerhub/runnerhub/mcp"
)

// readBody reads a whole body of at most so many bytes.
func readBody(w http.ResponseWriter, r *http.Request, most int64) ([]byte, *mcp.Error) {
	if r.ContentLength > most {
		w.Header().Set("Connection", "close") // rather than read what nobody wants
		return nil, tooLarge(most)
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, tooLarge(most)
	}
	if err != nil {
		// A line that stalls or breaks is not the caller's fault: whoever still hears it is to try again.
		return nil, fault(mcp.CodeUnavailable, "the request's body ended early", "send it again")
	}
	return body, nil
}

func tooLarge(most int64) *mcp.Error {
	return fault(mcp.CodeTooLarge, fmt.Sprintf("the request's body is over %d bytes", most),
		"send less: a job spec has at most 1 MiB, a log chunk 256 KiB, other requests 64 KiB")
}

// isJSON says whether a request says that its body is JSON.
func isJSON(r *http.Request) bool {
	t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && t == "application/json"
}
