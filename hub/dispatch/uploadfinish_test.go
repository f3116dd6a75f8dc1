package dispatch_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/dispatch"
)

// uploadKey is where the blob of an upload would be.
func (w *world) uploadKey(t dispatch.UploadTicket) string {
	w.Helper()
	u, err := w.store.UploadByToken(w.ctx, hub.Digest(t.Token))
	w.must(err)
	return "blobs/" + u.ID + "/bytes"
}

// frail is a store of a hub that dies at the end of an upload, before or after its write.
type frail struct {
	hub.Store
	after bool
}

func (f frail) FinishUpload(ctx context.Context, id string, b hub.Blob) (hub.Blob, error) {
	if f.after {
		if _, err := f.Store.FinishUpload(ctx, id, b); err != nil {
			return hub.Blob{}, err
		}
	}
	return hub.Blob{}, errKilled
}

// Wherever a hub dies at the end of an upload, the next one answers the same part again as if nothing had happened.
func TestAHubDiesAtTheEndOfAnUpload(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		for i, after := range []bool{false, true} {
			data := content(dispatch.MinUploadPart + 10)
			ticket := w.announce(w.ann, w.source(data))
			_, err := w.send(w.s, ticket, 0, data[:dispatch.MinUploadPart])
			w.must(err)
			dying := w.hub(frail{w.store, after})
			if _, err := w.send(dying, ticket, dispatch.MinUploadPart, data[dispatch.MinUploadPart:]); !errors.Is(err, errKilled) {
				t.Fatalf("after %v: error %v", after, err)
			}
			p, err := w.send(w.s, ticket, dispatch.MinUploadPart, data[dispatch.MinUploadPart:])
			w.wantProgress(p, err, int64(len(data)), true)
			w.wantBlob(self(w.ann), data)
			w.clock.advance(w.policy.UploadTTL + 2*time.Hour)
			_, err = w.s.Reclaim(w.ctx)
			w.must(err)
			w.wantKeys(i + 1)
		}
	})
}

// counting is a bucket that tells how often a blob was begun; parts are not counted.
type counting struct {
	hub.Bucket
	begun atomic.Int64
}

func (c *counting) Create(ctx context.Context, key string) (hub.BlobWriter, error) {
	if strings.HasPrefix(key, "blobs/") {
		c.begun.Add(1)
	}
	return c.Bucket.Create(ctx, key)
}

// What is stored already is copied once, when all is there, however many send the end of it or ask for it.
func TestAnUploadIsFinishedOnce(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		bucket := &counting{Bucket: w.bucket}
		w.bucket = bucket
		s := w.hub(w.store)
		const most = dispatch.MinUploadPart
		data := content(most + 10)
		ticket := w.announce(w.ann, w.source(data))
		_, err := w.send(s, ticket, 0, data[:most])
		w.must(err)
		at := func(offset int64, body io.Reader) (hub.UploadProgress, error) {
			return s.WriteUpload(w.ctx, hub.Digest(ticket.Token), offset, int64(len(data))-offset, body)
		}
		for range 3 {
			_, err := at(most, io.MultiReader(bytes.NewReader(data[most:len(data)-1]), iotest.ErrReader(errors.New("silence"))))
			w.wantCode(err, hub.Unavailable)
		}
		if n := bucket.begun.Load(); n != 0 {
			t.Errorf("%d copies for the sake of bytes that never came", n)
		}
		dying := w.hub(frail{Store: w.store})
		if _, err := w.send(dying, ticket, most, data[most:]); !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		bucket.begun.Store(0)
		var all []<-chan answer[hub.UploadProgress]
		for range 8 {
			all = append(all, beside(func() (hub.UploadProgress, error) { return at(int64(len(data)), bytes.NewReader(nil)) }))
		}
		for _, one := range all {
			p, err := get(w, one)
			w.wantProgress(p, err, int64(len(data)), true)
		}
		if n := bucket.begun.Load(); n != 1 {
			t.Errorf("%d copies of one upload", n)
		}
		w.wantBlob(self(w.ann), data)
	})
}

// readerFunc is a body that does something when it is read.
type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// A body that goes on until its upload has been reclaimed leaves nothing that nobody would ever find.
func TestAFinishThatIsTooLateLeavesNothing(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		data := content(100)
		ticket := w.announce(w.ann, w.source(data))
		late := readerFunc(func([]byte) (int, error) {
			w.clock.advance(w.policy.UploadTTL + 2*time.Hour)
			if n, err := w.s.Reclaim(w.ctx); err != nil || n != 1 {
				t.Errorf("%d were reclaimed, error %v", n, err)
			}
			return 0, io.EOF
		})
		_, err := w.s.WriteUpload(w.ctx, hub.Digest(ticket.Token), 0, int64(len(data)), io.MultiReader(bytes.NewReader(data), late))
		w.wantCode(err, hub.NotFound)
		w.wantKeys(0)
	})
}

// However slowly a body comes, its time is over at some moment.
func TestAPartHasAnEnd(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		data := content(100)
		ticket := w.announce(w.ann, w.source(data))
		ctx, cancel := context.WithCancel(w.ctx)
		defer cancel()
		read := 0
		drip := readerFunc(func(p []byte) (int, error) {
			if read++; read == 3 {
				cancel() // as its time would
			}
			return copy(p[:1], data[read-1:]), nil
		})
		_, err := w.s.WriteUpload(ctx, hub.Digest(ticket.Token), 0, int64(len(data)), drip)
		if e := w.wantCode(err, hub.Unavailable); !e.Retryable || read != 3 {
			t.Errorf("it ended after %d bytes: %+v", read, e)
		}
		w.s.SetPartWithin(0)
		if _, err := w.send(w.s, ticket, 0, data); err == nil {
			t.Error("a part without any time was taken")
		}
		w.wantKeys(0)
	})
}
