package mcp

// ToolUploadSource is the name of the operation that announces a source archive; over HTTP alone.
const ToolUploadSource = "upload_source"

// UploadSourceArgs announces an archive that jobs are to start from. An UploadTicket answers it.
type UploadSourceArgs struct {
	SHA256    string `json:"sha256" jsonschema:"digest of the archive, 64 hexadecimal digits"`
	Size      int64  `json:"size" jsonschema:"bytes"`
	Target    string `json:"target,omitempty" jsonschema:"of the job, as submit_job takes it"`
	Workspace string `json:"workspace,omitempty" jsonschema:"of the job, as submit_job takes it"`
}

// LeaseSource is where a runner gets the archive that a job starts from: GET url, with no token. It works once; when
// the answer breaks off it works again.
type LeaseSource struct {
	URL string `json:"url"`
}
