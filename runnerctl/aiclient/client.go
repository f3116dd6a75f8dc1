// Package aiclient knows where AI clients keep their configuration, and adds and removes the one entry there that makes
// a client start `runnerctl mcp`. All else in the file stays as it is, to the byte: other servers, keys that are not
// known here, comments.
package aiclient

import (
	"path/filepath"
)

// Client is an AI client.
type Client struct {
	Name  string // as people type it
	Title string // as its maker writes it

	user    func(Places) string // its file for a person
	project string              // its file for a project, below the project's folder; "" without one
	format  format
}

// Places is where a person's files are.
type Places struct {
	Home   string              // the home folder
	Config string              // the system's folder for settings, as os.UserConfigDir has it
	Getenv func(string) string // for clients whose folder can be moved
}

// format edits one kind of file. What it returns is text itself when nothing is to be done.
type format interface {
	add(text []byte, name string, s Server) ([]byte, error)
	remove(text []byte, name string, s Server) ([]byte, error)
}

// Clients lists the clients that are known.
func Clients() []Client {
	return []Client{
		{
			Name: "claude-code", Title: "Claude Code", project: ".mcp.json", format: jsonc{list: "mcpServers", typed: true},
			user: func(p Places) string { return filepath.Join(moved(p, "CLAUDE_CONFIG_DIR", p.Home), ".claude.json") },
		},
		{
			Name: "vscode", Title: "VS Code", project: filepath.Join(".vscode", "mcp.json"), format: jsonc{list: "servers", typed: true},
			user: func(p Places) string { return filepath.Join(p.Config, "Code", "User", "mcp.json") },
		},
		{
			Name: "cursor", Title: "Cursor", project: filepath.Join(".cursor", "mcp.json"), format: jsonc{list: "mcpServers"},
			user: func(p Places) string { return filepath.Join(p.Home, ".cursor", "mcp.json") },
		},
		{
			Name: "codex", Title: "Codex", project: filepath.Join(".codex", "config.toml"), format: tables{list: "mcp_servers"},
			user: func(p Places) string {
				return filepath.Join(moved(p, "CODEX_HOME", filepath.Join(p.Home, ".codex")), "config.toml")
			},
		},
		{
			Name: "claude-desktop", Title: "Claude Desktop", format: jsonc{list: "mcpServers"},
			user: func(p Places) string { return filepath.Join(p.Config, "Claude", "claude_desktop_config.json") },
		},
	}
}

func moved(p Places, variable, otherwise string) string {
	if dir := p.Getenv(variable); dir != "" {
		return dir
	}
	return otherwise
}

// Find returns the client of that name.
func Find(name string) (Client, bool) {
	for _, c := range Clients() {
		if c.Name == name {
			return c, true
		}
	}
	return Client{}, false
}

// Names lists the clients' names.
func Names() []string {
	var names []string
	for _, c := range Clients() {
		names = append(names, c.Name)
	}
	return names
}

// UserFile is the client's file for the person.
func (c Client) UserFile(p Places) string { return c.user(p) }

// ProjectFile is the client's file for the project in dir, and whether the client has such files.
func (c Client) ProjectFile(dir string) (string, bool) {
	return filepath.Join(dir, c.project), c.project != ""
}

// Add returns the text of the client's file with s under a name, and text itself if it is there already. An entry that
// starts another runnerctl, or with other arguments, is changed and keeps its other keys; one that is not ours is an
// error, as is a text that cannot be read.
func (c Client) Add(text []byte, name string, s Server) ([]byte, error) {
	return c.format.add(text, name, s)
}

// Remove takes the entry out again. It returns text itself if there is none of that name; one that is not ours is an
// error.
func (c Client) Remove(text []byte, name string, s Server) ([]byte, error) {
	return c.format.remove(text, name, s)
}
