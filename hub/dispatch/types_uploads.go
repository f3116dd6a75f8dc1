package dispatch

import (
	"time"

	"github.com/runnerhub/runnerhub/hub"
)

// MaxUploadPart is the most bytes that one WriteUpload takes, and MinUploadPart the fewest that it keeps of an upload
// that has more to come: each part is a blob and a row until the upload ends.
const (
	MaxUploadPart = 16 << 20
	MinUploadPart = 64 << 10
)

// partWithin is how long one WriteUpload may take, the copy at the end included. It is less than reclaimGrace: what began
// within an upload's time has ended before the upload is reclaimed.
const partWithin = reclaimGrace / 2

// UploadRequest announces bytes.
type UploadRequest struct {
	Kind   hub.UploadKind
	Owner  hub.Owner // whose bytes they are; callers have checked that the principal may act for it
	Size   int64
	Digest []byte // SHA-256

	// Of an artifact.
	JobID   string
	Attempt int
	File    hub.ArtifactFile
}

// UploadTicket answers an announcement.
type UploadTicket struct {
	Blob       *hub.Blob // the owner has these bytes already: nothing is to be sent
	Token      string    // the capability to send them with
	NextOffset int64     // where to go on from: above 0 after an upload that was cut short
	Expires    time.Duration
}
