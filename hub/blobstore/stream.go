package blobstore

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"sync"

	"gocloud.dev/blob"

	"github.com/runnerhub/runnerhub/hub"
)

// Create begins a blob that is written as a stream.
func (b *Bucket) Create(ctx context.Context, key string) (hub.BlobWriter, error) {
	out := &writer{bucket: b, key: key}
	ctx, out.cancel = context.WithCancel(ctx)
	var err error
	out.w, err = b.b.NewWriter(ctx, key, &blob.WriterOptions{
		ContentType: "application/octet-stream", // or it would look at the bytes first
		BeforeWrite: func(as func(any) bool) error {
			as(&out.file)
			return nil
		},
	})
	if err != nil {
		out.cancel()
		return nil, translate("write", key, err)
	}
	return out, nil
}

// writer is a hub.BlobWriter. A driver's writer drops what it has when its context has ended before it is closed.
type writer struct {
	w      *blob.Writer
	file   *os.File // that the driver writes to, and renames when it is closed
	bucket *Bucket
	cancel context.CancelFunc
	key    string
	once   sync.Once
}

func (w *writer) Write(p []byte) (int, error) {
	n, err := w.w.Write(p)
	return n, translate("write", w.key, err)
}

// Commit flushes the bytes before they get their name, and the name before anybody is told: the store's row that will name
// the blob outlasts a loss of power, and must not outlast the blob.
func (w *writer) Commit() (err error) {
	w.once.Do(func() {
		defer w.cancel()
		if err = w.bucket.disk.file(w.file); err != nil {
			w.cancel() // it is dropped
		}
		if closed := w.w.Close(); err == nil {
			err = closed
		}
		if err == nil {
			err = w.bucket.disk.names(filepath.Dir(w.file.Name()))
		}
		err = translate("write", w.key, err)
	})
	return err
}

func (w *writer) Close() error {
	w.once.Do(func() {
		w.cancel()
		_ = w.w.Close() // it says that it was canceled
	})
	return nil
}

// Open reads a blob as a stream.
func (b *Bucket) Open(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	r, err := b.b.NewRangeReader(ctx, key, offset, length, nil)
	if err != nil {
		return nil, translate("read", key, err)
	}
	return &reader{r, key}, nil
}

type reader struct {
	*blob.Reader
	key string
}

func (r *reader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err == nil || err == io.EOF { //nolint:errorlint // a reader's end is the value itself
		return n, err
	}
	return n, translate("read", r.key, err)
}
