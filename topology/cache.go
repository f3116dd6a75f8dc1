package topology

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"path"
	"strings"
)

// CacheSpec is folders of the job container that the machine keeps for later jobs.
type CacheSpec struct {
	Key CacheKey `json:"key"`
	// Restore are beginnings of other keys. Where there is no entry of the key itself, the newest one of the first
	// beginning that any entry has is restored.
	Restore []string `json:"restore,omitempty"`
	// Paths are absolute, below the working directory, or below the home of the job's user ("~/…").
	Paths    []string `json:"paths"`
	ReadOnly bool     `json:"read_only,omitempty"` // restored and never saved
}

// CacheKey names an entry: a word alone, or one and a hash of files of the source.
type CacheKey struct {
	Prefix string
	Files  []string // patterns as of Artifact.Path
}

// MarshalJSON writes a key as a spec has it: the word alone where that is all.
func (k CacheKey) MarshalJSON() ([]byte, error) {
	if len(k.Files) == 0 {
		return json.Marshal(k.Prefix)
	}
	return json.Marshal(struct {
		Prefix string   `json:"prefix"`
		Files  []string `json:"files"`
	}{k.Prefix, k.Files})
}

// CachePath is where a path of CacheSpec.Paths is in the container. home is that of the job's user.
func (s *Spec) CachePath(name, home string) string {
	switch rest, below := strings.CutPrefix(name, "~/"); {
	case below:
		return path.Join(home, rest)
	case path.IsAbs(name):
		return path.Clean(name)
	}
	return path.Join(s.Workspace(), name)
}

// CacheID is all that two jobs must have in common to share an entry, besides whose they are.
type CacheID struct {
	Key      string   `json:"key"`
	Paths    []string `json:"paths"`              // as in the spec
	Platform string   `json:"platform,omitempty"` // of the job's image
	User     string   `json:"user,omitempty"`     // whom the job runs as: others may not be able to use its files
}

// Cache keeps folders of jobs on the runner's machine. It is opened for one job and has the entries of those
// alone that the job may share with. What is kept is never changed: an entry appears whole, and goes whole.
// Methods may be called from several goroutines and processes at once.
type Cache interface {
	// Open opens the entry of an id, else the newest of those that differ from it in their keys alone, which begin with
	// the first of prefixes that any has; nil where there is none. An entry that is damaged is removed, and counts as
	// not there. say is told what a person should know.
	Open(ctx context.Context, id CacheID, prefixes []string, say func(line string)) (CacheEntry, error)
	// Create begins an entry; ErrCached when it is there already.
	Create(id CacheID) (CacheWriter, error)
}

// CacheEntry is an entry's tar stream, as it was written. It is not removed while it is open.
type CacheEntry interface {
	io.Reader
	Key() string
	// Remove removes the entry, because it is of no use.
	Remove() error
	Close() error
}

// CacheWriter takes the tar stream of a new entry. Nobody sees it before Commit has returned; an error of
// Write or Commit leaves nothing.
type CacheWriter interface {
	io.Writer
	// Reserve says beforehand that a file of so many bytes follows; an error when that is more than an entry may have.
	Reserve(bytes int64) error
	// Commit keeps what was written, and makes room for it; ErrCached when another job came first.
	Commit() error
	// Discard ends an entry that is not to be kept. After Commit it does nothing.
	Discard()
}

// ErrCached means that there is such an entry already.
var ErrCached = errors.New("there is an entry with this key already")

// CacheHit is what was found for a key.
type CacheHit string

// The kinds of hit.
const (
	CacheExact  CacheHit = "exact"  // an entry of the key
	CachePrefix CacheHit = "prefix" // an entry of another key, by CacheSpec.Restore
	CacheNone   CacheHit = "none"
)

// CacheResult is what became of one entry of Spec.Cache.
type CacheResult struct {
	Key           string
	Hit           CacheHit
	RestoredKey   string // of CachePrefix
	RestoredBytes int64  // of files, unpacked; as is SavedBytes
	SavedBytes    int64
}
