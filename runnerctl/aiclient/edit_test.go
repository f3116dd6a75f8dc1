package aiclient_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runnerhub/runnerhub/runnerctl/aiclient"
)

var this = aiclient.Server{Command: "/usr/local/bin/runnerctl", Args: []string{"mcp"}}

func find(t testing.TB, name string) aiclient.Client {
	t.Helper()
	c, ok := aiclient.Find(name)
	if !ok {
		t.Fatalf("there is no client %s", name)
	}
	return c
}

// Each row is a file before and after, and what is left when the entry is taken out again: before itself unless said.
func TestAddAndRemove(t *testing.T) {
	t.Parallel()
	const ours = `"runnerhub": {
      "type": "stdio",
      "command": "/usr/local/bin/runnerctl",
      "args": ["mcp"]
    }`
	plain := strings.Replace(ours, "\n      \"type\": \"stdio\",", "", 1)
	const table = "[mcp_servers.runnerhub]\ncommand = \"/usr/local/bin/runnerctl\"\nargs = [\"mcp\"]\n"
	type row struct{ name, client, before, after, left string }
	for _, tc := range []row{
		{"no file", "claude-code", "", "{\n  \"mcpServers\": {\n    " + ours + "\n  }\n}\n", "{\n  \"mcpServers\": {\n  }\n}\n"},
		{"blank", "cursor", "\n", "{\n  \"mcpServers\": {\n    " + plain + "\n  }\n}\n", "{\n  \"mcpServers\": {\n  }\n}\n"},
		{"no servers", "claude-desktop", "{\n  \"theme\": \"dark\"\n}", "{\n  \"theme\": \"dark\",\n  \"mcpServers\": {\n    " + plain + "\n  }\n}",
			"{\n  \"theme\": \"dark\",\n  \"mcpServers\": {\n  }\n}"},
		{"an empty list", "vscode", "{\n  \"servers\": {}\n}\n", "{\n  \"servers\": {\n    " + ours + "\n  }\n}\n", "{\n  \"servers\": {\n  }\n}\n"},
		{"another server", "vscode", "{\n  \"servers\": {\n    \"a\": {\"url\": \"x\"}\n  },\n  \"inputs\": []\n}\n",
			"{\n  \"servers\": {\n    \"a\": {\"url\": \"x\"},\n    " + ours + "\n  },\n  \"inputs\": []\n}\n", ""},
		{"comments", "vscode", "// mine\n{\n  /* all */ \"servers\": {\n    // first\n    \"a\": {} // of a\n    // last\n  }\n} // end\n",
			"// mine\n{\n  /* all */ \"servers\": {\n    // first\n    \"a\": {}, // of a\n    // last\n    " + ours + "\n  }\n} // end\n", ""},
		{"trailing commas", "vscode", "{\n  \"servers\": {\n    \"a\": {}, // of a\n  },\n}\n",
			"{\n  \"servers\": {\n    \"a\": {}, // of a\n    " + ours + ",\n  },\n}\n", ""},
		{"tabs and CRLF and a mark", "claude-desktop", "\ufeff{\r\n\t\"mcpServers\": {\r\n\t\t\"a\": {}\r\n\t}\r\n}\r\n",
			"\ufeff{\r\n\t\"mcpServers\": {\r\n\t\t\"a\": {},\r\n\t\t\"runnerhub\": {\r\n\t\t\t\"command\": \"/usr/local/bin/runnerctl\",\r\n\t\t\t\"args\": [\"mcp\"]\r\n\t\t}\r\n\t}\r\n}\r\n", ""},
		{"on one line", "cursor", `{"mcpServers":{"a":{}},"x":1}`,
			"{\"mcpServers\":{\"a\":{},\n  \"runnerhub\": {\n    \"command\": \"/usr/local/bin/runnerctl\",\n    \"args\": [\"mcp\"]\n  }\n},\"x\":1}",
			"{\"mcpServers\":{\"a\":{}\n},\"x\":1}"},
		{"another profile", "cursor", "{\"mcpServers\": {\"runnerhub\": {\"env\": {\"A\": \"b\"}, \"command\": \"/old/runnerctl\", /* old */ \"args\": [\"mcp\", \"--profile\", \"work\"]}}}",
			"{\"mcpServers\": {\"runnerhub\": {\"env\": {\"A\": \"b\"}, \"command\": \"/usr/local/bin/runnerctl\", /* old */ \"args\": [\"mcp\"]}}}", "{\"mcpServers\": {}}"},
		{"a program of Windows", "cursor", `{"mcpServers": {"runnerhub": {"command": "C:\\bin\\runnerctl.exe", "args": ["mcp"]}}}`,
			`{"mcpServers": {"runnerhub": {"command": "/usr/local/bin/runnerctl", "args": ["mcp"]}}}`, `{"mcpServers": {}}`},

		{"no file", "codex", "", table, "-"},
		{"no servers", "codex", "# mine\nmodel = \"x\" # y\n", "# mine\nmodel = \"x\" # y\n\n" + table, ""},
		{"no newline", "codex", "a = 1", "a = 1\n\n" + table, "a = 1\n"},
		{"another server", "codex", "[mcp_servers.a]\ncommand = \"a\" # of a\n\n[tui]\nx = '''\n[mcp_servers.runnerhub]\n'''\n",
			"[mcp_servers.a]\ncommand = \"a\" # of a\n\n[tui]\nx = '''\n[mcp_servers.runnerhub]\n'''\n\n" + table, "?"},
		{"another profile", "codex", "a = 1\n\n[mcp_servers.\"runnerhub\"] # x\nargs = [\"mcp\", \"--profile\", \"work\"]\nenabled = true\ncommand = '/usr/local/bin/runnerctl' # kept\n\n[mcp_servers.runnerhub.env]\nA = \"b\"\n\n# of b\n[b]\n",
			"a = 1\n\n[mcp_servers.\"runnerhub\"] # x\nargs = [\"mcp\"]\nenabled = true\ncommand = '/usr/local/bin/runnerctl' # kept\n\n[mcp_servers.runnerhub.env]\nA = \"b\"\n\n# of b\n[b]\n",
			"a = 1\n\n# of b\n[b]\n"},
		{"CRLF", "codex", "a = 1\r\n", "a = 1\r\n\r\n" + strings.ReplaceAll(table, "\n", "\r\n"), ""},
	} {
		t.Run(tc.client+" "+tc.name, func(t *testing.T) {
			t.Parallel()
			c := find(t, tc.client)
			after, err := c.Add([]byte(tc.before), "runnerhub", this)
			if diff := cmp.Diff(tc.after, string(after)); err != nil || diff != "" {
				t.Fatalf("%v, -want +got\n%s", err, diff)
			}
			again, err := c.Add(after, "runnerhub", this)
			if err != nil || string(again) != string(after) {
				t.Errorf("a second time it is not there already: %v\n%s", err, again)
			}
			left, err := c.Remove(after, "runnerhub", this)
			switch tc.left {
			case "":
				tc.left = tc.before
			case "-":
				tc.left = ""
			case "?": // what looks like our table within a string: rather nothing than a damaged file
				if !errors.Is(err, aiclient.ErrNotation) {
					t.Fatalf("%v, want ErrNotation; left:\n%s", err, left)
				}
				return
			}
			if diff := cmp.Diff(tc.left, string(left)); err != nil || diff != "" {
				t.Errorf("taken out: %v, -want +got\n%s", err, diff)
			}
			none, err := c.Remove(left, "runnerhub", this)
			if err != nil || string(none) != string(left) {
				t.Errorf("taken out twice: %v\n%s", err, none)
			}
		})
	}
}

