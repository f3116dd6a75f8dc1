package dispatch_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/dispatch"
	"github.com/runnerhub/runnerhub/hub/memory"
)

// content is bytes that no other test has.
func content(size int) []byte {
	data := make([]byte, size)
	r := rand.NewChaCha8([32]byte(bytes.Repeat([]byte{byte(rand.Int())}, 32)))
	_, _ = r.Read(data)
	return data
}

func sum(data []byte) []byte {
	d := sha256.Sum256(data)
	return d[:]
}

func (w *world) source(data []byte) dispatch.UploadRequest {
	return dispatch.UploadRequest{Kind: hub.UploadSource, Owner: self(w.ann), Size: int64(len(data)), Digest: sum(data)}
}

func (w *world) file(l *dispatch.Lease, path string, data []byte) dispatch.UploadRequest {
	r := w.source(data)
	r.Kind, r.JobID, r.Attempt, r.File = hub.UploadArtifact, l.JobID, l.Proof.Attempt, hub.ArtifactFile{Name: "out", Path: path}
	return r
}

func (w *world) announce(p hub.Principal, r dispatch.UploadRequest) dispatch.UploadTicket {
	w.Helper()
	t, err := w.s.Announce(w.ctx, p, r)
	w.must(err)
	return t
}

func (w *world) send(s *dispatch.Service, t dispatch.UploadTicket, offset int64, data []byte) (hub.UploadProgress, error) {
	return s.WriteUpload(w.ctx, hub.Digest(t.Token), offset, int64(len(data)), bytes.NewReader(data))
}

func (w *world) wantProgress(p hub.UploadProgress, err error, next int64, done bool) {
	w.Helper()
	w.must(err)
	if p.NextOffset != next || p.Done != done {
		w.Fatalf("got %+v, want %d and done %v", p, next, done)
	}
}

// wantBlob reads a blob of the owner's back.
func (w *world) wantBlob(o hub.Owner, data []byte) {
	w.Helper()
	b, err := w.store.FindBlob(w.ctx, o, sum(data))
	w.must(err)
	got, err := w.bucket.Get(w.ctx, b.Key)
	w.must(err)
	if !bytes.Equal(got, data) {
		w.Fatal("the blob has other bytes")
	}
}

// wantKeys wants only blobs, and so many of them, in the bucket.
func (w *world) wantKeys(n int) {
	w.Helper()
	keys := w.bucket.(*memory.Bucket).Keys()
	for _, k := range keys {
		if !strings.HasPrefix(k, "blobs/") {
			w.Errorf("%s is left", k)
		}
	}
	if len(keys) != n {
		w.Errorf("%d keys are in the bucket: %v", len(keys), keys)
	}
}

func TestAnUploadInPartsOverTwoHubs(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		ann := w.ann
		ann.Secret = hub.Secret("ann's")
		data := content(3*dispatch.MinUploadPart + 100)
		other := w.hub(w.store)
		ticket := w.announce(ann, w.source(data))
		first, second := int64(dispatch.MinUploadPart), int64(2*dispatch.MinUploadPart+7)
		p, err := w.send(w.s, ticket, 0, data[:first])
		w.wantProgress(p, err, first, false)
		p, err = w.send(w.s, ticket, 0, data[:first]) // its answer was lost
		w.wantProgress(p, err, first, false)
		_, err = w.send(w.s, ticket, second, data[second:])
		if e := w.wantCode(err, hub.Conflict); e.Details["next_offset"] != first {
			t.Errorf("details %v", e.Details)
		}
		if again := w.announce(ann, w.source(data)); again.Token != ticket.Token || again.NextOffset != first {
			t.Errorf("the same announcement again is told %d", again.NextOffset)
		}
		p, err = w.send(other, ticket, 10, data[10:second])
		w.wantProgress(p, err, second, false)
		if _, err := w.store.FindBlob(w.ctx, self(ann), sum(data)); hub.CodeOf(err) != hub.NotFound {
			t.Errorf("it can be found before it is whole: %v", err)
		}
		for range 2 {
			p, err = w.send(other, ticket, second, data[second:])
			w.wantProgress(p, err, int64(len(data)), true)
		}
		w.wantBlob(self(ann), data)
		w.wantKeys(1)
		if known := w.announce(ann, w.source(data)); known.Blob == nil || known.Token != "" {
			t.Errorf("known bytes are asked for again: %+v", known)
		}
	})
}

