package mcpclient

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/runnerhub/runnerhub/mcp"
)

// Download reads the bytes of an artifact from an offset on, so that a download that was cut short goes on. The caller
// closes it, and compares size and digest.
func (c *Client) Download(ctx context.Context, a mcp.Artifact, offset int64) (io.ReadCloser, error) {
	u, err := url.Parse(a.URL)
	if err != nil {
		return nil, badURL(a.URL, "the artifact's address is no URL")
	}
	u = c.base.ResolveReference(u)
	if u.Host == c.base.Host {
		u.Scheme = c.base.Scheme // as of bytesAt
	}
	return do(ctx, c.retry, idempotent, func(ctx context.Context) (io.ReadCloser, *failure) {
		ctx, sent := watchSent(context.WithValue(ctx, streamKey{}, true))
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
		if err != nil {
			return nil, &failure{err: badURL(a.URL, "the artifact's address is no URL")}
		}
		for k, v := range c.headers() {
			req.Header.Set(k, v)
		}
		if offset > 0 {
			req.Header.Set("Range", "bytes="+strconv.FormatInt(offset, 10)+"-")
		}
		res, err := c.http.Do(req)
		if err != nil {
			return nil, c.failed(err, sent)
		}
		if offset > 0 && res.StatusCode != http.StatusPartialContent {
			_ = res.Body.Close()
			return nil, &failure{err: notUnderstood("a part of "+a.Path, nil)}
		}
		return res.Body, nil
	})
}

// streamKey marks the context of a request whose answer may be as long as it is: its reader keeps none of it.
type streamKey struct{}
