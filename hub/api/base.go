package api

import (
	"context"
	"strconv"
)

type baseKey struct{}

// WithBaseURL puts the URL that a caller reaches the hub by, without a slash at
// its end, into the context of a request.
func WithBaseURL(ctx context.Context, url string) context.Context {
	return context.WithValue(ctx, baseKey{}, url)
}

// baseURL is where links in an answer start; empty makes them relative to the hub.
func baseURL(ctx context.Context) string {
	url, _ := ctx.Value(baseKey{}).(string)
	return url
}

// LogPath is where the bytes of one attempt's log go; the token is the whole right to it.
func LogPath(token string) string { return Base + "/logs/" + token }

// SourcePath is where an attempt gets the archive that it starts from; the token is the whole right to it.
func SourcePath(jobID string, attempt int, token string) string {
	return Base + "/sources/" + jobID + "/" + strconv.Itoa(attempt) + "/" + token
}

// UploadPath is where the bytes of one upload go; the token is the whole right to send them.
func UploadPath(token string) string { return Base + "/uploads/" + token }

// PairPath is the page on which a person approves a machine.
const PairPath = "/pair"
