package memory

import (
	"bytes"
	"context"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/runnerhub/runnerhub/hub"
)

// Bucket implements hub.Bucket. It is safe for concurrent use.
type Bucket struct {
	mu    sync.Mutex
	blobs map[string][]byte
}

var _ hub.Bucket = (*Bucket)(nil)

// NewBucket makes an empty bucket.
func NewBucket() *Bucket { return &Bucket{blobs: map[string][]byte{}} }

// Keys lists what is there.
func (b *Bucket) Keys() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Sorted(maps.Keys(b.blobs))
}

// Put implements hub.Bucket.
func (b *Bucket) Put(_ context.Context, key string, data []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.blobs[key] = bytes.Clone(data)
	return nil
}

// Get implements hub.Bucket.
func (b *Bucket) Get(_ context.Context, key string) ([]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	data, ok := b.blobs[key]
	if !ok {
		return nil, hub.Errorf(hub.NotFound, "no blob %s", key)
	}
	return bytes.Clone(data), nil
}

// Size implements hub.Bucket.
func (b *Bucket) Size(ctx context.Context, key string) (int64, error) {
	data, err := b.Get(ctx, key)
	return int64(len(data)), err
}

// Create implements hub.Bucket.
func (b *Bucket) Create(_ context.Context, key string) (hub.BlobWriter, error) {
	return &blobWriter{bucket: b, key: key}, nil
}

type blobWriter struct {
	bytes.Buffer
	bucket *Bucket
	key    string
	done   bool
}

func (w *blobWriter) Commit() error {
	if w.done {
		return nil
	}
	w.done = true
	return w.bucket.Put(context.Background(), w.key, w.Bytes())
}

func (w *blobWriter) Close() error {
	w.done = true
	return nil
}

// Open implements hub.Bucket.
func (b *Bucket) Open(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	data, err := b.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	data = data[min(offset, int64(len(data))):]
	if length >= 0 {
		data = data[:min(length, int64(len(data)))]
	}
	return io.NopCloser(bytes.NewReader(data)), nil
}

// Delete implements hub.Bucket.
func (b *Bucket) Delete(_ context.Context, key string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.blobs, key)
	return nil
}

// DeleteAll implements hub.Bucket.
func (b *Bucket) DeleteAll(_ context.Context, folder string, keep ...string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	maps.DeleteFunc(b.blobs, func(key string, _ []byte) bool {
		return strings.HasPrefix(key, strings.TrimSuffix(folder, "/")+"/") && !slices.Contains(keep, key)
	})
	return nil
}

// Close implements hub.Bucket.
func (*Bucket) Close() error { return nil }
