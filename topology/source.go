package topology

import (
	"io/fs"
	"strconv"

	"github.com/runnerhub/runnerhub/topology/gitpatch"
)

// Source is the tree that a job's workspace starts with: a repository's, an
// archive's, or none, over it the files that the spec itself brings, and all of it
// changed by a patch.
type Source struct {
	// Files are keyed by their paths in the workspace.
	Files map[string]SourceFile `json:"files,omitempty"`

	// Repository is a URL that git understands, and Commit a full id of a commit in
	// it. Path, where set, is the folder of it that becomes the workspace.
	Repository string `json:"repository,omitempty"`
	Commit     string `json:"commit,omitempty"`
	Submodules bool   `json:"submodules,omitempty"`
	LFS        bool   `json:"lfs,omitempty"`
	Path       string `json:"path,omitempty"`

	// Archive is the digest ("sha256:…") of an archive that the hub holds.
	Archive string `json:"archive,omitempty"`

	// Patch is a unified diff, as gitpatch reads it.
	Patch string `json:"patch,omitempty"`
}

// NeedsBase names a file that the patch begins with in a source that has no files at
// all, "" for none: no machine could apply it.
func (s *Source) NeedsBase() string {
	if s.Patch == "" || s.Repository != "" || s.Archive != "" || len(s.Files) > 0 {
		return ""
	}
	changes, err := gitpatch.Parse(s.Patch)
	if err != nil { // refused when it was decoded
		return ""
	}
	made := map[string]bool{}
	for _, c := range changes {
		if c.From != "" && !made[c.From] {
			return c.From
		}
		made[c.To] = true
	}
	return ""
}

// SourceFile is a file that a spec brings.
type SourceFile struct {
	Content string `json:"content"`
	Mode    string `json:"mode,omitempty"` // permissions in octal, "0755"; "" is 0644
}

// Perm is the file's permissions.
func (f SourceFile) Perm() fs.FileMode {
	if mode, err := strconv.ParseUint(f.Mode, 8, 32); err == nil && f.Mode != "" {
		return fs.FileMode(mode) & fs.ModePerm
	}
	return 0o644
}
