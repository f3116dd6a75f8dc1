package policy

import (
	"encoding/json"
	"fmt"
)

// MaxOutline is the size of an outline in bytes; Parse admits no policy with a larger one.
const MaxOutline = 32 << 10

// Outline is what the hub gets to know of a policy, as one line of JSON: all but
// the paths of the machine's folders and the names of its users. Equal policies have equal outlines.
func (p *Policy) Outline() []byte {
	out := *p
	out.HostUser = ""
	if len(p.Mounts) > 0 {
		out.Mounts = []Mount{{}} // some
	}
	b, err := json.Marshal(out)
	if err != nil { // of texts, numbers and flags there is none
		panic(err)
	}
	return b
}

// ReadOutline reads what Outline wrote. Rules of a later release are left out: the
// runner holds a job against them itself.
func ReadOutline(data []byte) (*Policy, error) {
	if len(data) > MaxOutline {
		return nil, fmt.Errorf("the outline of the policy has %d bytes and may have %d", len(data), MaxOutline)
	}
	p := &Policy{}
	if err := json.Unmarshal(data, p); err != nil {
		return nil, fmt.Errorf("the outline of the policy cannot be read: %w", err)
	}
	return p, nil
}
