package mcp

import "time"

// Artifact is a file that an attempt left.
type Artifact struct {
	Name       string    `json:"name"` // of the spec's entry that it was kept by
	Path       string    `json:"path"` // below the job's working directory
	Size       int64     `json:"size"`
	SHA256     string    `json:"sha256"` // hexadecimal
	Executable bool      `json:"executable,omitempty"`
	URL        string    `json:"url"` // GET it with an API key; takes Range
	CreatedAt  time.Time `json:"created_at"`
	ExpiresAt  time.Time `json:"expires_at"` // it is deleted some time after this
}

// ListArtifactsArgs lists what an attempt left.
type ListArtifactsArgs struct {
	JobID   string `json:"job_id"`
	Attempt int    `json:"attempt,omitempty" jsonschema:"default: the latest"`
	Limit   int    `json:"limit,omitempty"`
	Cursor  string `json:"cursor,omitempty"`
}

// ListArtifactsResult is one page, by path.
type ListArtifactsResult struct {
	JobID      string     `json:"job_id"`
	Attempt    int        `json:"attempt"`
	Artifacts  []Artifact `json:"artifacts"`
	NextCursor string     `json:"next_cursor,omitempty"`
	Note       string     `json:"note,omitempty"` // why there are none
}

// ReadArtifactArgs reads a part of a text file.
type ReadArtifactArgs struct {
	JobID   string `json:"job_id"`
	Path    string `json:"path" jsonschema:"as list_artifacts names it"`
	Attempt int    `json:"attempt,omitempty" jsonschema:"default: the latest"`
	Offset  int64  `json:"offset,omitempty" jsonschema:"byte to begin at, default 0"`
}

// MaxArtifactText is the most bytes of a file that one ReadArtifactResult holds.
const MaxArtifactText = 32 << 10

// ReadArtifactResult is a part of a file, where it is text.
type ReadArtifactResult struct {
	JobID      string   `json:"job_id"`
	Attempt    int      `json:"attempt"`
	Artifact   Artifact `json:"artifact"`
	Text       string   `json:"text"`
	NextOffset int64    `json:"next_offset,omitempty"` // where to read on, absent at the file's end
	Note       string   `json:"note,omitempty"`        // what was left out and how to get it
}
