// Package clients has other people's MCP clients do a hub's main job: MCP's own conformance suite, its Inspector, and the
// official SDKs, against the real programs with a real Docker. There is nothing in it but tests, which `make test-clients`
// runs: they need Node programs from the npm registry, pinned by testdata/node/package-lock.json.
package clients
