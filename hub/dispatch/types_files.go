package dispatch

import "time"

// Bounds of files that are read and written in a job.
const (
	MaxFileBytes = 1 << 20  // that are written at once
	MaxFilePage  = 32 << 10 // that are read at once

	maxFileEntries = 250              // of a folder's listing
	fileWait       = 20 * time.Second // for the runner's answer; callers may give up at 30 s
	fileLate       = 10 * time.Second // until the runner ends a script that nobody waits for any more
)

// FileRequest names a file or folder of a job that is held, is a session, or allows commands while it runs.
type FileRequest struct {
	JobID   string
	Service string // "" is the job's own container
	// Path is relative to the job's working directory, or absolute and below it. In a service it is absolute.
	Path string
}

// ReadFileRequest reads a part of a file, or lists a folder.
type ReadFileRequest struct {
	FileRequest
	Offset int64
	Max    int64 // bytes, at most MaxFilePage; 0 is that
}

// WriteFileRequest makes or replaces a file.
type WriteFileRequest struct {
	FileRequest
	Content []byte // at most MaxFileBytes
	Mode    string // permissions in octal; "" keeps those of the file that is there, and is 0644 for a new one
}

// FilePage is a part of a file, or the first entries of a folder.
type FilePage struct {
	Folder  bool
	Size    int64 // of the whole file
	Data    []byte
	Entries []FileEntry
	Total   int // of entries, listed or not
}

// FileEntry is one entry of a folder.
type FileEntry struct {
	Type string // file, folder, link or other
	Name string
	Size int64 // of a file; -1 where that is not known
}
