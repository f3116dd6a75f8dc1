package storetest

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/runnerhub/runnerhub/hub"
)

func logTests() []test {
	return []test{
		{name: "chunks follow each other", run: logAppend},
		{name: "a chunk elsewhere is a conflict", run: logConflict},
		{name: "no such attempt", run: logMissing},
		{name: "an empty chunk is refused", run: logEmpty},
		{name: "after the attempt's end", run: logAfterEnd},
		{name: "read from the middle", run: logFrom},
		{name: "read backwards", run: logBefore},
		{name: "dropped chunks leave a gap", run: logDrop},
		{name: "of chunks for one place one is kept", run: logRace},
		{name: "attempts have logs of their own", run: logApart},
		{name: "a capability that nobody has", run: logCapability},
	}
}

func chunk(start, size int64) hub.LogChunk {
	return hub.LogChunk{Start: start, Size: size, Digest: NewDigest(), Key: NewID("log/größe/")}
}

// logged is a job whose attempt 1 is live and has chunks of these sizes.
func (w *world) logged(sizes ...int64) (id string, chunks []hub.LogChunk) {
	w.Helper()
	id = w.lease(w.enqueue("").Job.ID, w.runner(), at(time.Second)).ID
	var end int64
	for _, n := range sizes {
		c := chunk(end, n)
		w.must(w.s.AppendLog(w.ctx, id, 1, c))
		chunks = append(chunks, c)
		end += n
	}
	return id, chunks
}

func (w *world) chunks(id string, from int64, limit int) []hub.LogChunk {
	w.Helper()
	c, err := w.s.LogChunks(w.ctx, id, 1, from, limit)
	w.must(err)
	return c
}

func logAppend(w *world) {
	id, chunks := w.logged(10, 1, 1<<31)
	w.equal(w.chunks(id, 0, 10), chunks)
	w.equal(w.attempt(id, 1).LogSize, int64(1<<31+11))
	w.equal(w.job(id).Revision, int64(2)) // log bytes are no change of the job
	w.equal(len(w.events(id)), 2)
}

func logConflict(w *world) {
	id, chunks := w.logged(10, 5)
	for _, start := range []int64{0, 10, 14, 16, 1000} {
		w.wantConflict(w.s.AppendLog(w.ctx, id, 1, chunk(start, 3)))
	}
	w.wantConflict(w.s.AppendLog(w.ctx, id, 1, chunks[1])) // the same again too: whoever appends looks what is there
	w.equal(w.chunks(id, 0, 10), chunks)
	w.equal(w.attempt(id, 1).LogSize, int64(15))
}

func logMissing(w *world) {
	id, _ := w.logged()
	w.wantCode(w.s.AppendLog(w.ctx, id, 2, chunk(0, 1)), hub.NotFound)
	w.wantCode(w.s.AppendLog(w.ctx, "job_missing", 1, chunk(0, 1)), hub.NotFound)
	w.equal(w.chunks(id, 0, 10), []hub.LogChunk{})
	w.equal(w.chunks("job_missing", 0, 10), []hub.LogChunk{})
}

func logEmpty(w *world) {
	id, _ := w.logged(4)
	w.wantCode(w.s.AppendLog(w.ctx, id, 1, chunk(4, 0)), hub.InvalidArgument)
	w.wantCode(w.s.AppendLog(w.ctx, id, 1, chunk(4, -1)), hub.InvalidArgument)
	w.equal(w.attempt(id, 1).LogSize, int64(4))
}

func logAfterEnd(w *world) {
	id, _ := w.logged(4)
	w.settle(w.job(id), success(), at(time.Minute))
	w.must(w.s.AppendLog(w.ctx, id, 1, chunk(4, 6))) // how late is for the hub to say
	w.equal(w.attempt(id, 1).LogSize, int64(10))
	w.equal(w.attempt(id, 1).State, hub.AttemptSucceeded)
}

func logFrom(w *world) {
	id, c := w.logged(10, 10, 10, 10)
	for from, first := range map[int64]int{0: 0, 1: 0, 9: 0, 10: 1, 19: 1, 20: 2, 39: 3} {
		w.equal(w.chunks(id, from, 10), c[first:])
		w.equal(w.chunks(id, from, 1), c[first:first+1])
	}
	w.equal(w.chunks(id, 40, 10), []hub.LogChunk{})
	w.equal(w.chunks(id, 1000, 10), []hub.LogChunk{})
}