func TestWhatIsNotOursIsLeftAlone(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ client, text string }{
		{"claude-code", `{"mcpServers": {"runnerhub": {"type": "http", "url": "http://h/mcp", "headers": {"Authorization": "Bearer ak_x"}}}}`},
		{"claude-code", `{"mcpServers": {"runnerhub": {"command": "npx", "args": ["mcp"]}}}`},
		{"claude-code", `{"mcpServers": {"runnerhub": {"command": "/usr/local/bin/runnerctl", "args": ["run"]}}}`},
		{"claude-code", `{"mcpServers": {"runnerhub": null}}`},
		{"codex", "[mcp_servers.runnerhub]\nurl = \"http://h\"\n"},
		{"codex", "mcp_servers.runnerhub = 3\n"},
	} {
		c := find(t, tc.client)
		for what, edit := range map[string]func([]byte, string, aiclient.Server) ([]byte, error){"add": c.Add, "remove": c.Remove} {
			out, err := edit([]byte(tc.text), "runnerhub", this)
			if _, ok := errors.AsType[*aiclient.ForeignError](err); !ok || out != nil && what == "add" {
				t.Errorf("%s in %s: %q, %v; want a ForeignError", what, tc.text, out, err)
			}
		}
	}
}

func TestAFileThatCannotBeReadIsNotTouched(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		client, text string
		line         int
	}{
		{"vscode", "{\n  \"servers\": {\n    \"a\" 1\n  }\n}", 3},
		{"vscode", "{\n", 2},
		{"vscode", "[]", 1},
		{"vscode", "{}{}", 1},
		{"vscode", "{\n  \"servers\": []\n}", 2},
		{"vscode", "{\"servers\": {},\n \"servers\": {}}", 2},
		{"vscode", "{\"servers\": {\"runnerhub\": {},\n\n \"runnerhub\": {}}}", 3},
		{"codex", "a = 1\nb = \n", 2},
		{"codex", "[a]\n[a]\n", 2},
	} {
		c := find(t, tc.client)
		for what, edit := range map[string]func([]byte, string, aiclient.Server) ([]byte, error){"add": c.Add, "remove": c.Remove} {
			_, err := edit([]byte(tc.text), "runnerhub", this)
			e, ok := errors.AsType[*aiclient.MalformedError](err)
			if !ok || e.Line != tc.line || e.Reason == "" {
				t.Errorf("%s in %q: %v, want a MalformedError at line %d", what, tc.text, err, tc.line)
			}
		}
	}
}

func TestANotationThatIsNotEditedIsSaidSo(t *testing.T) {
	t.Parallel()
	c := find(t, "codex")
	for _, text := range []string{
		"mcp_servers = {a = {command = \"a\"}}\n",
		"mcp_servers = 3\n",
		"[mcp_servers]\nrunnerhub = {command = \"runnerctl\", args = [\"mcp\"]}\n",
		"[mcp_servers.runnerhub]\ncommand = \"runnerctl\"\nargs = [\n  \"mcp\",\n  \"--profile\", \"x\",\n]\n",
	} {
		if out, err := c.Add([]byte(text), "runnerhub", this); !errors.Is(err, aiclient.ErrNotation) {
			t.Errorf("%q became %q, %v; want ErrNotation", text, out, err)
		}
	}
}
