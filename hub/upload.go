package hub

import "time"

// UploadIDPrefix begins the ids of uploads, and of the blobs that come of them.
const UploadIDPrefix = "upl_"

// UploadKind is what bytes are sent for.
type UploadKind string

// The kinds of upload.
const (
	UploadArtifact UploadKind = "artifact" // of an attempt, by its runner
	UploadSource   UploadKind = "source"   // an archive that jobs start from, by a person
)

// UploadState is where an upload is in its life: open → done or dropped.
type UploadState string

// The states of an upload.
const (
	UploadOpen    UploadState = "open"
	UploadDone    UploadState = "done"    // size and digest were right: its blob exists
	UploadDropped UploadState = "dropped" // other bytes came than were announced, or too late
)

// Upload is bytes that were announced, by size and digest, and that arrive in parts. Whoever has its capability may
// send them. Nobody can read any of them before all have been checked.
type Upload struct {
	ID          string
	Kind        UploadKind
	Owner       Owner  // content is addressed within one owner's blobs: nobody learns what others have
	CreatedBy   string // Principal.Actor
	TokenDigest []byte // SHA-256 of the capability
	Size        int64  // bytes, as announced
	Digest      []byte // SHA-256, as announced
	Received    int64  // bytes that are stored
	State       UploadState
	BlobID      string // of the blob, once done: its own, or an older one with the same bytes
	CreatedAt   time.Time
	ExpiresAt   time.Time // takes no bytes after this, done or not

	// Of an artifact; JobID is "" for others.
	JobID   string
	Attempt int
	File    ArtifactFile
}

// ArtifactFile is what an artifact is called.
type ArtifactFile struct {
	Name       string // of the spec's entry that it was collected by
	Path       string // below the job's working directory, with slashes; unique within an attempt
	Executable bool
}

// UploadPart is a run of an upload's bytes in the bucket.
type UploadPart struct {
	Start int64
	Size  int64
	Key   string // in the bucket
}

// UploadProgress answers bytes.
type UploadProgress struct {
	NextOffset int64
	Done       bool // all of it was there, and was what had been announced
}

// UploadCaps bound what may be announced; a field that is 0 bounds nothing. An artifact counts with what its attempt
// has and has announced, other kinds with what their owner has announced and not sent yet.
type UploadCaps struct {
	Count int
	Bytes int64
}

// Check tells whether an upload may begin beside those that count already: nil, or StaleLease or QuotaExceeded. attempt
// is the state of an artifact's attempt.
func (c UploadCaps) Check(u Upload, attempt AttemptState, count int, size int64) error {
	over := c.Bytes > 0 && u.Size > c.Bytes-size
	full := c.Count > 0 && count >= c.Count
	switch {
	case u.Kind != UploadArtifact && (full || over):
		return OverUploads()
	case u.Kind != UploadArtifact:
		return nil
	case !attempt.Live():
		return StaleAttempt(attempt)
	case full:
		return OverArtifacts(c.Count)
	case over:
		return OverArtifactBytes(c.Bytes)
	}
	return nil
}

// Blob is checked bytes. It goes when KeepUntil has passed, which every use of it puts off.
type Blob struct {
	ID        string
	Owner     Owner
	Digest    []byte // SHA-256; unique among the owner's
	Size      int64
	Key       string // in the bucket
	CreatedAt time.Time
	KeepUntil time.Time
}

// Artifact is a file that an attempt left.
type Artifact struct {
	JobID   string
	Attempt int
	ArtifactFile
	Size      int64
	Digest    []byte // SHA-256
	BlobID    string
	Key       string // of the blob's bytes in the bucket; filled in by reads
	CreatedAt time.Time
	ExpiresAt time.Time
}

// The caps on artifacts, as the detail "cap" of a QuotaExceeded error names them.
const (
	CapArtifacts     = "max_artifacts"      // files of an attempt
	CapArtifactBytes = "max_artifact_bytes" // of an attempt's files together
	CapUploads       = "max_uploads"        // of an owner, that are under way
)

// OverArtifacts is the refusal of an attempt's file over CapArtifacts.
func OverArtifacts(limit int) *Error {
	return Errorf(QuotaExceeded, "the attempt has %d artifacts, which is the cap", limit).
		WithHint("collect fewer files: narrow the artifact's path, or pack them into one in a step").
		WithDetail("cap", CapArtifacts).WithDetail("limit", limit)
}

// OverArtifactBytes is the refusal of an attempt's file over CapArtifactBytes.
func OverArtifactBytes(limit int64) *Error {
	return Errorf(QuotaExceeded, "the attempt's artifacts would have more than %d bytes together, which is the cap", limit).
		WithHint("collect less, or compress it in a step").
		WithDetail("cap", CapArtifactBytes).WithDetail("limit", limit)
}

// OverUploads is the refusal of an upload over CapUploads.
func OverUploads() *Error {
	return Errorf(QuotaExceeded, "too much is being uploaded for this owner at the same time").
		WithHint("wait until other uploads have ended; one that nobody goes on with ends by itself").
		WithDetail("cap", CapUploads)
}

// StaleAttempt is the refusal of an artifact of an attempt that is no longer live.
func StaleAttempt(s AttemptState) *Error {
	return Errorf(StaleLease, "the attempt has ended and takes no more artifacts: %s", s).
		WithHint("an artifact is sent before the attempt's result")
}