func logBefore(w *world) {
	id, c := w.logged(10, 10, 10)
	before := func(at int64, limit int) []hub.LogChunk {
		got, err := w.s.LogChunksBefore(w.ctx, id, 1, at, limit)
		w.must(err)
		return got
	}
	w.equal(before(30, 10), []hub.LogChunk{c[2], c[1], c[0]})
	w.equal(before(1000, 2), []hub.LogChunk{c[2], c[1]})
	w.equal(before(20, 10), []hub.LogChunk{c[1], c[0]})
	w.equal(before(11, 10), []hub.LogChunk{c[1], c[0]})
	w.equal(before(10, 10), []hub.LogChunk{c[0]})
	w.equal(before(0, 10), []hub.LogChunk{})
}

func logDrop(w *world) {
	id, c := w.logged(10, 10, 10, 10)
	w.must(w.s.DropLogChunks(w.ctx, id, 1, []int64{10, 20, 15})) // 15 is nobody's
	w.equal(w.chunks(id, 0, 10), []hub.LogChunk{c[0], c[3]})
	w.equal(w.chunks(id, 12, 10), []hub.LogChunk{c[3]})
	w.equal(w.chunks(id, 10, 10), []hub.LogChunk{c[3]})
	w.equal(w.attempt(id, 1).LogSize, int64(40)) // what was received stays counted
	w.must(w.s.AppendLog(w.ctx, id, 1, chunk(40, 1)))
	w.must(w.s.DropLogChunks(w.ctx, id, 1, nil))
	w.must(w.s.DropLogChunks(w.ctx, id, 1, []int64{10}))
	w.equal(len(w.chunks(id, 0, 10)), 3)
}

// logRace lets several writers append to one log, each wherever it finds its end.
func logRace(w *world) {
	id, _ := w.logged()
	const writers, each = 6, 5
	errs := make([]error, writers)
	var size atomic.Int64
	var mu sync.Mutex
	kept := map[int64]string{}
	together(writers, func(i int) {
		errs[i] = func() error {
			for n := 0; n < each; {
				a, err := w.s.GetAttempt(w.ctx, id, 1)
				if err != nil {
					return err
				}
				c := chunk(a.LogSize, int64(i+1))
				switch err := w.s.AppendLog(w.ctx, id, 1, c); {
				case errors.Is(err, hub.ErrConflict):
				case err != nil:
					return err
				default:
					n++
					size.Add(c.Size)
					mu.Lock()
					kept[c.Start] = c.Key
					mu.Unlock()
				}
			}
			return nil
		}()
	})
	for _, err := range errs {
		w.must(err)
	}
	w.equal(w.attempt(id, 1).LogSize, size.Load())
	var end int64
	got := w.chunks(id, 0, 1000)
	w.equal(len(got), writers*each)
	for _, c := range got {
		w.equal(c.Start, end)
		w.equal(c.Key, kept[c.Start])
		end += c.Size
	}
	w.equal(end, size.Load())
}

func logApart(w *world) {
	id, first := w.logged(10)
	job := w.job(id)
	d, err := hub.Release(job, proof(job), "", at(2*time.Second))
	w.must(err)
	w.apply(d, at(2*time.Second))
	w.lease(id, w.runner(), at(3*time.Second))
	c := chunk(0, 7)
	w.must(w.s.AppendLog(w.ctx, id, 2, c))
	w.equal(w.chunks(id, 0, 10), first)
	got, err := w.s.LogChunks(w.ctx, id, 2, 0, 10)
	w.must(err)
	w.equal(got, []hub.LogChunk{c})
	w.must(w.s.DropLogChunks(w.ctx, id, 2, []int64{0}))
	w.equal(w.chunks(id, 0, 10), first)
}

func logCapability(w *world) {
	for _, digest := range [][]byte{NewDigest(), {}, nil} {
		_, err := w.s.AttemptByLog(w.ctx, digest)
		w.wantCode(err, hub.NotFound)
	}
}
