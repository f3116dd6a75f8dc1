package dispatch_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/dispatch"
)

func batch(n int, edits ...func(*dispatch.BatchRequest)) dispatch.BatchRequest {
	r := dispatch.BatchRequest{JobRequest: dispatch.JobRequest{Spec: []byte("image: busybox\ncommand: [\"true\"]\n")}}
	for i := range n {
		r.Matrix = append(r.Matrix, fmt.Appendf(nil, `{"name": "n%d"}`, i))
	}
	for _, f := range edits {
		f(&r)
	}
	return r
}

func key(k string) func(*dispatch.BatchRequest) {
	return func(r *dispatch.BatchRequest) { r.IdempotencyKey = k }
}

func TestBatchStoresAJobForEachEntry(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		got, err := w.s.SubmitBatch(w.ctx, w.ann, batch(12, key("k")))
		w.must(err)
		for i, q := range got.Jobs {
			p, err := w.store.GetPayload(w.ctx, q.Job.ID)
			w.must(err)
			if p.Name != fmt.Sprintf("n%d", i) || p.BatchID != got.ID || q.Payload.Name != p.Name {
				t.Errorf("job %d is %+v", i, p)
			}
		}
		if len(got.Jobs) != 12 || got.Err != nil || len(got.Notices) != 1 {
			t.Errorf("%d jobs, %v, notices %v", len(got.Jobs), got.Err, got.Notices)
		}
		again, err := w.s.SubmitBatch(w.ctx, w.ann, batch(12, key("k")))
		w.must(err)
		if again.ID != got.ID || again.Existing != 12 || again.Jobs[11].Job.ID != got.Jobs[11].Job.ID || again.Jobs[11].Payload.Name != "n11" {
			t.Errorf("the same call again: %+v", again)
		}
		list, err := w.s.List(w.ctx, w.ann, dispatch.ListRequest{BatchID: got.ID, Limit: 100})
		w.must(err)
		if len(list.Jobs) != 12 {
			t.Errorf("%d jobs are listed", len(list.Jobs))
		}
		for _, n := range []int{11, 13} { // it is another batch
			_, err = w.s.SubmitBatch(w.ctx, w.ann, batch(n, key("k")))
			w.wantCode(err, hub.Conflict)
		}
		_, err = w.s.SubmitBatch(w.ctx, w.ann, batch(12, key("k"), func(r *dispatch.BatchRequest) { r.Matrix[0] = []byte(`{"name":"other"}`) }))
		w.wantCode(err, hub.Conflict)
	})
}

// A call that is cut short leaves what it stored, says so, and is taken up by the same call again.
func TestBatchIsTakenUpWhereItStopped(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t, withPolicy(func(p *hub.Policy) { p.MaxQueued = 5 }))
		m := w.machine(self(w.ann))
		got, err := w.s.SubmitBatch(w.ctx, w.ann, batch(8))
		w.must(err)
		if len(got.Jobs) != 5 || hub.CodeOf(got.Err) != hub.QueueFull || got.Key != got.ID {
			t.Fatalf("%d jobs, %v, key %s", len(got.Jobs), got.Err, got.Key)
		}
		for range 5 {
			l := m.take()
			m.begin(l)
			m.settle(success(l))
		}
		again, err := w.s.SubmitBatch(w.ctx, w.ann, batch(8, key(got.Key)))
		w.must(err)
		if again.ID != got.ID || again.Existing != 5 || len(again.Jobs) != 8 || again.Err != nil {
			t.Errorf("%+v", again)
		}
		_, err = w.s.SubmitBatch(w.ctx, w.ann, batch(3, key("other")))
		w.must(err)
		_, err = w.s.SubmitBatch(w.ctx, w.ann, batch(1, key("full")))
		w.wantCode(err, hub.QueueFull)
	})
}

func TestBatchIsRefusedAsAWhole(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		for name, c := range map[string]struct {
			r     dispatch.BatchRequest
			code  hub.Code
			words string
		}{
			"no entries":                {batch(0), hub.InvalidArgument, "no entries"},
			"101 entries":               {batch(101), hub.InvalidArgument, "may have 100"},
			"a mistake in one":          {batch(3, func(r *dispatch.BatchRequest) { r.Matrix[1] = []byte(`{"imag": "x"}`) }), hub.InvalidArgument, "matrix[1].imag"},
			"a base that is no mapping": {batch(2, func(r *dispatch.BatchRequest) { r.Spec = []byte("hello world") }), hub.InvalidArgument, "the spec must be a mapping"},
			"an empty entry":            {batch(2, func(r *dispatch.BatchRequest) { r.Matrix[1] = []byte("null") }), hub.InvalidArgument, "matrix[1]: changes must be a mapping"},
			"a mistake that all share":  {batch(30, func(r *dispatch.BatchRequest) { r.Spec = []byte("imag: x") }), hub.InvalidArgument, "the spec cannot be used: imag: unknown field"},
			"no archive": {batch(3, func(r *dispatch.BatchRequest) {
				r.Matrix[2] = []byte(`{"source": {"archive": "sha256:` + strings.Repeat("a", 64) + `"}}`)
			}), hub.InvalidArgument, "matrix[2].source.archive"},
			"long key":        {batch(1, key(strings.Repeat("k", 126))), hub.InvalidArgument, "125"},
			"nobody's target": {batch(1, func(r *dispatch.BatchRequest) { r.Target = "nobody" }), hub.NotFound, "nobody"},
			"more than one spec": {batch(20, func(r *dispatch.BatchRequest) {
				r.Spec = []byte("image: busybox\nenv: {A: " + strings.Repeat("x", 1<<20-100) + "}\n")
			}), hub.TooLarge, "together"},
		} {
			_, err := w.s.SubmitBatch(w.ctx, w.ann, c.r)
			if e := w.wantCode(err, c.code); !strings.Contains(e.Message, c.words) || e.Hint == "" {
				t.Errorf("%s: %v, %q", name, err, e.Hint)
			}
		}
		list, err := w.s.List(w.ctx, w.ann, dispatch.ListRequest{})
		w.must(err)
		if len(list.Jobs) > 0 {
			t.Errorf("%d jobs were stored", len(list.Jobs))
		}
	})
}

