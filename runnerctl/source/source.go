// Package source gets the tree that a job starts with onto the runner's machine:
// from a repository, with the owner's own git and its credentials, from an archive
// that the hub holds, and from the spec itself, whose patch has the last word. What a tree contains is other
// people's; nothing of it is executed, and no path or link of it leads out of the
// folder that it is put in.
package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/runnerhub/runnerhub/runnerctl/archive"
	"github.com/runnerhub/runnerhub/topology"
)

// Fetcher gets sources. The zero value works, for repositories without mirrors.
type Fetcher struct {
	// Open opens an archive at a ticket's URL, from its first byte on. Its errors are
	// of the moment, but for *Refused.
	Open func(ctx context.Context, url string) (io.ReadCloser, error)
	// Mirrors are where repositories are looked for first.
	Mirrors []Mirror
	// Limits bound what a tree may be; zero fields have defaults.
	Limits archive.Limits
	// Timeout bounds how long a repository may take; default 30 minutes.
	Timeout time.Duration
}

// request is a call of Fetch.
type request struct {
	source *topology.Source
	ticket string
	dir    string
	allows func(repository string) bool
	say    func(line string)
}

// Fetch gets a source into dir, an empty folder of the attempt's own, and returns
// the folder with its tree, or why the attempt fails. ticket is where the archive
// is, for a source that has one. allows, where set, says whether the machine's owner lets a
// repository be fetched that another one names. say is told what goes on, a line at a time. What
// ended ctx is not explained.
func (f *Fetcher) Fetch(
	ctx context.Context, s *topology.Source, ticket, dir string, allows func(repository string) bool, say func(line string),
) (string, *topology.Failure) {
	r := request{s, ticket, dir, allows, say}
	tree := filepath.Join(dir, "tree")
	err := os.Mkdir(tree, 0o700)
	switch {
	case err != nil:
	case s.Repository != "":
		err = f.repository(ctx, r, tree)
	case s.Archive != "":
		err = f.archive(ctx, r, tree)
	}
	if err == nil {
		err = writeFiles(tree, s.Files)
	}
	if err == nil {
		err = applyPatch(ctx, tree, s.Patch, f.Limits, say)
	}
	if err != nil {
		return "", failureOf(err)
	}
	return tree, nil
}

// problem is a reason for a failure, in words for a person.
type problem struct {
	message, hint string
	lasting       bool // another try has the same bytes and the same end
}

func (p *problem) Error() string { return p.message }

func problemf(hint, format string, args ...any) error {
	return &problem{message: fmt.Sprintf(format, args...), hint: hint}
}

// lastingf is a problem of what the source is, and not of how to get it.
func lastingf(hint, format string, args ...any) error {
	return &problem{fmt.Sprintf(format, args...), hint, true}
}

func failureOf(err error) *topology.Failure {
	f := &topology.Failure{Class: topology.ClassSource, Message: "The job's source could not be fetched: " + err.Error()}
	if bad, ok := errors.AsType[*archive.Error](err); ok {
		f.Class, f.Message, f.Hint = topology.ClassSpecInvalid, "The job's source is refused: "+bad.Message+".", bad.Hint
	}
	if p, ok := errors.AsType[*problem](err); ok {
		f.Message, f.Hint = p.message, p.hint
		if p.lasting {
			f.Class = topology.ClassSpecInvalid
		}
	}
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || strings.Contains(f.Message, "No space left on device") {
		f.Class, f.Message, f.Hint = topology.ClassDiskFull, "The runner's disk is full: there is no room for the job's source.", "Free space on the runner's machine."
	}
	return f
}