func TestWhatAnUploadRefuses(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t, withPolicy(func(p *hub.Policy) { p.MaxSourceBytes = 1 << 20 }))
		data := content(dispatch.MinUploadPart + 10)
		for name, tt := range map[string]struct {
			edit func(*dispatch.UploadRequest)
			want hub.Code
		}{
			"a negative size": {func(r *dispatch.UploadRequest) { r.Size = -1 }, hub.InvalidArgument},
			"too much":        {func(r *dispatch.UploadRequest) { r.Size = 1<<20 + 1 }, hub.TooLarge},
			"a short digest":  {func(r *dispatch.UploadRequest) { r.Digest = r.Digest[1:] }, hub.InvalidArgument},
		} {
			r := w.source(data)
			tt.edit(&r)
			if _, err := w.s.Announce(w.ctx, w.ann, r); hub.CodeOf(err) != tt.want {
				t.Errorf("%s: %v", name, err)
			}
		}
		ticket := w.announce(w.ann, w.source(data))
		for name, tt := range map[string]struct {
			offset int64
			data   []byte
			want   hub.Code
		}{
			"a gap":                   {1, data[1:], hub.Conflict},
			"more than was announced": {0, append(bytes.Clone(data), 1), hub.InvalidArgument},
			"a tiny part":             {0, data[:100], hub.InvalidArgument},
			"a negative offset":       {-1, data, hub.InvalidArgument},
		} {
			if _, err := w.send(w.s, ticket, tt.offset, tt.data); hub.CodeOf(err) != tt.want {
				t.Errorf("%s: %v", name, err)
			}
		}
		// A body that says nothing of its length, and one that breaks off.
		if _, err := w.s.WriteUpload(w.ctx, hub.Digest(ticket.Token), 0, -1, bytes.NewReader(append(bytes.Clone(data), 1))); hub.CodeOf(err) != hub.InvalidArgument {
			t.Errorf("more than was announced, unsaid: %v", err)
		}
		broken := io.MultiReader(bytes.NewReader(data[:50]), iotest.ErrReader(errors.New("connection reset")))
		_, err := w.s.WriteUpload(w.ctx, hub.Digest(ticket.Token), 0, int64(len(data)), broken)
		if e := w.wantCode(err, hub.Unavailable); !e.Retryable || e.Details["next_offset"] != int64(0) {
			t.Errorf("a body that breaks off: %+v", e)
		}
		if _, err = w.s.WriteUpload(w.ctx, hub.Digest(ticket.Token), 0, int64(len(data)), bytes.NewReader(data[:50])); hub.CodeOf(err) != hub.Unavailable {
			t.Errorf("a body that ends early: %v", err)
		}
		_, err = w.send(w.s, dispatch.UploadTicket{Token: "cap_unknown"}, 0, data)
		w.wantCode(err, hub.NotFound)
		w.wantKeys(0)
		p, err := w.send(w.s, ticket, 0, data)
		w.wantProgress(p, err, int64(len(data)), true)
		w.wantBlob(self(w.ann), data)
	})
}

func TestOtherBytesThanAnnouncedNeverExist(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		data := content(2 * dispatch.MinUploadPart)
		for name, sent := range map[string][]byte{
			"in a part":  append([]byte{data[0] ^ 1}, data[1:]...),
			"at the end": append(bytes.Clone(data[:len(data)-1]), data[len(data)-1]^1),
		} {
			ticket := w.announce(w.ann, w.source(data))
			_, err := w.send(w.s, ticket, 0, sent[:dispatch.MinUploadPart])
			w.must(err)
			_, err = w.send(w.s, ticket, dispatch.MinUploadPart, sent[dispatch.MinUploadPart:])
			if hub.CodeOf(err) != hub.InvalidArgument {
				t.Errorf("%s: %v", name, err)
			}
			for _, d := range [][]byte{data, sent} {
				if _, err := w.store.FindBlob(w.ctx, self(w.ann), sum(d)); hub.CodeOf(err) != hub.NotFound {
					t.Errorf("%s: there is a blob, error %v", name, err)
				}
			}
			_, err = w.send(w.s, ticket, 0, data)
			w.wantCode(err, hub.NotFound) // it has ended
		}
		w.wantKeys(0)
	})
}

