package dispatch_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/dispatch"
	"github.com/runnerhub/runnerhub/hub/storetest"
)

func TestSubmitAppliesThePolicysDefaults(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		v, err := w.s.Submit(w.ctx, w.ann, request(specText("name: n\nimage: busybox\nplatform: linux/arm64/v8\nrequires: [gpu]\nlabels: [lab]\n")))
		w.must(err)
		p := v.Job.Payload
		if p.Name != "n" || p.Timeout != time.Hour || p.Grace != 10*time.Second || v.Job.Job.MaxAttempts != 3 ||
			strings.Join(p.Requires, " ") != "arm64 docker gpu" || strings.Join(p.Labels, " ") != "lab" || p.SubmittedBy != w.ann.User.ID {
			t.Errorf("%+v, %d attempts", p, v.Job.Job.MaxAttempts)
		}
		v, err = w.s.Submit(w.ctx, w.ann, request(specText("image: busybox\ntimeout: 5m\ngrace: 3s\nretry: {max_attempts: 7, on: [script]}\n")))
		w.must(err)
		p = v.Job.Payload
		if p.Timeout != 5*time.Minute || p.Grace != 3*time.Second || v.Job.Job.MaxAttempts != 7 || len(p.RetryOn) != 1 {
			t.Errorf("%+v, %d attempts", p, v.Job.Job.MaxAttempts)
		}
	})
}

func TestSubmitRefuses(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		for name, tt := range map[string]struct {
			edit     func(*dispatch.SubmitRequest)
			want     hub.Code
			problems bool
		}{
			"an unknown field":   {specText("image: busybox\nimages: x\n"), hub.InvalidArgument, true},
			"nothing":            {specText(""), hub.InvalidArgument, true},
			"a zero byte":        {specText(`{"image":"busybox","name":"a\u0000b"}`), hub.InvalidArgument, true},
			"too long a timeout": {specText("image: busybox\ntimeout: 48h\n"), hub.InvalidArgument, true},
			"files of no source": {specText("image: busybox\ncompose: compose.yaml\n"), hub.InvalidArgument, true},
			"a patch of nothing": {specText("image: busybox\nsource: {patch: \"--- a/x\\n+++ b/x\\n@@ -1 +1 @@\\n-a\\n+b\\n\"}\n"), hub.InvalidArgument, true},
			"10 MB":              {specText("image: busybox\nname: " + strings.Repeat("x", 10<<20)), hub.TooLarge, false},
			"priority":           {func(r *dispatch.SubmitRequest) { r.Priority = 101 }, hub.InvalidArgument, false},
			"long key":           {func(r *dispatch.SubmitRequest) { r.IdempotencyKey = strings.Repeat("x", 129) }, hub.InvalidArgument, false},
			"key with zero":      {func(r *dispatch.SubmitRequest) { r.IdempotencyKey = "a\x00" }, hub.InvalidArgument, false},
			"unknown target":     {target("nobody"), hub.NotFound, false},
			"unknown id":         {target("rnr-0"), hub.NotFound, false},
			"target with zero":   {target("a\x00"), hub.NotFound, false},
			"unknown workspace":  {func(r *dispatch.SubmitRequest) { r.Workspace = "other" }, hub.NotFound, false},
		} {
			_, err := w.s.Submit(w.ctx, w.ann, request(tt.edit))
			e, ok := errors.AsType[*hub.Error](err)
			if !ok || e.Code != tt.want {
				t.Errorf("%s: %v, want %s", name, err, tt.want)
				continue
			}
			if ps, ok := e.Details["problems"].([]dispatch.SpecProblem); tt.problems && (!ok || len(ps) == 0) {
				t.Errorf("%s: details %v", name, e.Details)
			}
			if e.Hint == "" && name != "priority" {
				t.Errorf("%s: no hint", name)
			}
		}
		_, err := w.s.Submit(w.ctx, w.machine(self(w.ann)).p, request())
		w.wantCode(err, hub.PermissionDenied)
		_, err = w.s.Submit(w.ctx, w.person(), request())
		w.wantCode(err, hub.InvalidArgument)
	})
}

