package blobstore

import (
	"context"
	"io"
	"sync"

	"gocloud.dev/blob"

	"github.com/runnerhub/runnerhub/hub"
)

// Create begins a blob that is written as a stream.
func (b *Bucket) Create(ctx context.Context, key string) (hub.BlobWriter, error) {
	ctx, cancel := context.WithCancel(ctx)
	w, err := b.b.NewWriter(ctx, key, &blob.WriterOptions{ContentType: "application/octet-stream"}) // or it would look at the bytes first
	if err != nil {
		cancel()
		return nil, translate("write", key, err)
	}
	return &writer{w: w, cancel: cancel, key: key}, nil
}

// writer is a hub.BlobWriter. A driver's writer drops what it has when its context has ended before it is closed.
type writer struct {
	w      *blob.Writer
	cancel context.CancelFunc
	key    string
	once   sync.Once
}

func (w *writer) Write(p []byte) (int, error) {
	n, err := w.w.Write(p)
	return n, translate("write", w.key, err)
}

func (w *writer) Commit() (err error) {
	w.once.Do(func() {
		err = translate("write", w.key, w.w.Close())
		w.cancel()
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