// What one owner has is not told to another one, whose bytes are kept apart.
func TestOwnersDoNotLearnOfEachOthersBytes(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		bob := w.person(w.ws)
		data := content(10)
		mine := w.source(data)
		ticket := w.announce(w.ann, mine)
		_, err := w.send(w.s, ticket, 0, data)
		w.must(err)
		his := mine
		his.Owner = self(bob)
		theirs := w.announce(bob, his)
		if theirs.Blob != nil || theirs.NextOffset != 0 || theirs.Token == ticket.Token {
			t.Fatalf("bob is told %+v", theirs)
		}
		_, err = w.send(w.s, theirs, 0, data)
		w.must(err)
		w.wantKeys(2)
	})
}

func TestAnArtifactNeedsALiveAttempt(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		m := w.machine(self(w.ann))
		w.submit()
		l := m.take()
		m.begin(l)
		data, late := content(100), content(dispatch.MinUploadPart*2)
		ticket := w.announce(m.p, w.file(l, "out/a", data))
		_, err := w.send(w.s, ticket, 0, data)
		w.must(err)
		if known := w.announce(m.p, w.file(l, "out/b", data)); known.Blob == nil {
			t.Error("bytes that the owner has are asked for")
		}
		open := w.announce(m.p, w.file(l, "out/late", late))
		m.settle(success(l))
		_, err = w.send(w.s, open, 0, late[:dispatch.MinUploadPart])
		w.wantCode(err, hub.StaleLease)
		_, err = w.s.Announce(w.ctx, m.p, w.file(l, "out/c", data))
		w.wantCode(err, hub.StaleLease)
		_, err = w.s.Announce(w.ctx, m.p, w.file(l, "out/c", content(3)))
		w.wantCode(err, hub.StaleLease)
		list, err := w.store.ListArtifacts(w.ctx, l.JobID, 1, "", 10)
		w.must(err)
		if len(list) != 2 || list[0].Path != "out/a" || list[1].Path != "out/b" || list[0].BlobID != list[1].BlobID {
			t.Errorf("the artifacts are %+v", list)
		}
		w.wantKeys(1)
	})
}

func TestOldUploadsAndBlobsGo(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		m := w.machine(self(w.ann))
		w.submit()
		l := m.take()
		m.begin(l)
		data := content(100)
		_, err := w.send(w.s, w.announce(m.p, w.file(l, "a", data)), 0, data)
		w.must(err)
		half := content(2 * dispatch.MinUploadPart)
		abandoned := w.announce(w.ann, w.source(half))
		_, err = w.send(w.s, abandoned, 0, half[:dispatch.MinUploadPart])
		w.must(err)
		// What a hub leaves that is killed while it finishes, before and after the store knows.
		w.must(w.bucket.Put(w.ctx, w.uploadKey(abandoned), half))
		reclaim := func(want int) {
			t.Helper()
			if n, err := w.s.Reclaim(w.ctx); err != nil || n != want {
				t.Fatalf("%d were reclaimed, error %v, want %d", n, err, want)
			}
		}
		reclaim(0)
		w.clock.advance(w.policy.UploadTTL + 2*time.Hour)
		_, err = w.send(w.s, abandoned, dispatch.MinUploadPart, half[dispatch.MinUploadPart:])
		w.wantCode(err, hub.NotFound)
		reclaim(2)
		w.wantKeys(1)
		w.clock.advance(w.policy.ArtifactRetention)
		reclaim(2) // the artifact and its blob
		w.wantKeys(0)
		list, err := w.store.ListArtifacts(w.ctx, l.JobID, 1, "", 10)
		if err != nil || len(list) != 0 {
			t.Errorf("%d artifacts are left, error %v", len(list), err)
		}
		reclaim(0)
	})
}
