package mcpclient_test

import (
	"strings"
	"testing"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/mcp/mcpclient"
)

// A hub that asks for bytes where there are none is told of, and takes nobody down.
func TestAnUploadThatIsAskedForBytesOutsideOfIt(t *testing.T) {
	t.Parallel()
	c, err := mcpclient.New(mcpclient.Config{URL: "http://localhost:1"})
	if err != nil {
		t.Fatal(err)
	}
	for _, next := range []int64{-1, 4, 1 << 40} {
		err := c.Upload(t.Context(), mcp.UploadTicket{UploadURL: "http://localhost:1/u", NextOffset: next}, strings.NewReader("abc"), 3, nil)
		if err == nil || !strings.Contains(err.Error(), "these 3 bytes") {
			t.Errorf("from %d on: %v", next, err)
		}
	}
}