func TestTargets(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		ours := hub.WorkspaceOwner(w.ws.ID)
		second := storetest.NewWorkspace()
		w.must(w.store.CreateWorkspace(w.ctx, second, storetest.NewEvent(hub.ActWorkspaceCreated)))
		w.must(w.store.PutMember(w.ctx, hub.Membership{Workspace: second, UserID: w.ann.User.ID, Role: hub.RoleMember}, storetest.NewEvent(hub.ActMemberAdded)))
		mine, shared := w.machine(self(w.ann), label("laptop")), w.machine(ours, label("laptop"))
		box := w.machine(ours, label("box"))
		w.machine(hub.WorkspaceOwner(second.ID), label("box"))
		foreign := w.machine(self(w.person(w.ws)), label("theirs"))
		for name, tt := range map[string]struct {
			target, workspace string
			owner             hub.Owner
			runner, tenant    string
			want              hub.Code
		}{
			"default":                    {"", "", self(w.ann), "", w.ws.ID, ""},
			"self in another workspace":  {"self", second.Slug, self(w.ann), "", second.ID, ""},
			"workspace":                  {"workspace", "", ours, "", w.ws.ID, ""},
			"another workspace":          {"workspace", second.Slug, hub.WorkspaceOwner(second.ID), "", second.ID, ""},
			"own label first":            {"laptop", "", self(w.ann), mine.p.Runner.ID, w.ws.ID, ""},
			"a workspace's runner by id": {shared.p.Runner.ID, "", ours, shared.p.Runner.ID, w.ws.ID, ""},
			"ambiguous":                  {"box", "", "", "", "", hub.InvalidArgument},
			"not so in one workspace":    {"box", w.ws.Slug, ours, box.p.Runner.ID, w.ws.ID, ""},
			"another's":                  {"theirs", "", "", "", "", hub.NotFound},
			"another's id":               {foreign.p.Runner.ID, "", "", "", "", hub.NotFound},
			"the wrong workspace's":      {box.p.Runner.ID, second.Slug, "", "", "", hub.InvalidArgument},
			"nearly":                     {"laptob", "", "", "", "", hub.NotFound},
		} {
			r, err := w.s.Submit(w.ctx, w.ann, request(target(tt.target), func(r *dispatch.SubmitRequest) { r.Workspace = tt.workspace }))
			if hub.CodeOf(err) != tt.want {
				t.Errorf("%s: %v, want %q", name, err, tt.want)
				continue
			}
			if j := r.Job.Job; err == nil && (j.Owner != tt.owner || j.RunnerID != tt.runner || j.WorkspaceID != tt.tenant) {
				t.Errorf("%s: owner %s, runner %q, tenant %s", name, j.Owner, j.RunnerID, j.WorkspaceID)
			}
			switch e, _ := errors.AsType[*hub.Error](err); name {
			case "nearly":
				if !strings.Contains(e.Hint, "laptop") || strings.Contains(e.Hint, "theirs") {
					t.Errorf("hint %q", e.Hint)
				}
			case "ambiguous":
				if ids, _ := e.Details["runner_ids"].([]string); len(ids) != 2 {
					t.Errorf("details %v", e.Details)
				}
			}
		}
	})
}

func TestSubmitIsIdempotentByKey(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		key := func(r *dispatch.SubmitRequest) { r.IdempotencyKey = "k" }
		first, err := w.s.Submit(w.ctx, w.ann, request(key))
		w.must(err)
		again, err := w.s.Submit(w.ctx, w.ann, request(key))
		w.must(err)
		if first.Existing || !again.Existing || again.Job.Job.ID != first.Job.Job.ID {
			t.Errorf("%v %v", first.Existing, again.Existing)
		}
		_, err = w.s.Submit(w.ctx, w.ann, request(key, specText("image: other\n")))
		w.wantCode(err, hub.Conflict)
		other, err := w.s.Submit(w.ctx, w.person(w.ws), request(key))
		w.must(err)
		if other.Existing {
			t.Error("a key is its caller's alone")
		}
	})
}

func TestQueuesAreCapped(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t, withPolicy(func(p *hub.Policy) { p.MaxQueued = 2 }))
		w.submit()
		w.submit()
		_, err := w.s.Submit(w.ctx, w.ann, request())
		if e := w.wantCode(err, hub.QueueFull); !e.Retryable || e.Hint == "" || len(e.Details) == 0 {
			t.Errorf("%+v", e)
		}
		w.submit(target("workspace")) // another queue
	})
}

func TestOthersJobsAreNotFound(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		member, stranger := w.person(w.ws), w.person()
		mine, ours := w.submit(), w.submit(target("workspace"))
		use := func(p hub.Principal, id string) map[string]error {
			_, get := w.s.Get(w.ctx, p, id)
			_, wait := w.s.Wait(w.ctx, p, dispatch.WaitRequest{JobID: id})
			_, log := w.s.ReadLog(w.ctx, p, dispatch.ReadLogRequest{JobID: id})
			_, explain := w.s.Explain(w.ctx, p, id)
			return map[string]error{"get": get, "wait": wait, "log": log, "explain": explain}
		}
		for name, err := range use(member, ours.ID) {
			w.must(err)
			_ = name
		}
		for _, c := range []struct {
			p  hub.Principal
			id string
		}{{member, mine.ID}, {stranger, mine.ID}, {stranger, ours.ID}, {w.ann, "job_none"}, {w.ann, ""}, {w.ann, "a\x00"}} {
			uses := use(c.p, c.id)
			_, uses["cancel"] = w.s.Cancel(w.ctx, c.p, c.id, "")
			_, uses["retry"] = w.s.Retry(w.ctx, c.p, dispatch.RetryRequest{JobID: c.id})
			for name, err := range uses {
				if hub.CodeOf(err) != hub.NotFound {
					t.Errorf("%s of %q: %v", name, c.id, err)
				}
			}
		}
		l, err := w.s.List(w.ctx, member, dispatch.ListRequest{})
		w.must(err)
		if len(l.Jobs) != 1 || l.Jobs[0].Job.ID != ours.ID {
			t.Errorf("a member sees %d jobs", len(l.Jobs))
		}
	})
}

