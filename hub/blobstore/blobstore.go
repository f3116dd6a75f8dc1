// Package blobstore keeps bytes (logs, artifacts, source archives) in a bucket through gocloud.dev/blob: a
// local folder, which several hubs may share.
package blobstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"gocloud.dev/blob"
	"gocloud.dev/blob/fileblob"
	"gocloud.dev/gcerrors"

	"github.com/runnerhub/runnerhub/hub"
)

// Bucket is a hub.Bucket.
type Bucket struct {
	b    *blob.Bucket
	dir  string
	disk *durable
}

// Open opens a folder, given as a path or as file://PATH. It is made where it is
// not there, readable by its owner alone.
func Open(_ context.Context, location string) (*Bucket, error) {
	if scheme, _, ok := strings.Cut(location, "://"); ok && scheme != "file" {
		return nil, hub.Errorf(hub.InvalidArgument, "blobs cannot be kept at a %s:// address", scheme).
			WithHint("name a folder; several hubs can share one")
	}
	dir := strings.TrimPrefix(location, "file://")
	err := os.MkdirAll(dir, 0o700)
	if err != nil {
		return nil, fmt.Errorf("make the blob folder: %w", err)
	}
	// Temporary files go beside the blobs: a rename across file systems would fail.
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, fmt.Errorf("find the blob folder: %w", err)
	}
	b, err := fileblob.OpenBucket(dir, &fileblob.Options{NoTempDir: true, Metadata: fileblob.MetadataDontWrite, DirFileMode: 0o700})
	if err != nil {
		return nil, fmt.Errorf("open the blob folder %s: %w", dir, err)
	}
	return &Bucket{b, dir, newDurable(dir)}, nil
}

// Put stores data under key; a blob appears whole or not at all. Once it has returned, a loss of power does not undo it.
func (b *Bucket) Put(ctx context.Context, key string, data []byte) error {
	w, err := b.Create(ctx, key)
	if err != nil {
		return err
	}
	defer w.Close()
	if _, err := w.Write(data); err != nil {
		return err
	}
	return w.Commit()
}

// Size is how many bytes the blob of key has.
func (b *Bucket) Size(ctx context.Context, key string) (int64, error) {
	a, err := b.b.Attributes(ctx, key)
	if err != nil {
		return 0, translate("read", key, err)
	}
	return a.Size, nil
}

// Get reads the blob of key.
func (b *Bucket) Get(ctx context.Context, key string) ([]byte, error) {
	data, err := b.b.ReadAll(ctx, key)
	return data, translate("read", key, err)
}

// Delete removes the blob of key; one that is not there is no error.
func (b *Bucket) Delete(ctx context.Context, key string) error {
	err := b.b.Delete(ctx, key)
	if gcerrors.Code(err) == gcerrors.NotFound {
		return nil
	}
	return translate("delete", key, err)
}

// DeleteAll removes all blobs below a folder of keys but those to keep, and the folders that they were in. It may be
// called again after it was cut short.
func (b *Bucket) DeleteAll(ctx context.Context, folder string, keep ...string) error {
	folder = strings.TrimSuffix(folder, "/") + "/"
	for list := b.b.List(&blob.ListOptions{Prefix: folder}); ; {
		o, err := list.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return translate("list", folder, err)
		}
		if slices.Contains(keep, o.Key) {
			continue
		}
		if err := b.Delete(ctx, o.Key); err != nil {
			return err
		}
	}
	// Empty folders would use up the file system's inodes. What cannot be removed is in use, or in nobody's way.
	var dirs []string
	_ = filepath.WalkDir(filepath.Join(b.dir, filepath.FromSlash(folder)), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			dirs = append(dirs, path)
		}
		return nil
	})
	b.disk.forget(dirs)
	for _, dir := range slices.Backward(dirs) { // the inner ones first
		_ = os.Remove(dir)
	}
	return nil
}

// Close frees the bucket.
func (b *Bucket) Close() error { return b.b.Close() }

func translate(verb, key string, err error) error {
	switch {
	case err == nil:
		return nil
	case gcerrors.Code(err) == gcerrors.NotFound:
		return hub.Errorf(hub.NotFound, "no blob %s", key)
	case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return err
	}
	e := &hub.Error{
		Code: hub.Unavailable, Retryable: true, Err: err,
		Message: "the hub could not " + verb + " bytes", Hint: "try again; the hub's log has the cause",
	}
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		e.Message = "the hub's disk is full"
		e.Hint = "free space where the hub keeps its data, then try again; nothing that was accepted is lost"
	}
	return e
}
