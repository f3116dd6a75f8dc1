package hub

import "io"

// SourceArchive is an archive on its way to a runner.
type SourceArchive struct {
	io.ReadCloser
	Size int64
	// Arrived says whether all of it was sent. If not, the ticket works again.
	Arrived func(whole bool)
}
