package web_test

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/api"
	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/pairing"
)

// The scope of a key holds over every way in, whatever path and headers ask for.
func TestKeyScope(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	d := &door{url: h.url}
	art := h.artifact(t, "out/a.txt", "0123456789")
	for _, c := range []struct {
		name  string
		scope hub.KeyScope
		may   func(api.Operation) bool
	}{
		{"all", hub.KeyScope{}, func(api.Operation) bool { return true }},
		{"read-only", hub.KeyScope{ReadOnly: true}, func(o api.Operation) bool { return o.Hints.ReadOnly }},
		{"jobs", hub.KeyScope{Toolsets: "jobs"}, func(o api.Operation) bool { return o.Toolset == api.JobTools }},
		{"read-only artifacts", hub.KeyScope{ReadOnly: true, Toolsets: "artifacts"}, func(o api.Operation) bool { return o.Toolset == api.ArtifactTools && o.Hints.ReadOnly }},
		{"of a newer hub", hub.KeyScope{Toolsets: "jobs,stars"}, func(api.Operation) bool { return false }},
	} {
		t.Run(c.name, func(t *testing.T) {
			key, _, err := h.accounts.CreateKey(t.Context(), "admin", c.name, 0, c.scope)
			if err != nil {
				t.Fatal(err)
			}
			may := func(o api.Operation) bool { return o.Name == mcp.ToolWhoami || c.may(o) }
			for _, path := range []string{"/mcp", "/mcp/x/all"} {
				var want []string
				for _, o := range api.Operations(api.Services{}) {
					if !o.HTTPOnly && o.Audience == api.People && may(o) {
						want = append(want, o.Name)
					}
				}
				slices.Sort(want)
				if got := h.toolNames(t, path, key); !slices.Equal(got, want) {
					t.Errorf("%s lists %v, want %v", path, got, want)
				}
			}
			for _, o := range api.Operations(api.Services{}) {
				if o.Audience != api.People {
					continue
				}
				refused := d.refusesScope(t, key, o)
				if refused == may(o) {
					t.Errorf("%s %s: refused %v", o.Route.Method, o.Route.Path, refused)
				}
			}
			got := d.send(t, http.MethodGet, strings.TrimPrefix(art.URL, h.url), key, "")
			if download := c.name != "jobs" && c.name != "of a newer hub"; (got.status == http.StatusOK) != download {
				t.Errorf("a download: %d %s", got.status, got.body)
			}
			fill := d.send(t, http.MethodPut, "/api/v1/jobs/job_1/execs/exe_1/input?offset=0", key, "x")
			if e := fill.fault(t); (e.Code == mcp.CodePermissionDenied) != (c.name != "all" && c.name != "jobs") {
				t.Errorf("input for a command: %d %s", fill.status, fill.body)
			}
		})
	}
}

// refusesScope calls an operation's route with arguments that name nothing, and says whether the key's scope was what refused it.
func (d *door) refusesScope(t *testing.T, key string, o api.Operation) bool {
	t.Helper()
	path := o.Route.Path
	for strings.Contains(path, "{") {
		before, rest, _ := strings.Cut(path, "{")
		_, after, _ := strings.Cut(rest, "}")
		path = before + "none" + after
	}
	body := ""
	if o.Route.Method == http.MethodPost {
		body = "{}"
	}
	got := d.send(t, o.Route.Method, api.Base+path, key, body)
	if got.status < 400 {
		return false
	}
	e := got.fault(t)
	return e.Code == mcp.CodePermissionDenied && strings.Contains(e.Message, "the API key")
}

func (h *realHub) toolNames(t *testing.T, path, key string) []string {
	t.Helper()
	got := (&door{url: h.url}).send(t, http.MethodPost, path, key, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	var list struct {
		Result struct {
			Tools []struct{ Name string }
		}
	}
	if err := json.Unmarshal([]byte(got.body), &list); err != nil {
		t.Fatal(fmt.Errorf("%w: %d %s", err, got.status, got.body))
	}
	var names []string
	for _, tool := range list.Result.Tools {
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	return names
}

// Whose runner a machine becomes is in its request: a key that is for one's own runners cannot let it into a workspace.
func TestKeyScopeOfAPairing(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	stranger := h.client(t, "")
	for toolsets, workspaces := range map[string]bool{"runners": false, "runners,admin": true} {
		key, _, err := h.accounts.CreateKey(t.Context(), "admin", "k", 0, hub.KeyScope{Toolsets: toolsets})
		if err != nil {
			t.Fatal(err)
		}
		for workspace, allowed := range map[string]bool{"": true, "default": workspaces} {
			public, _ := pairing.NewKey()
			started := must[mcp.StartPairingResult](t)(stranger.StartPairing(t.Context(), mcp.StartPairingArgs{
				Machine: mcp.Machine{Hostname: "lab-" + toolsets, OS: "linux", Arch: "amd64", Version: "1"}, PublicKey: public, Workspace: workspace, Label: strings.ToLower(rand.Text()[:8]),
			}))
			_, err := h.client(t, key).DecidePairing(t.Context(), mcp.DecidePairingArgs{UserCode: started.UserCode, Approve: true})
			var refused *mcp.Error
			if errors.As(err, &refused) != !allowed || !allowed && refused.Code != mcp.CodePermissionDenied {
				t.Errorf("a key for %s lets a machine into %q: %v", toolsets, workspace, err)
			}
		}
	}
}
