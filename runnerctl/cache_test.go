package runnerctl_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/runnerctl/cmd/cache"
	"github.com/runnerhub/runnerhub/topology/attempt"
	"github.com/runnerhub/runnerhub/topology/topologytest"
)

const cachingSpec = `
image: ` + topologytest.FakeImage + `
steps: [{run: test}]
cache: [{key: %s, restore: go-, paths: [tools]}]
`

// A job's folders stay on the machine for the next one, and its owner sees and removes them.
func TestCache(t *testing.T) {
	t.Parallel()
	m, _ := onHub(t)
	fake := topologytest.NewFake()
	fake.AddProgram("test", func(p *topologytest.FakeProcess) int {
		f, _ := p.File("/workspace/tools/a")
		_, _ = fmt.Fprintf(p.Stdout, "found %q\n", f.Data)
		p.WriteFile("/workspace/tools/a", []byte("kept"))
		return 0
	})
	m.executor = attempt.New(fake, attempt.Options{})
	m.ok("pair", "--label", "box")
	runner := m.runner()
	for _, tt := range []struct{ key, found, explained string }{
		{"go-1", `found ""`, "go-1: nothing restored, saved 4 B"},
		{"go-1", `found "kept"`, "go-1: restored 4 B\n"},
		{"go-2", `found "kept"`, "go-2: restored 4 B of go-1, saved 4 B"},
	} {
		r := m.with(fmt.Sprintf(cachingSpec, tt.key), "submit", "-", "--follow")
		if r.code != 0 || !strings.Contains(r.stdout, tt.found) || !strings.Contains(r.stderr, "Cache "+tt.key) {
			t.Errorf("%+v, want %s", r, tt.found)
		}
		id := decode[[]mcp.Job](t, m.ok("jobs", "--json"))[0].ID
		if got := m.ok("explain", id); !strings.Contains(got, "\ncache:\n  "+tt.explained) {
			t.Errorf("explain lacks %q:\n%s", tt.explained, got)
		}
	}
	all := decode[[]cache.Item](t, m.ok("cache", "ls", "--json"))
	if len(all) != 2 || all[0].Key != "go-2" || all[0].Profile != "default" || all[1].Bytes != 4 || !strings.Contains(all[0].Owner, "/usr_") {
		t.Fatalf("%+v", all)
	}
	if got := m.ok("cache", "ls"); !strings.HasPrefix(got, all[0].ID[:12]+"\tgo-2\t4 B\t") {
		t.Errorf("%q", got)
	}
	if r := m.start("", nil, "cache", "rm", "0").wait(); r.code != mcp.ExitNotFound {
		t.Errorf("%+v", r)
	}
	if r := m.start("", nil, "cache", "rm").wait(); r.code != mcp.ExitUsage {
		t.Errorf("%+v", r)
	}
	if got := m.ok("cache", "rm", all[1].ID[:6]); !strings.HasPrefix(got, "Removed 1 of 2 entries") {
		t.Errorf("%q", got)
	}
	if got := decode[[]cache.Item](t, m.ok("cache", "rm", "--unused-for", "24h", "--json")); len(got) != 0 {
		t.Errorf("%+v", got)
	}
	runner.signal <- struct{}{}
	if r := runner.wait(); r.code != 0 {
		t.Errorf("%+v", r)
	}
	m.ok("unpair")
	m.executor = &topologytest.Executor{}
	m.ok("gc", "--dry-run")
	if got := decode[[]cache.Item](t, m.ok("cache", "ls", "--json")); len(got) != 1 || got[0].Key != "go-2" {
		t.Errorf("%+v", got)
	}
	m.ok("gc")
	if got := m.ok("cache", "ls"); got != "" {
		t.Errorf("%q", got)
	}
}
