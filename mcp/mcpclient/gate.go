package mcpclient

import (
	"errors"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"time"
)

// maxErrorBody bounds what is read of an answer that is an error, in bytes.
const maxErrorBody = 64 << 10

// errAnswerTooLarge is what reading gives once an answer exceeds its bound.
var errAnswerTooLarge = errors.New("the answer is larger than the client accepts")

// StatusError is an HTTP answer that is not what was asked for, before it is
// translated: an error of the hub's, of a proxy's, or a page instead of data.
type StatusError struct {
	Status     int
	RetryAfter time.Duration // from the header, zero without one
	Location   string        // of a redirect, without its query
	MediaType  string
	Body       []byte // at most 64 KiB
}

// Error implements error.
func (e *StatusError) Error() string {
	return "HTTP status " + strconv.Itoa(e.Status) + " (" + http.StatusText(e.Status) + ")"
}

// gate stands between the callers and the network. It keeps the token with its
// host, turns every answer that is no success into a StatusError, bounds bodies
// and writes the debug log.
type gate struct {
	next    http.RoundTripper
	base    *url.URL
	log     *slog.Logger
	maxBody int64
}

// RoundTrip implements http.RoundTripper.
func (g *gate) RoundTrip(req *http.Request) (*http.Response, error) {
	begin := time.Now()
	ctx := httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { markSent(req.Context()) },
	})
	req = req.Clone(ctx)
	if req.URL.Scheme != g.base.Scheme || req.URL.Host != g.base.Host {
		req.Header.Del("Authorization")
	}
	res, err := g.next.RoundTrip(req)
	if err == nil {
		err = check(res)
	}
	if g.log.Enabled(ctx, slog.LevelDebug) {
		attrs := []any{"method", req.Method, "path", Redact(req.URL.Path), "ms", time.Since(begin).Milliseconds()}
		if res != nil {
			attrs = append(attrs, "status", res.StatusCode)
		}
		if err != nil {
			attrs = append(attrs, "err", Redact(plain(err).Error()))
		}
		g.log.DebugContext(ctx, "hub request", attrs...)
	}
	if err != nil {
		return nil, err
	}
	if ctx.Value(streamKey{}) != nil {
		return res, nil
	}
	res.Body = &boundedBody{ReadCloser: res.Body, left: g.maxBody}
	return res, nil
}

// check returns a StatusError, and has read and closed the body, unless the
// answer is a success with data.
func check(res *http.Response) error {
	media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if res.StatusCode >= 200 && res.StatusCode < 300 && media != "text/html" {
		return nil
	}
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxErrorBody))
	_ = res.Body.Close()
	e := &StatusError{Status: res.StatusCode, MediaType: media, Body: body, RetryAfter: retryAfter(res.Header.Get("Retry-After"))}
	if loc, err := res.Location(); err == nil {
		loc.RawQuery, loc.Fragment, loc.User = "", "", nil
		e.Location = loc.String()
	}
	return e
}

// retryAfter reads the header in seconds. A date is ignored: it would need two
// clocks that agree.
func retryAfter(v string) time.Duration {
	s, err := strconv.Atoi(v)
	if err != nil || s < 0 {
		return 0
	}
	return time.Duration(min(s, 3600)) * time.Second
}

// boundedBody fails where io.LimitReader would cut in silence.
type boundedBody struct {
	io.ReadCloser
	left int64
}

// Read implements io.Reader.
func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, errAnswerTooLarge
	}
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1] // one byte more tells "at the bound" from "over it"
	}
	n, err := b.ReadCloser.Read(p)
	b.left -= int64(n)
	if b.left < 0 {
		return n, errAnswerTooLarge
	}
	return n, err
}
