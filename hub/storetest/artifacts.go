package storetest

import (
	"bytes"
	"slices"
	"time"

	"github.com/runnerhub/runnerhub/hub"
)

func artifactTests() []test {
	return []test{
		{name: "an artifact of a blob that is there", run: artifactPut},
		{name: "artifacts are listed by path", run: artifactList},
		{name: "artifacts go when their time is over, or their job does", run: artifactEnd, alone: true},
	}
}

func artifactOf(b hub.Blob, jobID, path string) hub.Artifact {
	return hub.Artifact{
		JobID: jobID, Attempt: 1, ArtifactFile: hub.ArtifactFile{Name: "n", Path: path}, Size: b.Size, Digest: b.Digest,
		BlobID: b.ID, Key: b.Key, CreatedAt: at(time.Minute), ExpiresAt: at(7 * time.Hour),
	}
}

func artifactPut(w *world) {
	id, _ := w.logged()
	b := w.finish(w.announce(w.source(9)), at(time.Hour))
	a := artifactOf(b, id, "a")
	w.must(w.s.PutArtifact(w.ctx, a, hub.UploadCaps{Count: 1, Bytes: 9}))
	w.must(w.s.PutArtifact(w.ctx, a, hub.UploadCaps{Count: 1, Bytes: 9})) // in its own place
	got, err := w.s.GetArtifact(w.ctx, id, 1, "a")
	w.must(err)
	w.equal(got, a)
	kept, err := w.s.FindBlob(w.ctx, w.owner, b.Digest)
	w.must(err)
	w.equal(kept.KeepUntil, a.ExpiresAt)
	w.wantCode(w.s.PutArtifact(w.ctx, artifactOf(b, id, "b"), hub.UploadCaps{Count: 1}), hub.QuotaExceeded)
	w.wantCode(w.s.PutArtifact(w.ctx, artifactOf(b, id, "b"), hub.UploadCaps{Bytes: 17}), hub.QuotaExceeded)
}

func artifactList(w *world) {
	id, _ := w.logged()
	b := w.finish(w.announce(w.source(9)), at(time.Hour))
	paths := []string{"a", "a/b", "a b", "Z", "größe", "a-b"}
	for _, p := range paths {
		w.must(w.s.PutArtifact(w.ctx, artifactOf(b, id, p), hub.UploadCaps{}))
	}
	slices.Sort(paths) // by bytes
	var got []string
	for after := ""; ; {
		list, err := w.s.ListArtifacts(w.ctx, id, 1, after, 4)
		w.must(err)
		if len(list) == 0 {
			break
		}
		for _, a := range list {
			got = append(got, a.Path)
		}
		after = list[len(list)-1].Path
	}
	w.equal(got, paths)
	for jobID, attempt := range map[string]int{id: 2, "job_missing": 1} {
		list, err := w.s.ListArtifacts(w.ctx, jobID, attempt, "", 10)
		w.must(err)
		w.equal(list, []hub.Artifact{})
	}
}

func artifactEnd(w *world) {
	id, _ := w.logged()
	b := w.finish(w.announce(w.source(9)), at(time.Hour))
	for i, p := range []string{"a", "b", "c"} {
		a := artifactOf(b, id, p)
		a.ExpiresAt = at(time.Duration(i+1) * time.Hour)
		w.must(w.s.PutArtifact(w.ctx, a, hub.UploadCaps{}))
	}
	end := func(before time.Time, limit int) int {
		n, err := w.s.DeleteArtifacts(w.ctx, before, limit)
		w.must(err)
		return n
	}
	w.equal(end(at(time.Hour), 10), 0)
	w.equal(end(at(3*time.Hour), 1), 1)
	w.equal(end(at(3*time.Hour), 10), 1)
	list, err := w.s.ListArtifacts(w.ctx, id, 1, "", 10)
	w.must(err)
	w.equal(len(list), 1)
	w.equal(list[0].Path, "c")
	w.settle(w.job(id), success(), at(time.Minute))
	w.equal(w.deleteJobs(at(time.Hour), id), 1)
	list, err = w.s.ListArtifacts(w.ctx, id, 1, "", 10)
	w.must(err)
	w.equal(list, []hub.Artifact{})
	w.equal(end(at(9*time.Hour), 10), 0)
	got, err := w.s.FindBlob(w.ctx, w.owner, b.Digest) // its own time decides
	w.must(err)
	w.equal(bytes.Equal(got.Digest, b.Digest), true)
}
