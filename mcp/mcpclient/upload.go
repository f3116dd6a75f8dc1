package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/runnerhub/runnerhub/mcp"
)

const (
	// uploadPart is how much is sent at once: what is lost when a connection breaks.
	uploadPart = 4 << 20
	// partWithin is how long a part may take: 4 MiB over a line of 64 kbit/s. With the last one the hub reads all of it again.
	partWithin = 10 * time.Minute
)

// PutUpload sends a part of an upload (at most mcp.MaxUploadPart bytes) at its offset. uploadURL is that of the ticket;
// it is the right to write, so the token stays out of it. A refused gap is a conflict whose details carry next_offset.
func (c *Client) PutUpload(ctx context.Context, uploadURL string, offset int64, part []byte) (mcp.PutUploadResult, error) {
	u, err := c.bytesAt(uploadURL, offset)
	if err != nil {
		return mcp.PutUploadResult{}, err
	}
	return rest[mcp.PutUploadResult](ctx, c, request{
		name: "the upload", method: http.MethodPut, url: u, body: part, media: "application/octet-stream", bare: true, within: partWithin,
	}, idempotent)
}

// Upload sends what a ticket still asks for of size bytes, which from holds from their beginning on. sent, when not nil,
// hears how many have arrived after each part. It returns nil once the hub has checked them all.
func (c *Client) Upload(ctx context.Context, t mcp.UploadTicket, from io.ReaderAt, size int64, sent func(int64)) error {
	if t.Exists {
		return nil
	}
	if t.NextOffset < 0 || t.NextOffset > size {
		return &mcp.Error{
			Code: mcp.CodeInternal, Message: fmt.Sprintf("the hub asks for these %d bytes from %d on, where there are none", size, t.NextOffset),
			Hint: "see whether the hub is of the same release",
		}
	}
	part := make([]byte, min(uploadPart, max(1, size)))
	for at := t.NextOffset; ; {
		n, err := from.ReadAt(part[:min(int64(len(part)), size-at)], at)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		got, err := c.PutUpload(ctx, t.UploadURL, at, part[:n])
		switch next, moved := nextOffset(err); {
		case moved && next != at && next >= 0 && next <= size: // another sender of the same bytes got on
			at = next
			continue
		case err != nil:
			return err
		case got.Done:
			return nil
		case got.NextOffset <= at:
			return &mcp.Error{Code: mcp.CodeConflict, Message: "the upload does not get on: what is sent became shorter meanwhile", Hint: "announce the bytes again"}
		}
		if at = min(got.NextOffset, size); sent != nil {
			sent(at)
		}
	}
}

// nextOffset is where a refused part said to go on from.
func nextOffset(err error) (int64, bool) {
	e, ok := errors.AsType[*mcp.Error](err)
	if !ok || e.Code != mcp.CodeConflict {
		return 0, false
	}
	n, ok := e.Details["next_offset"].(float64)
	return int64(n), ok
}
