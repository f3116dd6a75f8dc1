//go:build clients

package clients_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// goClient is the official SDK for Go.
type goClient struct{ session *sdk.ClientSession }

func connectGo(t *testing.T, url, key, revision string) client {
	t.Helper()
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &sdk.StreamableClientTransport{
		Endpoint:   url,
		HTTPClient: &http.Client{Transport: bearer{key, &http.Transport{}}},
	}, &sdk.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		t.Fatal(err)
	}
	if got := session.InitializeResult().ProtocolVersion; got != revision {
		t.Errorf("client and hub speak %s, want %s", got, revision)
	}
	return &goClient{session}
}

func (c *goClient) tools(ctx context.Context) ([]string, error) {
	res, err := c.session.ListTools(ctx, nil)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(res.Tools))
	for i, tool := range res.Tools {
		names[i] = tool.Name
	}
	return names, nil
}

func (c *goClient) call(ctx context.Context, tool string, args map[string]any, limit time.Duration) (a answer, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	res, err := c.session.CallTool(ctx, &sdk.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return a, err
	}
	raw, err := json.Marshal(res)
	if err != nil {
		return a, err
	}
	return a, json.Unmarshal(raw, &a)
}

func (c *goClient) close() error { return c.session.Close() }

// bearer sends a token with each request.
type bearer struct {
	token string
	next  *http.Transport
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.next.RoundTrip(r)
}

func (b bearer) CloseIdleConnections() { b.next.CloseIdleConnections() }
