package web

import (
	"net/http"
	"time"
)

// writeWithin bounds how long an answer may take to be read, from its first
// byte on. http.Server's WriteTimeout would count a long poll's wait as well.
func writeWithin(d time.Duration, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		// A deadline stays with the connection, so the one before may still stand. A
		// writer without deadlines is a test's.
		_ = control.SetWriteDeadline(time.Time{})
		next.ServeHTTP(&deadlineWriter{ResponseWriter: w, control: control, within: d}, r)
	})
}

type deadlineWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	within  time.Duration
	begun   bool
}

func (w *deadlineWriter) begin() {
	if !w.begun {
		w.begun = true
		_ = w.control.SetWriteDeadline(time.Now().Add(w.within)) // the connection's clock, hence the system's
	}
}

func (w *deadlineWriter) WriteHeader(status int) {
	w.begin()
	w.ResponseWriter.WriteHeader(status)
}

func (w *deadlineWriter) Write(b []byte) (int, error) {
	w.begin()
	return w.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (w *deadlineWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