func TestListPagesAndFilters(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		m := w.machine(self(w.ann), label("box"))
		var ids []string
		for range 5 {
			ids = append(ids, w.submit().ID)
		}
		named := w.submit(target("box"))
		var got []string
		for cur := ""; ; {
			p, err := w.s.List(w.ctx, w.ann, dispatch.ListRequest{Limit: 2, Cursor: cur})
			w.must(err)
			for _, v := range p.Jobs {
				got = append(got, v.Job.ID)
			}
			if cur = p.NextCursor; cur == "" {
				break
			}
		}
		if len(got) != 6 || got[0] != named.ID || got[5] != ids[0] {
			t.Errorf("pages: %v", got)
		}
		l := m.take()
		m.begin(l)
		m.settle(success(l))
		for name, tt := range map[string]struct {
			r    dispatch.ListRequest
			want int
		}{
			"state":     {dispatch.ListRequest{States: []hub.JobState{hub.JobSucceeded}}, 1},
			"label":     {dispatch.ListRequest{Label: "box"}, 1},
			"runner":    {dispatch.ListRequest{RunnerID: m.p.Runner.ID}, 1},
			"workspace": {dispatch.ListRequest{Workspace: w.ws.Slug}, 6},
			"since":     {dispatch.ListRequest{Since: w.clock.now().Add(time.Hour)}, 0},
			"until":     {dispatch.ListRequest{Until: w.clock.now().Add(time.Hour)}, 6},
		} {
			p, err := w.s.List(w.ctx, w.ann, tt.r)
			if err != nil || len(p.Jobs) != tt.want {
				t.Errorf("%s: %d jobs, %v, want %d", name, len(p.Jobs), err, tt.want)
			}
			for _, v := range p.Jobs {
				if v.Payload.Spec != nil {
					t.Error("a list carries specs")
				}
			}
		}
		for name, r := range map[string]dispatch.ListRequest{
			"limit": {Limit: 101}, "state": {States: []hub.JobState{"done"}}, "cursor": {Cursor: "x"},
		} {
			if _, err := w.s.List(w.ctx, w.ann, r); hub.CodeOf(err) != hub.InvalidArgument {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func TestRetryIsANewJob(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		m := w.machine(self(w.ann))
		job := w.submit(target(m.p.Runner.ID), specText("name: again\nimage: busybox\nretry: {max_attempts: 5}\n"))
		_, err := w.s.Retry(w.ctx, w.ann, dispatch.RetryRequest{JobID: job.ID})
		w.wantCode(err, hub.Conflict)
		l := m.take()
		m.begin(l)
		m.settle(failure(l, hub.ClassScript))
		r := dispatch.RetryRequest{JobID: job.ID, IdempotencyKey: "again"}
		got, err := w.s.Retry(w.ctx, w.ann, r)
		w.must(err)
		j := got.Job.Job
		if j.ID == job.ID || j.RunnerID != m.p.Runner.ID || j.MaxAttempts != 5 || got.Job.Payload.RetryOf != job.ID || got.Job.Payload.Name != "again" {
			t.Errorf("%+v", got.Job)
		}
		if again, err := w.s.Retry(w.ctx, w.ann, r); err != nil || !again.Existing || again.Job.Job.ID != j.ID {
			t.Errorf("%+v, %v", again, err)
		}
		if l := m.take(); l.JobID != j.ID {
			t.Errorf("got %s", l.JobID)
		}
	})
}

func TestCheckStoresNothing(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		check := func(edit ...func(*dispatch.SubmitRequest)) dispatch.CheckResult {
			r, err := w.s.Check(w.ctx, w.ann, request(edit...).JobRequest)
			w.must(err)
			return r
		}
		if r := check(specText("image: busybox\nimages: x\n")); r.Valid || len(r.Problems) != 1 || r.Problems[0].Line != 2 || r.Summary == "" {
			t.Errorf("%+v", r)
		}
		if r := check(specText("image: busybox\nservices: {app: {build: .}}\n")); r.Valid || len(r.Problems) != 1 || r.Problems[0].Field != "services.app.build" {
			t.Errorf("%+v", r)
		}
		if r := check(specText("image: busybox\ncompose: compose.yaml\nsource: {files: {compose.yaml: {content: x}}}\n")); !r.Valid {
			t.Errorf("%+v", r)
		}
		if r := check(); !r.Valid || len(r.Runners) != 0 || !strings.Contains(r.Summary, "no runner is paired") {
			t.Errorf("%+v", r)
		}
		m, old := w.machine(self(w.ann)), w.machine(self(w.ann))
		m.none()
		if r := check(); !r.Valid || len(r.Runners) != 2 || !strings.Contains(r.Summary, "1 runner could start it now") {
			t.Errorf("%+v", r)
		}
		if r := check(target(old.p.Runner.ID)); !strings.Contains(r.Summary, "has never asked for work") {
			t.Errorf("%+v", r)
		}
		r := check(specText("image: busybox\nrequires: [gpu]\n"))
		for _, x := range r.Runners { // of the one that never asked it is not known
			if x.Eligible != (x.RunnerID == old.p.Runner.ID) || len(x.Reasons) == 0 {
				t.Errorf("%+v", x)
			}
		}
		_, err := w.s.Check(w.ctx, w.ann, dispatch.JobRequest{Spec: []byte(spec), Target: "nobody"})
		w.wantCode(err, hub.NotFound)
		if l, err := w.s.List(w.ctx, w.ann, dispatch.ListRequest{}); err != nil || len(l.Jobs) != 0 {
			t.Errorf("%d jobs, %v", len(l.Jobs), err)
		}
	})
}

