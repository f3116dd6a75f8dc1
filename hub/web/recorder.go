package web

import "net/http"

// recorder notes what was answered. It hides http.Flusher on purpose, so that
// nothing behind it streams unless it asks through http.ResponseController.
type recorder struct {
	http.ResponseWriter
	status int // 0: nothing was answered yet
	bytes  int64
}

func (w *recorder) WriteHeader(status int) {
	if w.status == 0 && status >= http.StatusOK { // 1xx are not the answer
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *recorder) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	n, err := w.ResponseWriter.Write(b)
	w.bytes += int64(n)
	return n, err
}

// Unwrap is for http.ResponseController.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }
