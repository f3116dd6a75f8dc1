//go:build clients

package clients_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/runnerhub/runnerhub/mcp/mcpclient"
)

// client is somebody else's MCP client, connected to a hub. Calls may overlap.
type client interface {
	// tools returns the names of all tools.
	tools(ctx context.Context) ([]string, error)
	// call calls a tool. When ctx ends, the client cancels its call; after limit it gives up by itself.
	call(ctx context.Context, tool string, args map[string]any, limit time.Duration) (answer, error)
	close() error
}

// answer is what a call of a tool came to.
type answer struct {
	Structured json.RawMessage `json:"structuredContent"`
	Content    []struct {
		Text string `json:"text"`
	} `json:"content"`
	IsError bool `json:"isError"`
	Meta    struct {
		Code string `json:"code"` // of an error
	} `json:"_meta"`
}

func (a answer) String() string { return fmt.Sprintf("%v %s %s", a.Content, a.Structured, a.Meta.Code) }

// kind is one client in one era.
type kind struct {
	name     string
	revision string // of MCP, that client and hub must come to speak
	connect  func(t *testing.T, url, key, revision string) client
}

// kinds are the official SDKs, each in every era that it has.
func kinds() []kind {
	return []kind{
		{"go-2025-11-25", "2025-11-25", connectGo},
		{"go-2026-07-28", "2026-07-28", connectGo},
		{"typescript-v1", "2025-11-25", connectScript("v1.mjs")},
		{"typescript-v2-2025-11-25", "2025-11-25", connectScript("v2.mjs", "legacy")},
		{"typescript-v2-2026-07-28", "2026-07-28", connectScript("v2.mjs", "2026-07-28")},
	}
}

// agent is a client that does a job's work in a test, on a way to the hub that can break.
type agent struct {
	t    *testing.T
	name string // with which the names of its jobs begin
	client
	front   *front
	witness *mcpclient.Client
}

// try calls a tool with time enough.
func (a *agent) try(tool string, args map[string]any) answer {
	a.t.Helper()
	got, err := a.call(a.t.Context(), tool, args, patience)
	if err != nil {
		a.t.Fatalf("%s %v: %v", tool, args, err)
	}
	return got
}

// do calls a tool, which must succeed.
func (a *agent) do(tool string, args map[string]any, out any) {
	a.t.Helper()
	got := a.try(tool, args)
	if got.IsError || len(got.Content) == 0 || got.Content[0].Text == "" {
		a.t.Fatalf("%s %v: %s", tool, args, got)
	}
	if err := json.Unmarshal(got.Structured, out); err != nil {
		a.t.Fatalf("%s %v: %v", tool, args, err)
	}
}

// refused calls a tool, which must answer with an error of that code, in words and without structured content: that would have to
// have the form of a result.
func (a *agent) refused(tool string, args map[string]any, code string) {
	a.t.Helper()
	got := a.try(tool, args)
	if !got.IsError || got.Meta.Code != code || got.Structured != nil || len(got.Content) == 0 || got.Content[0].Text == "" {
		a.t.Errorf("%s %v, want %s: %s", tool, args, code, got)
	}
}
