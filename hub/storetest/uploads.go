package storetest

import (
	"time"

	"github.com/runnerhub/runnerhub/hub"
)

func uploadTests() []test {
	return []test{
		{name: "parts follow each other", run: uploadParts},
		{name: "an upload is found by its capability, and by what is sent", run: uploadFound},
		{name: "a source becomes a blob of its owner", run: uploadSource},
		{name: "an artifact becomes one", run: uploadArtifact},
		{name: "of an attempt that has ended nothing becomes", run: uploadStale},
		{name: "the same bytes are kept once", run: uploadTwice},
		{name: "owners have blobs of their own", run: uploadApart},
		{name: "caps of an attempt hold under concurrency", run: uploadCaps},
		{name: "caps of an owner", run: uploadOwnerCaps},
		{name: "one of several finishes counts", run: uploadRace},
		{name: "a dropped upload takes nothing", run: uploadDropped},
		{name: "old uploads are found and forgotten", run: uploadOld, alone: true},
		{name: "a blob goes when its time is over", run: blobEnd, alone: true},
		{name: "a blob goes when its bytes are gone", run: blobLost, alone: true},
	}
}

// source is an announcement of a source of the world's owner.
func (w *world) source(size int64) hub.Upload {
	return hub.Upload{
		ID: NewID(hub.UploadIDPrefix), Kind: hub.UploadSource, Owner: w.owner, CreatedBy: "user:someone", TokenDigest: NewDigest(),
		Size: size, Digest: NewDigest(), State: hub.UploadOpen, CreatedAt: Start(), ExpiresAt: at(time.Hour),
	}
}

// artifact is an announcement of a file of a job's attempt 1.
func (w *world) artifact(jobID, path string, size int64) hub.Upload {
	u := w.source(size)
	u.Kind, u.JobID, u.Attempt, u.File = hub.UploadArtifact, jobID, 1, hub.ArtifactFile{Name: "größe", Path: path, Executable: true}
	return u
}

func (w *world) announce(u hub.Upload) hub.Upload {
	w.Helper()
	w.must(w.s.CreateUpload(w.ctx, u, hub.UploadCaps{}))
	return u
}

func (w *world) upload(u hub.Upload) hub.Upload {
	w.Helper()
	got, err := w.s.UploadByToken(w.ctx, u.TokenDigest)
	w.must(err)
	return got
}

func part(start, size int64) hub.UploadPart {
	return hub.UploadPart{Start: start, Size: size, Key: NewID("uploads/größe/")}
}

// blobOf is what an upload would become.
func blobOf(u hub.Upload, until time.Time) hub.Blob {
	return hub.Blob{ID: u.ID, Owner: u.Owner, Digest: u.Digest, Size: u.Size, Key: "blobs/" + u.ID, CreatedAt: at(time.Minute), KeepUntil: until}
}

func (w *world) finish(u hub.Upload, until time.Time) hub.Blob {
	w.Helper()
	b, err := w.s.FinishUpload(w.ctx, u.ID, blobOf(u, until))
	w.must(err)
	return b
}

func uploadParts(w *world) {
	u := w.announce(w.source(1 << 40))
	first, second := part(0, 10), part(10, 1<<33)
	w.must(w.s.GrowUpload(w.ctx, u.ID, first))
	w.must(w.s.GrowUpload(w.ctx, u.ID, second))
	for _, start := range []int64{0, 5, 10, 11, 1 << 34} {
		w.wantConflict(w.s.GrowUpload(w.ctx, u.ID, part(start, 3)))
	}
	w.wantConflict(w.s.GrowUpload(w.ctx, "upl_missing", part(0, 3)))
	u.Received = 10 + 1<<33
	w.equal(w.upload(u), u)
	for from, want := range map[int64][]hub.UploadPart{0: {first, second}, 1: {second}, 10: {second}, 11: {}} {
		got, err := w.s.UploadParts(w.ctx, u.ID, from, 10)
		w.must(err)
		w.equal(got, want)
	}
	got, err := w.s.UploadParts(w.ctx, u.ID, 0, 1)
	w.must(err)
	w.equal(got, []hub.UploadPart{first})
}

