package web

import (
	"log/slog"
	"net/http"
	"time"
)

// NewServer is an http.Server with the limits that a hub needs. WriteTimeout
// must stay 0: it would cut long polls off.
func NewServer(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       60 * time.Second, // of a whole request: 256 KiB of log over 64 kbit/s take 33 s
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    32 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}
