package mcpclient

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"time"
)

// request is one call over plain HTTP.
type request struct {
	name   string // for messages
	method string
	url    string
	body   []byte
	media  string        // of the body; default JSON
	bare   bool          // without the token
	within time.Duration // the call's own deadline
}

// rest sends a request and decodes the answer into Out.
func rest[Out any](ctx context.Context, c *Client, r request, s safety) (Out, error) {
	return do(ctx, c.retry, s, func(ctx context.Context) (Out, *failure) {
		ctx, sent := watchSent(ctx)
		ctx, cancel := context.WithTimeout(ctx, r.within)
		defer cancel()
		var out Out
		if err := c.send(ctx, r, &out); err != nil {
			return out, c.failed(err, sent)
		}
		return out, nil
	})
}

// send performs the request once. The answer of a successful one must be JSON, unless out is nil.
func (c *conn) send(ctx context.Context, r request, out any) error {
	return c.exchange(ctx, r, func(res *http.Response) error {
		body, err := io.ReadAll(res.Body)
		if err != nil || out == nil {
			return err
		}
		if err := json.Unmarshal(body, out); err != nil {
			return notUnderstood(r.name, err)
		}
		return nil
	})
}

// exchange performs the request once and has the answer of a successful one read.
func (c *conn) exchange(ctx context.Context, r request, read func(*http.Response) error) error {
	req, err := http.NewRequestWithContext(ctx, r.method, r.url, bytes.NewReader(r.body))
	if err != nil {
		return badURL(Redact(r.url), "it is no URL")
	}
	for k, v := range c.headers() {
		req.Header.Set(k, v)
	}
	if r.bare {
		req.Header.Del("Authorization")
	}
	if r.body != nil {
		media := r.media
		if media == "" {
			media = "application/json"
		}
		req.Header.Set("Content-Type", media)
	}
	req.Header.Set("Accept", "application/json")
	res, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	return read(res)
}