func uploadFound(w *world) {
	id, _ := w.logged()
	u := w.announce(w.artifact(id, "out/a b.txt", 7))
	w.equal(w.upload(u), u)
	like := u
	like.ID, like.TokenDigest, like.CreatedAt = "", nil, time.Time{}
	got, err := w.s.OpenUpload(w.ctx, like)
	w.must(err)
	w.equal(got, u)
	for _, edit := range []func(*hub.Upload){
		func(u *hub.Upload) { u.Owner = "user:other" },
		func(u *hub.Upload) { u.CreatedBy = "user:other" },
		func(u *hub.Upload) { u.Digest = NewDigest() },
		func(u *hub.Upload) { u.Size++ },
		func(u *hub.Upload) { u.Attempt++ },
		func(u *hub.Upload) { u.File.Path = "other" },
		func(u *hub.Upload) { u.Kind = hub.UploadSource },
	} {
		other := like
		edit(&other)
		_, err := w.s.OpenUpload(w.ctx, other)
		w.wantCode(err, hub.NotFound)
	}
	w.finish(u, at(time.Hour))
	_, err = w.s.OpenUpload(w.ctx, like)
	w.wantCode(err, hub.NotFound)
	_, err = w.s.UploadByToken(w.ctx, NewDigest())
	w.wantCode(err, hub.NotFound)
	_, err = w.s.UploadByToken(w.ctx, nil)
	w.wantCode(err, hub.NotFound)
}

func uploadSource(w *world) {
	u := w.announce(w.source(9))
	_, err := w.s.FindBlob(w.ctx, w.owner, u.Digest)
	w.wantCode(err, hub.NotFound)
	want := blobOf(u, at(time.Hour))
	w.equal(w.finish(u, at(time.Hour)), want)
	got, err := w.s.FindBlob(w.ctx, w.owner, u.Digest)
	w.must(err)
	w.equal(got, want)
	u.State, u.BlobID = hub.UploadDone, u.ID
	w.equal(w.upload(u), u)
	w.wantConflict(w.s.GrowUpload(w.ctx, u.ID, part(0, 3)))
	_, err = w.s.FinishUpload(w.ctx, u.ID, want)
	w.wantConflict(err)
	_, err = w.s.FinishUpload(w.ctx, "upl_missing", want)
	w.wantConflict(err)
}

func uploadArtifact(w *world) {
	id, _ := w.logged()
	u := w.announce(w.artifact(id, "out/a.txt", 0))
	w.finish(u, at(time.Hour))
	want := hub.Artifact{
		JobID: id, Attempt: 1, ArtifactFile: u.File, Digest: u.Digest, BlobID: u.ID, Key: "blobs/" + u.ID,
		CreatedAt: at(time.Minute), ExpiresAt: at(time.Hour),
	}
	got, err := w.s.GetArtifact(w.ctx, id, 1, "out/a.txt")
	w.must(err)
	w.equal(got, want)
	// The same path again, as a runner that was started again collects it.
	next := w.announce(w.artifact(id, "out/a.txt", 5))
	w.finish(next, at(2*time.Hour))
	list, err := w.s.ListArtifacts(w.ctx, id, 1, "", 10)
	w.must(err)
	w.equal(len(list), 1)
	w.equal(list[0].Size, int64(5))
	w.equal(list[0].BlobID, next.ID)
	for _, other := range []struct {
		job, path string
		attempt   int
	}{{id, "out", 1}, {id, "out/a.txt", 2}, {"job_missing", "out/a.txt", 1}} {
		_, err := w.s.GetArtifact(w.ctx, other.job, other.attempt, other.path)
		w.wantCode(err, hub.NotFound)
	}
}

func uploadStale(w *world) {
	id, _ := w.logged()
	u := w.announce(w.artifact(id, "a", 5))
	blob := w.finish(w.announce(w.source(3)), at(time.Hour))
	w.settle(w.job(id), success(), at(time.Minute))
	_, err := w.s.FinishUpload(w.ctx, u.ID, blobOf(u, at(time.Hour)))
	w.wantCode(err, hub.StaleLease)
	w.equal(w.upload(u), u)
	_, err = w.s.FindBlob(w.ctx, w.owner, u.Digest)
	w.wantCode(err, hub.NotFound)
	w.wantCode(w.s.CreateUpload(w.ctx, w.artifact(id, "b", 5), hub.UploadCaps{}), hub.StaleLease)
	w.wantCode(w.s.PutArtifact(w.ctx, artifactOf(blob, id, "c"), hub.UploadCaps{}), hub.StaleLease)
	missing := w.artifact("job_missing", "b", 5)
	w.wantCode(w.s.CreateUpload(w.ctx, missing, hub.UploadCaps{}), hub.NotFound)
	w.wantCode(w.s.PutArtifact(w.ctx, artifactOf(blob, "job_missing", "c"), hub.UploadCaps{}), hub.NotFound)
}

