package mcp

// ReadJobFileArgs reads a part of a file in a job, or lists a folder.
type ReadJobFileArgs struct {
	JobID    string `json:"job_id"`
	Path     string `json:"path"` // below the working directory; in a service absolute
	Service  string `json:"service,omitempty"`
	Offset   int64  `json:"offset,omitempty"`
	MaxBytes int64  `json:"max_bytes,omitempty"`
}

// Types of what ReadJobFileResult tells of.
const (
	TypeFile   = "file"
	TypeFolder = "folder"
	TypeLink   = "link"
	TypeOther  = "other" // a device or a socket, for example
)

// ReadJobFileResult is a part of a file, or the first entries of a folder. Bytes that are no text in UTF-8 are in Base64 instead
// of Text.
type ReadJobFileResult struct {
	Type       string      `json:"type"` // file or folder
	SizeBytes  int64       `json:"size_bytes"`
	Text       string      `json:"text,omitempty"`
	Base64     string      `json:"base64,omitempty"`
	NextOffset int64       `json:"next_offset,omitempty"` // where to read on, absent at the file's end
	Entries    []FileEntry `json:"entries,omitempty"`     // of a folder, by name
	Note       string      `json:"note,omitempty"`        // what was left out and how to get it
}

// FileEntry is one entry of a folder.
type FileEntry struct {
	Name      string `json:"name"`
	Type      string `json:"type"`                 // file, folder, link or other
	SizeBytes *int64 `json:"size_bytes,omitempty"` // of a file
}

// WriteJobFileArgs makes or replaces a file in a job.
type WriteJobFileArgs struct {
	JobID         string `json:"job_id"`
	Path          string `json:"path"`
	Service       string `json:"service,omitempty"`
	Content       string `json:"content,omitempty"`
	ContentBase64 string `json:"content_base64,omitempty"`
	Mode          string `json:"mode,omitempty"` // permissions in octal
}

// WriteJobFileResult tells that the file is there.
type WriteJobFileResult struct {
	Created bool `json:"created"` // there was none
}
