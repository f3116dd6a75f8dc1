package mcp

// Headers of a request to the tools that narrow what it sees of them, where a client's configuration has no room for a
// path. Each can only take away.
const (
	HeaderToolsets = "X-MCP-Toolsets" // names of toolsets, with commas between them
	HeaderReadOnly = "X-MCP-Readonly" // true: only what changes nothing
)