func uploadTwice(w *world) {
	first, second := w.source(9), w.source(9)
	second.Digest = first.Digest
	w.announce(first)
	w.announce(second)
	w.finish(first, at(time.Hour))
	want := blobOf(first, at(3*time.Hour))
	w.equal(w.finish(second, at(3*time.Hour)), want) // kept longer
	second.State, second.BlobID = hub.UploadDone, first.ID
	w.equal(w.upload(second), second)
	third := w.source(9)
	third.Digest = first.Digest
	w.announce(third)
	w.equal(w.finish(third, at(2*time.Hour)), want) // never shorter
}

func uploadApart(w *world) {
	mine := w.announce(w.source(9))
	w.finish(mine, at(time.Hour))
	other := w.source(9)
	other.Owner, other.Digest = hub.UserOwner(NewID("usr_")), mine.Digest
	w.announce(other)
	_, err := w.s.FindBlob(w.ctx, other.Owner, mine.Digest)
	w.wantCode(err, hub.NotFound)
	w.equal(w.finish(other, at(time.Hour)), blobOf(other, at(time.Hour)))
}

func uploadCaps(w *world) {
	id, _ := w.logged()
	u := w.announce(w.artifact(id, "done", 10))
	w.finish(u, at(time.Hour))
	caps := hub.UploadCaps{Count: 4, Bytes: 100}
	w.wantCode(w.s.CreateUpload(w.ctx, w.artifact(id, "large", 91), caps), hub.QuotaExceeded)
	w.must(w.s.CreateUpload(w.ctx, w.artifact(id, "done", 100), caps)) // in its place
	w.must(w.s.CreateUpload(w.ctx, w.artifact(id, "largest", 1<<40), hub.UploadCaps{}))
	w.wantCode(w.s.CreateUpload(w.ctx, w.artifact(id, "small", 1), caps), hub.QuotaExceeded)

	id, _ = w.logged()
	errs := make([]error, 12)
	together(len(errs), func(i int) {
		errs[i] = w.s.CreateUpload(w.ctx, w.artifact(id, NewID("file"), 1), caps)
	})
	stored := 0
	for _, err := range errs {
		if err == nil {
			stored++
		} else {
			w.wantCode(err, hub.QuotaExceeded)
		}
	}
	w.equal(stored, caps.Count)
}

func uploadOwnerCaps(w *world) {
	caps := hub.UploadCaps{Count: 2}
	u := w.source(9)
	w.must(w.s.CreateUpload(w.ctx, u, caps))
	w.must(w.s.CreateUpload(w.ctx, w.source(9), caps))
	w.wantCode(w.s.CreateUpload(w.ctx, w.source(9), caps), hub.QuotaExceeded)
	w.finish(u, at(time.Hour)) // what has ended does not count
	w.must(w.s.CreateUpload(w.ctx, w.source(9), caps))
	w.wantCode(w.s.CreateUpload(w.ctx, w.source(9), hub.UploadCaps{Bytes: 26}), hub.QuotaExceeded)
	w.must(w.s.CreateUpload(w.ctx, w.source(8), hub.UploadCaps{Bytes: 26}))
}

func uploadRace(w *world) {
	id, _ := w.logged()
	u := w.announce(w.artifact(id, "a", 5))
	errs := make([]error, 6)
	together(len(errs), func(i int) {
		if i == 0 {
			errs[i] = w.s.DropUpload(w.ctx, u.ID)
			return
		}
		_, errs[i] = w.s.FinishUpload(w.ctx, u.ID, blobOf(u, at(time.Hour)))
	})
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else {
			w.wantConflict(err)
		}
	}
	w.equal(won, 1)
	list, err := w.s.ListArtifacts(w.ctx, id, 1, "", 10)
	w.must(err)
	w.equal(len(list) == 1, errs[0] != nil)
}

func uploadDropped(w *world) {
	u := w.announce(w.source(9))
	w.must(w.s.DropUpload(w.ctx, u.ID))
	w.wantConflict(w.s.DropUpload(w.ctx, u.ID))
	w.wantConflict(w.s.GrowUpload(w.ctx, u.ID, part(0, 3)))
	_, err := w.s.FinishUpload(w.ctx, u.ID, blobOf(u, at(time.Hour)))
	w.wantConflict(err)
	u.State = hub.UploadDropped
	w.equal(w.upload(u), u)
}

