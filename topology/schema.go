package topology

import _ "embed"

//go:embed spec.schema.json
var specSchema []byte

// JSONSchema is the JSON Schema (2020-12) of a spec, for editors and for agents
// that write specs. Parse is stricter: a schema cannot say everything, and its
// errors know no lines. The caller must not change the bytes.
func JSONSchema() []byte { return specSchema }
