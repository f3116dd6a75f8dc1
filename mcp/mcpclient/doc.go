// Package mcpclient is the typed client of a hub: one method a tool, and the few
// calls that are plain HTTP (pairing, log bytes, health).
//
// Every method returns its typed result or an error that is a *mcp.Error, with a
// message and a hint for a person, whatever went wrong: the hub refused, the
// network is away, a captive portal answered instead. Only the end of the
// caller's own context is returned as it is.
//
// What may be repeated without harm is repeated, with full jitter and as the
// hub's retry_after asks. What may not (pairing a machine, say) is repeated
// only if the request surely did nothing: no connection was made, or the hub
// turned it away at the door.
//
// The client speaks the 2025-11-25 revision of MCP, which is the cheapest for
// both sides, and depends on nothing that is kept between two calls: any hub
// behind the address can answer the next one.
package mcpclient
