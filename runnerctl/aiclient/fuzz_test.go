package aiclient_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode"

	"github.com/pelletier/go-toml/v2"
	"github.com/tailscale/hujson"
)

// Whatever is in a file of JSON with comments, to add the entry changes nothing else, and to take it out again gives
// back what was there, comments included.
func FuzzJSON(f *testing.F) {
	for _, s := range []string{
		"", "{}", "{ /* a */ }", `{"servers":{}}`, `{"servers":{"a":{},},}`, "{\"servers\":{\"a\":1 // x\n}}", "{\"servers\": {\n\t// y\n}, \"b\": [1, 2,]}",
		"\ufeff{\r\n}", `{"servers":{"a":"\u0000"}/**/,/**/}`, `{"a":{"servers":{}}}`, "{\"servers\":{\"a\":{}/*x*/,/*y*/}}",
	} {
		f.Add(s)
	}
	c := find(f, "vscode")
	f.Fuzz(func(t *testing.T, before string) {
		after, err := c.Add([]byte(before), "runnerhub", this)
		if err != nil {
			return // refused, and nothing is written
		}
		got, was := document(t, string(after)), document(t, before)
		servers, _ := got["servers"].(map[string]any)
		entry, _ := servers["runnerhub"].(map[string]any)
		if entry["command"] != this.Command || !reflect.DeepEqual(entry["args"], []any{"mcp"}) {
			t.Fatalf("%q became %q: the entry is %v", before, after, entry)
		}
		delete(servers, "runnerhub")
		old, had := was["servers"].(map[string]any)
		delete(old, "runnerhub")
		if !had {
			was["servers"] = map[string]any{}
		}
		if !reflect.DeepEqual(got, was) {
			t.Errorf("%q became %q: something else has changed", before, after)
		}
		left, err := c.Remove(after, "runnerhub", this)
		if err != nil {
			t.Fatalf("taking it out of %q: %v", after, err)
		}
		if had && !strings.Contains(before, "runnerhub") && dense(string(left)) != dense(before) {
			t.Errorf("%q became %q and then %q", before, after, left)
		}
	})
}

func document(t *testing.T, text string) map[string]any {
	t.Helper()
	text = strings.TrimPrefix(text, "\ufeff")
	if strings.TrimSpace(text) == "" {
		text = "{}"
	}
	plain, err := hujson.Standardize([]byte(text))
	doc := map[string]any{}
	if err == nil {
		err = json.Unmarshal(plain, &doc)
	}
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return doc
}

// dense is a text without white space.
func dense(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, text)
}

// The same of TOML.
func FuzzTOML(f *testing.F) {
	for _, s := range []string{
		"", "a = 1", "# x\n", "[mcp_servers.a]\ncommand = \"b\"\n", "[mcp_servers.runnerhub]\ncommand = \"runnerctl\"\nargs = [\"mcp\", \"x\"] # y\n[b]\n",
		"[[a]]\nb = '''\n[c]\n'''\n", "mcp_servers.a.b = 1\n", "[mcp_servers]\n", "d = 1979-05-27\r\n\r\n",
	} {
		f.Add([]byte(s))
	}
	c := find(f, "codex")
	f.Fuzz(func(t *testing.T, before []byte) {
		after, err := c.Add(before, "runnerhub", this)
		if err != nil {
			return
		}
		got, was := table(t, after), table(t, before)
		for _, doc := range []map[string]any{got, was} {
			if servers, ok := doc["mcp_servers"].(map[string]any); ok {
				delete(servers, "runnerhub")
			} else {
				doc["mcp_servers"] = map[string]any{}
			}
		}
		if !reflect.DeepEqual(got, was) {
			t.Errorf("%q became %q: something else has changed", before, after)
		}
		left, err := c.Remove(after, "runnerhub", this)
		if err != nil {
			return // what looks like our table somewhere else
		}
		if !bytes.Contains(before, []byte("runnerhub")) && strings.TrimRight(string(left), "\r\n") != strings.TrimRight(string(before), "\r\n") {
			t.Errorf("%q became %q and then %q", before, after, left)
		}
	})
}

func table(t *testing.T, text []byte) map[string]any {
	t.Helper()
	doc := map[string]any{}
	if err := toml.Unmarshal(text, &doc); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return doc
}