func uploadOld(w *world) {
	young, open, done := w.source(9), w.source(9), w.source(9)
	young.ExpiresAt, open.ExpiresAt, done.ExpiresAt = at(2*time.Hour), at(time.Minute), at(2*time.Minute)
	for _, u := range []hub.Upload{young, open, done} {
		w.announce(u)
	}
	w.must(w.s.GrowUpload(w.ctx, open.ID, part(0, 3)))
	open.Received = 3
	w.finish(done, at(time.Hour))
	done.State, done.BlobID = hub.UploadDone, done.ID
	old := func(limit int) []hub.Upload {
		list, err := w.s.OldUploads(w.ctx, at(time.Hour), limit)
		w.must(err)
		return list
	}
	w.equal(old(10), []hub.Upload{open, done})
	w.equal(old(1), []hub.Upload{open})
	w.must(w.s.DeleteUpload(w.ctx, open.ID))
	w.must(w.s.DeleteUpload(w.ctx, open.ID))
	w.equal(old(10), []hub.Upload{done})
	got, err := w.s.UploadParts(w.ctx, open.ID, 0, 10)
	w.must(err)
	w.equal(got, []hub.UploadPart{})
	_, err = w.s.FindBlob(w.ctx, w.owner, done.Digest) // it is nobody's upload any more, and still there
	w.must(err)
}

func blobLost(w *world) {
	u := w.announce(w.source(9))
	b := w.finish(u, at(2*time.Hour))
	w.must(w.s.CondemnBlob(w.ctx, "upl_missing"))
	for range 2 {
		w.must(w.s.CondemnBlob(w.ctx, b.ID))
	}
	_, err := w.s.FindBlob(w.ctx, w.owner, u.Digest)
	w.wantCode(err, hub.NotFound)
	w.wantCode(w.s.KeepBlob(w.ctx, b.ID, at(9*time.Hour)), hub.NotFound)
	again := w.source(9) // the same bytes come anew
	again.Digest = u.Digest
	w.announce(again)
	w.equal(w.finish(again, at(5*time.Hour)).ID, again.ID)
	list, err := w.s.CondemnBlobs(w.ctx, at(time.Hour), 10)
	w.must(err)
	w.equal(list, []hub.Blob{}) // its time has not come
	list, err = w.s.CondemnBlobs(w.ctx, at(3*time.Hour), 10)
	w.must(err)
	w.equal(list, []hub.Blob{b})
	w.must(w.s.DeleteBlob(w.ctx, b.ID))
	got, err := w.s.FindBlob(w.ctx, w.owner, u.Digest)
	w.must(err)
	w.equal(got.ID, again.ID)
}

func blobEnd(w *world) {
	u := w.announce(w.source(9))
	b := w.finish(u, at(time.Hour))
	condemned := func(before time.Time) []hub.Blob {
		list, err := w.s.CondemnBlobs(w.ctx, before, 10)
		w.must(err)
		return list
	}
	w.equal(condemned(at(time.Hour)), []hub.Blob{})
	w.must(w.s.KeepBlob(w.ctx, b.ID, at(2*time.Hour)))
	w.must(w.s.KeepBlob(w.ctx, b.ID, at(time.Minute))) // shortens nothing
	w.equal(condemned(at(2*time.Hour)), []hub.Blob{})
	w.must(w.s.DeleteBlob(w.ctx, b.ID)) // not condemned: it stays
	b.KeepUntil = at(2 * time.Hour)
	w.equal(condemned(at(3*time.Hour)), []hub.Blob{b})
	w.equal(condemned(at(3*time.Hour)), []hub.Blob{b}) // by a hub that was killed
	_, err := w.s.FindBlob(w.ctx, w.owner, u.Digest)
	w.wantCode(err, hub.NotFound)
	w.wantCode(w.s.KeepBlob(w.ctx, b.ID, at(9*time.Hour)), hub.NotFound)
	id, _ := w.logged()
	w.wantCode(w.s.PutArtifact(w.ctx, artifactOf(b, id, "a"), hub.UploadCaps{}), hub.NotFound)
	// The same bytes may come anew while the old ones go.
	again := w.source(9)
	again.Digest = u.Digest
	w.announce(again)
	w.equal(w.finish(again, at(5*time.Hour)).ID, again.ID)
	w.must(w.s.DeleteBlob(w.ctx, b.ID))
	w.equal(condemned(at(4*time.Hour)), []hub.Blob{})
	got, err := w.s.FindBlob(w.ctx, w.owner, u.Digest)
	w.must(err)
	w.equal(got.ID, again.ID)
	w.wantCode(w.s.KeepBlob(w.ctx, "upl_missing", at(9*time.Hour)), hub.NotFound)
}
