package mcpclient

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/runnerhub/runnerhub/mcp"
)

// logWithin is how long a chunk of log may take: 256 KiB over a line of 64 kbit/s.
const logWithin = 40 * time.Second

// PutLog stores a chunk of log (at most mcp.MaxLogChunk bytes) at its offset.
// logURL is a lease's log_url; a relative one is below the hub's address. The URL itself is the
// right to write, so the token stays out of it. A refused gap is a conflict whose details carry
// next_offset.
func (c *Client) PutLog(ctx context.Context, logURL string, offset int64, chunk []byte) (mcp.PutLogResult, error) {
	u, e := c.bytesAt(logURL, offset)
	if e != nil {
		return mcp.PutLogResult{}, e
	}
	return rest[mcp.PutLogResult](ctx, c, request{
		name: "the log", method: http.MethodPut, url: u, body: chunk, media: "application/octet-stream",
		bare: true, within: logWithin,
	}, idempotent)
}

// bytesAt is a capability URL with the offset of what is sent there.
func (c *Client) bytesAt(capability string, offset int64) (string, error) {
	return c.below(capability, "", url.Values{"offset": {strconv.FormatInt(offset, 10)}})
}

// below is a capability URL, or one below it, with a query.
func (c *Client) below(capability, end string, q url.Values) (string, error) {
	u, err := c.capability(capability)
	if err != nil {
		return "", err
	}
	if end != "" {
		u = u.JoinPath(end)
	}
	all := u.Query()
	for name, values := range q {
		all[name] = values
	}
	u.RawQuery = all.Encode()
	return u.String(), nil
}

// capability is where a capability URL leads; a relative one is below the hub's address.
func (c *Client) capability(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, badURL(Redact(text), "the address of the bytes is no URL")
	}
	u = c.base.ResolveReference(u)
	if u.Host == c.base.Host {
		// A hub behind a proxy that ends TLS may not know that it was reached over it.
		u.Scheme = c.base.Scheme
	}
	return u, nil
}

// Health says whether the hub's process answers.
func (c *Client) Health(ctx context.Context) error {
	_, err := do(ctx, c.retry, idempotent, func(ctx context.Context) (struct{}, *failure) {
		ctx, sent := watchSent(ctx)
		ctx, cancel := context.WithTimeout(ctx, margin)
		defer cancel()
		err := c.send(ctx, request{name: "health", method: http.MethodGet, url: c.at("/healthz"), bare: true}, nil)
		if err != nil {
			return struct{}{}, c.failed(err, sent)
		}
		return struct{}{}, nil
	})
	return err
}
