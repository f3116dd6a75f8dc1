package mcpclient

import (
	"context"
	"io"
	"net/http"

	"github.com/runnerhub/runnerhub/mcp"
)

// UploadSource announces a source archive, which Upload then sends.
func (c *Client) UploadSource(ctx context.Context, args mcp.UploadSourceArgs) (mcp.UploadTicket, error) {
	return rest[mcp.UploadTicket](ctx, c, c.post(mcp.ToolUploadSource, "/api/v1/sources", args, 0, false), idempotent)
}

// OpenSource opens the archive at the URL of a lease's source, which is the right to read it, so the token stays out
// of it. It is tried once: what broke off is the caller's to begin anew. The caller bounds and closes it; ctx ends it.
func (c *Client) OpenSource(ctx context.Context, sourceURL string) (io.ReadCloser, error) {
	u, err := c.capability(sourceURL)
	if err != nil {
		return nil, err
	}
	watched, sent := watchSent(context.WithValue(ctx, streamKey{}, true))
	req, err := http.NewRequestWithContext(watched, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, badURL(Redact(sourceURL), "it is no URL")
	}
	req.Header.Set("User-Agent", c.userAgent)
	res, err := c.http.Do(req)
	if err != nil {
		return nil, c.failed(err, sent).err
	}
	return res.Body, nil
}
