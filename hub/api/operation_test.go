package api_test

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/api"
	"github.com/runnerhub/runnerhub/mcp"
)

// toolNames reads the names of the contract from its source.
func toolNames(t *testing.T) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../../mcp/tools.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	ast.Inspect(file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok {
			s, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, s)
		}
		return true
	})
	return names
}

func TestTableHasEveryToolOfTheContract(t *testing.T) {
	t.Parallel()
	var have []string
	for _, o := range api.Operations(api.Services{}) {
		if !o.HTTPOnly {
			have = append(have, o.Name)
		}
	}
	want := toolNames(t)
	slices.Sort(have)
	slices.Sort(want)
	if !slices.Equal(have, want) || len(want) == 0 {
		t.Fatalf("the table has %v\nthe contract %v", have, want)
	}
}

func TestEveryOperationIsFitForUse(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, o := range api.Operations(api.Services{}) {
		if o.Title == "" || len(o.Description) < 80 || len(o.Description) > 1000 {
			t.Errorf("%s: title %q, description of %d bytes", o.Name, o.Title, len(o.Description))
		}
		if o.Audience == "" {
			t.Errorf("%s is for nobody", o.Name)
		}
		if o.Audience == api.People && o.Toolset == "" && o.Name != mcp.ToolWhoami {
			t.Errorf("%s is in no toolset: a key for one toolset could call it", o.Name)
		}
		route := o.Route.Method + " " + o.Route.Path
		if other, taken := seen[route]; taken {
			t.Errorf("%s and %s are both %s", o.Name, other, route)
		}
		seen[route] = o.Name
		if o.Hints.ReadOnly && (o.Hints.Destructive || !o.Hints.Idempotent || o.Route.Method != http.MethodGet && o.Name != mcp.ToolCheckJob) {
			t.Errorf("%s reads only, yet %+v by %s", o.Name, o.Hints, o.Route.Method)
		}
	}
}

// Both schemas must hold in any validator, and describe objects: MCP wants that.
func TestSchemasAreSound(t *testing.T) {
	t.Parallel()
	for _, o := range api.Operations(api.Services{}) {
		for what, s := range map[string]any{"input": o.Input, "output": o.Output} {
			raw, err := json.Marshal(s)
			if err != nil {
				t.Fatal(err)
			}
			compileSchema(t, o.Name+"/"+what, raw)
			if !strings.Contains(string(raw), `"type":"object"`) || strings.Contains(string(raw), `"null"`) {
				t.Errorf("%s of %s: %s", what, o.Name, raw)
			}
		}
		// A newer runner may say more than this hub knows; people and agents are told of a field that does nothing.
		if open, runners := o.Input.AdditionalProperties == nil, o.Audience == api.Runner; open != runners && len(o.Input.Properties) > 0 {
			t.Errorf("%s takes unknown fields: %t", o.Name, open)
		}
	}
}

func compileSchema(t *testing.T, name string, raw []byte) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("mem:///"+name, doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("mem:///" + name)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return s
}

func TestNobodyCallsWhatIsNotTheirs(t *testing.T) {
	t.Parallel()
	for _, o := range api.Operations(api.Services{}) {
		for name, p := range map[string]hub.Principal{"person": person, "runner": runner, "nobody": nobody} {
			allowed := o.Audience == api.Open || (o.Audience == api.People && name == "person") || (o.Audience == api.Runner && name == "runner")
			if o.Audience.Admits(p) != allowed {
				t.Errorf("%s admits %s: %v", o.Name, name, !allowed)
			}
			if allowed {
				continue
			}
			_, _, f := o.Call(t.Context(), slog.New(slog.DiscardHandler), p, json.RawMessage("{}"))
			want := mcp.CodePermissionDenied
			if name == "nobody" {
				want = mcp.CodeUnauthenticated
			}
			if f == nil || f.Code != want || f.Hint == "" {
				t.Errorf("%s called by %s answers %+v", o.Name, name, f)
			}
		}
	}
}

func TestPanicOfAUseCaseIsHidden(t *testing.T) {
	t.Parallel()
	trace := &api.Trace{RequestID: "req-1"}
	ctx := api.WithTrace(t.Context(), trace)
	// The fake has no Explain, so the call is through a nil interface.
	_, _, f := callIn[any](ctx, t, api.Services{Jobs: &fakeJobs{}}, mcp.ToolExplainJob, person, `{"job_id":"job_1"}`)
	if f == nil || f.Code != mcp.CodeInternal || strings.Contains(f.Message, "nil") {
		t.Fatalf("got %+v", f)
	}
	if v := trace.View(); v.Operation != mcp.ToolExplainJob || v.Code != mcp.CodeInternal {
		t.Errorf("the trace has %+v", v)
	}
}