func TestWaitBatch(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		m := w.machine(self(w.ann))
		got, err := w.s.SubmitBatch(w.ctx, w.ann, batch(3))
		w.must(err)
		v, err := w.s.WaitBatch(w.ctx, w.ann, dispatch.WaitBatchRequest{BatchID: got.ID})
		w.must(err)
		if v.Done || v.Ended || len(v.Jobs) != 3 || v.Jobs[0].Payload.Name != "n0" {
			t.Errorf("%+v", v)
		}
		all := beside(func() (dispatch.BatchView, error) {
			return w.s.WaitBatch(w.ctx, w.ann, dispatch.WaitBatchRequest{BatchID: got.ID, Wait: 25 * time.Second})
		})
		first := beside(func() (dispatch.BatchView, error) {
			return w.s.WaitBatch(w.ctx, w.ann, dispatch.WaitBatchRequest{BatchID: got.ID, FirstFailure: true, Wait: 25 * time.Second})
		})
		l := m.take()
		m.begin(l)
		m.settle(success(l))
		l = m.take()
		m.begin(l)
		m.settle(failure(l, hub.ClassScript))
		if v, err := get(w, first); err != nil || !v.Done || v.Ended || !dispatch.Failed(v.Jobs[1].Job) || dispatch.Failed(v.Jobs[0].Job) {
			t.Errorf("first failure: %+v, %v", v, err)
		}
		v, err = w.s.CancelBatch(w.ctx, w.ann, got.ID, "one failed")
		w.must(err)
		if !v.Ended || v.Jobs[2].Job.State != hub.JobCanceled || v.Jobs[0].Job.State != hub.JobSucceeded {
			t.Errorf("canceled: %+v", v)
		}
		if v, err := get(w, all); err != nil || !v.Done || !v.Ended {
			t.Errorf("all: %+v, %v", v, err)
		}
	})
}

func TestBatchesOfOthersAreNotFound(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		got, err := w.s.SubmitBatch(w.ctx, w.ann, batch(1))
		w.must(err)
		bob := w.person(w.ws)
		for who, id := range map[*hub.Principal]string{&bob: got.ID, &w.ann: "bat_none"} {
			_, err = w.s.WaitBatch(w.ctx, *who, dispatch.WaitBatchRequest{BatchID: id})
			w.wantCode(err, hub.NotFound)
			_, err = w.s.CancelBatch(w.ctx, *who, id, "")
			w.wantCode(err, hub.NotFound)
		}
		for _, id := range []string{"", "job_1", "bat_\x00"} {
			_, err = w.s.WaitBatch(w.ctx, w.ann, dispatch.WaitBatchRequest{BatchID: id})
			w.wantCode(err, hub.NotFound)
		}
		list, err := w.s.List(w.ctx, bob, dispatch.ListRequest{BatchID: got.ID})
		w.must(err)
		if len(list.Jobs) > 0 {
			t.Errorf("bob sees %v", list.Jobs)
		}
	})
}

func TestRetryWithChanges(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		m := w.machine(self(w.ann))
		j := w.submit(specText("name: n\nimage: busybox\nenv: {A: '1'}\ncommand: [\"false\"]\ntimeout: 5m\n"))
		l := m.take()
		m.begin(l)
		m.settle(failure(l, hub.ClassScript))
		for _, bad := range []string{`{"imag": 1}`, `{"image": null}`, `[]`, `{"source": {"archive": "sha256:` + strings.Repeat("a", 64) + `"}}`} {
			_, err := w.s.Retry(w.ctx, w.ann, dispatch.RetryRequest{JobID: j.ID, Changes: []byte(bad)})
			if e := w.wantCode(err, hub.InvalidArgument); e.Details["problems"] == nil {
				t.Errorf("%s: %v without problems", bad, err)
			}
		}
		r := dispatch.RetryRequest{JobID: j.ID, Changes: []byte(`{"command": ["true"], "env": {"B": "2"}, "timeout": null}`), IdempotencyKey: "k"}
		got, err := w.s.Retry(w.ctx, w.ann, r)
		w.must(err)
		p := got.Job.Payload
		if want := `{"name":"n","image":"busybox","command":["true"],"env":{"A":"1","B":"2"},`; !strings.HasPrefix(string(p.Spec), want) || p.RetryOf != j.ID || p.Timeout != time.Hour {
			t.Errorf("%s, %+v", p.Spec, p)
		}
		again, err := w.s.Retry(w.ctx, w.ann, r)
		w.must(err)
		if !again.Existing || again.Job.Job.ID != got.Job.Job.ID {
			t.Errorf("%+v", again)
		}
		r.Changes = nil
		_, err = w.s.Retry(w.ctx, w.ann, r)
		w.wantCode(err, hub.Conflict)
	})
}
