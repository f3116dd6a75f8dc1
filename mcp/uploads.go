package mcp

// UploadTicket answers the announcement of bytes by their size and SHA-256. Send them with PUT upload_url?offset=N, in
// parts of up to MaxUploadPart bytes from next_offset on, until an answer says done. The same announcement again answers
// the same URL and how far it got, so that an upload that was cut short goes on.
type UploadTicket struct {
	Exists     bool   `json:"exists"` // the hub has these bytes of this owner's already: there is nothing to send
	UploadURL  string `json:"upload_url,omitempty"`
	NextOffset int64  `json:"next_offset"`
	ExpiresMS  int64  `json:"expires_ms,omitempty"` // the URL takes bytes for this long
}

// PutUploadResult answers PUT upload_url?offset=N. A refused gap is a conflict whose details carry next_offset.
type PutUploadResult struct {
	NextOffset int64 `json:"next_offset"`
	Done       bool  `json:"done"` // all bytes are there and are what was announced
}

// Sizes of one PUT to an upload URL, in bytes: at most, and, but for the last one, at least.
const (
	MaxUploadPart = 16 << 20
	MinUploadPart = 64 << 10
)

// UploadArtifactArgs announces a file that the attempt left. It exists once all of its bytes are there and are right.
type UploadArtifactArgs struct {
	LeaseProof
	Name       string `json:"name" jsonschema:"name of the spec's entry that it belongs to"`
	Path       string `json:"path" jsonschema:"below the job's working directory, with slashes"`
	Executable bool   `json:"executable,omitempty"`
	Size       int64  `json:"size" jsonschema:"in bytes"`
	SHA256     string `json:"sha256" jsonschema:"of its bytes, 64 hexadecimal digits"`
}
