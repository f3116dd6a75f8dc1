package topology

import (
	"bytes"
	"encoding/json"
)

// Canonical is the spec as JSON: one line, keys in a fixed order, everything
// normalised. Parse reads it back to an equal value, so equal specs have equal
// bytes. The error is json's; a spec that Parse returned has none.
func (s *Spec) Canonical() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // it would grow scripts and is of no use here
	if err := enc.Encode(s); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
