package worktree

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"

	"github.com/runnerhub/runnerhub/runnerctl/archive"
)

// Packed is an archive in a file of its own, which Close removes.
type Packed struct {
	Digest string // "sha256:…"
	Size   int64  // bytes
	file   *os.File
}

// Pack packs a tree. progress, which may be nil, is told of bytes that were read.
func (t *Tree) Pack(ctx context.Context, progress func(bytes int64)) (*Packed, error) {
	root, err := os.OpenRoot(t.Dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := os.CreateTemp("", "runnerhub-source-*.tar.zst")
	if err != nil {
		return nil, err
	}
	p := &Packed{file: f}
	sum := sha256.New()
	err = archive.Pack(ctx, io.MultiWriter(f, sum), root, t.Names, progress)
	if err == nil {
		p.Size, err = f.Seek(0, io.SeekCurrent)
	}
	if err != nil {
		p.Close()
		return nil, err
	}
	p.Digest = "sha256:" + hex.EncodeToString(sum.Sum(nil))
	return p, nil
}

// ReadAt reads the archive.
func (p *Packed) ReadAt(b []byte, offset int64) (int, error) { return p.file.ReadAt(b, offset) }

// Close removes the file.
func (p *Packed) Close() {
	_ = p.file.Close()
	_ = os.Remove(p.file.Name())
}
