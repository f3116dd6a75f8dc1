package source_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/runnerhub/runnerhub/runnerctl/archive"
	"github.com/runnerhub/runnerhub/runnerctl/source"
	"github.com/runnerhub/runnerhub/runnerctl/worktree"
	"github.com/runnerhub/runnerhub/topology"
)

// packed packs files and returns the archive with its digest.
func packed(t *testing.T, files map[string]string) ([]byte, string) {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, files)
	tree, err := worktree.Scan(t.Context(), dir, archive.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := tree.Pack(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	data, err := io.ReadAll(io.NewSectionReader(p, 0, p.Size))
	if err != nil {
		t.Fatal(err)
	}
	return data, p.Digest
}

// broken is a body that ends before its time.
func broken(data []byte) io.ReadCloser {
	return io.NopCloser(io.MultiReader(bytes.NewReader(data[:len(data)/2]), errReader{io.ErrUnexpectedEOF}))
}

type errReader struct{ err error }

func (r errReader) Read([]byte) (int, error) { return 0, r.err }

func TestArchive(t *testing.T) {
	data, digest := packed(t, map[string]string{"run.sh*": "#!/bin/sh\n", "src/a": "a", "src/link": "->a"})
	other, otherDigest := packed(t, map[string]string{"b": "b"})
	bad := []byte("no archive at all")
	tests := map[string]struct {
		bodies []func() (io.ReadCloser, error) // of one try after the other, the last for ever
		digest string
		ticket string
		limits archive.Limits
		words  string         // "" is success
		class  topology.Class // "" is source, of which another try may be better
		tries  int
	}{
		"at once":          {digest: digest, tries: 1},
		"after it broke":   {bodies: []func() (io.ReadCloser, error){func() (io.ReadCloser, error) { return broken(data), nil }}, digest: digest, tries: 2},
		"after an outage":  {bodies: []func() (io.ReadCloser, error){refusedFor(errors.New("down")), refusedFor(errors.New("down"))}, digest: digest, tries: 3},
		"never":            {bodies: forever(refusedFor(errors.New("down"))), digest: digest, words: "did not arrive: down", tries: 6},
		"a ticket used":    {bodies: forever(refusedFor(&source.Refused{Err: errors.New("this ticket was used")})), digest: digest, words: "ticket was used", tries: 1},
		"another archive":  {bodies: forever(bodyOf(other)), digest: digest, words: "not the one that the job names", tries: 1},
		"no archive":       {bodies: forever(bodyOf(bad)), digest: "sha256:" + sumOf(bad), words: "cannot be read", class: topology.ClassSpecInvalid, tries: 1},
		"too large":        {digest: digest, limits: archive.Limits{Files: 1}, words: "more than 1 files", class: topology.ClassSpecInvalid, tries: 1},
		"packed too large": {digest: digest, limits: archive.Limits{Bytes: 10}, words: "larger than 10B", tries: 1},
		"no ticket":        {digest: otherDigest, ticket: "none", words: "sent no ticket"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				tries := 0
				f := &source.Fetcher{Limits: tt.limits, Open: func(_ context.Context, url string) (io.ReadCloser, error) {
					if url != "ticket" {
						t.Errorf("asked for %q", url)
					}
					if tries++; tries <= len(tt.bodies) {
						return tt.bodies[tries-1]()
					}
					return bodyOf(data)()
				}}
				ticket := "ticket"
				if tt.ticket == "none" {
					ticket = ""
				}
				dir, failure := f.Fetch(t.Context(), &topology.Source{Archive: tt.digest}, ticket, t.TempDir(), nil, func(string) {})
				if tries != tt.tries {
					t.Errorf("%d tries, want %d", tries, tt.tries)
				}
				if tt.words != "" {
					if failure == nil || failure.Class != orSource(tt.class) || !strings.Contains(failure.Message, tt.words) {
						t.Errorf("got %+v", failure)
					}
					return
				}
				if failure != nil {
					t.Fatalf("%+v", failure)
				}
				if diff := cmp.Diff(map[string]string{"run.sh*": "#!/bin/sh\n", "src/a": "a", "src/link": "->a"}, list(t, dir)); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// orSource is the class of a failure where a test names none.
func orSource(class topology.Class) topology.Class {
	if class == "" {
		return topology.ClassSource
	}
	return class
}

func bodyOf(data []byte) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
}

func refusedFor(err error) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) { return nil, err }
}

func forever(f func() (io.ReadCloser, error)) []func() (io.ReadCloser, error) {
	return []func() (io.ReadCloser, error){f, f, f, f, f, f, f}
}

func sumOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
