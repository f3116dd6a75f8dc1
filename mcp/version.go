// Package mcp is the wire contract between a hub, its runners, and the agents
// and people that use it: tool names, typed arguments and results, error codes
// and the protocol version. It imports no other package of this project, so
// that a third-party client may use it as it stands.
//
// Field names are snake_case, durations are integers in milliseconds and end in
// _ms, times are RFC 3339 in UTC. Fields may be added; names do not change.
package mcp

// Version is the release of the program, set by the linker.
var Version = "dev"

// Protocol is the revision of the runner protocol that this code speaks. A hub
// serves runners from MinProtocol on; to others it answers update_required. A
// runner newer than the hub is served as long as it speaks a revision that the
// hub knows, so a revision only ever adds.
const (
	Protocol    = 1
	MinProtocol = 1
)

// MaxWait is the longest that a tool may hold a call, in milliseconds. Several
// AI clients give up after 60 s; a client should wait MaxWait plus 10 s.
const MaxWait = 25_000