func TestExplainSaysWhyAJobWaits(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		explain := func(id string) dispatch.Explanation {
			e, err := w.s.Explain(w.ctx, w.ann, id)
			w.must(err)
			if e.Summary == "" || len(e.Timeline) == 0 || strings.Contains(fmt.Sprint(e), "%!") {
				t.Errorf("%+v", e)
			}
			return e
		}
		want := func(e dispatch.Explanation, words ...string) {
			t.Helper()
			text := e.Summary + "\n" + strings.Join(e.Next, "\n")
			for _, s := range words {
				if !strings.Contains(text, s) {
					t.Errorf("no %q in %q", s, text)
				}
			}
		}
		first, second := w.submit(), w.submit()
		e := explain(second.ID)
		want(e, "place 2", "no runner is paired", "runnerctl pair", "rejected in 5m0s")
		if e.Position != 2 {
			t.Errorf("position %d", e.Position)
		}
		m := w.machine(self(w.ann), label("box"))
		e = explain(first.ID)
		want(e, "box has never asked for work") // what it can do is not known yet
		if len(e.Runners) != 1 || e.Runners[0].Label != "box" {
			t.Errorf("%+v", e.Runners)
		}
		l := m.take()
		want(explain(first.ID), "box was handed attempt 1")
		m.begin(l)
		want(explain(first.ID), "box runs attempt 1", "step test", "wait_job")
		want(explain(second.ID), "1 runner that could run it is busy", "--slots")
		gpu := w.submit(specText("image: busybox\nrequires: [gpu]\n"))
		want(explain(gpu.ID), "box lacks the capability \"gpu\"", "`requires`", "rejected in")
		w.clock.advance(time.Minute)
		want(explain(second.ID), "box has been silent for 1m0s", "Start box", "rejected in 4m0s")
		w.clock.advance(-time.Minute)
		_, err := w.s.Cancel(w.ctx, w.ann, first.ID, "why not")
		w.must(err)
		want(explain(first.ID), "being canceled")
		next, err := m.s.AppendLog(w.ctx, hub.Digest(l.LogToken), 0, record("the last words"))
		if err != nil || next == 0 {
			t.Fatal(err)
		}
		m.settle(failure(l, hub.ClassOOM))
		e = explain(first.ID)
		want(e, "failed (oom): it broke", "retry_job", "read_job_log")
		w.wantTexts(e.LogTail, "the last words")
		var actions []string
		for _, x := range e.Timeline {
			actions = append(actions, string(x.Action))
		}
		if got := strings.Join(actions, " "); got != "job.submitted job.leased job.started job.cancel_requested job.failed" {
			t.Errorf("timeline %s", got)
		}
		m.finish(second.ID)
		w.clock.advance(time.Hour)
		m.none()
		w.sweep()
		want(explain(gpu.ID), "rejected (no_runner)", "gpu")
	})
}

// finish takes and ends one job.
func (m *machine) finish(id string) {
	m.Helper()
	l := m.take()
	if l.JobID != id {
		m.Fatalf("got %s", l.JobID)
	}
	m.begin(l)
	m.settle(success(l))
}
