package server

import (
	"fmt"
	"io"
	"log/slog"
)

func newLogger(w io.Writer, s Settings) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(s.LogLevel)); err != nil {
		return nil, fmt.Errorf("--log-level %q is not debug, info, warn or error", s.LogLevel)
	}
	opts := &slog.HandlerOptions{Level: level}
	switch s.LogFormat {
	case "text":
		return slog.New(slog.NewTextHandler(w, opts)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, opts)), nil
	}
	return nil, fmt.Errorf("--log-format %q is not text or json", s.LogFormat)
}
