package dispatch_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/runnerhub/runnerhub/hub"
)

// onlyPostgres is what the runner of an owner tells who lets only one image run.
const onlyPostgres = `{"images":["postgres"]}`

func TestAJobThatNoOwnerAllowsIsToldAtOnceAndHandedToNobody(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		box, lab := w.machine(self(w.ann), label("box")), w.machine(self(w.ann), label("lab"))
		box.policy, lab.policy = onlyPostgres, onlyPostgres
		box.none()
		lab.none()
		check, err := w.s.Check(w.ctx, w.ann, request(specText("image: busybox\n")).JobRequest)
		w.must(err)
		w.wantReason(check.Runners, "box", hub.ReasonPolicy)
		if !strings.Contains(check.Summary, "the owners of all 2 runners do not allow it") ||
			!strings.Contains(strings.Join(check.Next, "\n"), "`runnerctl policy set images+=docker.io/library/busybox`") {
			t.Errorf("check says %q, %q", check.Summary, check.Next)
		}
		got, err := w.s.Submit(w.ctx, w.ann, request(specText("image: busybox\n")))
		w.must(err)
		if len(got.Notices) != 1 || got.Notices[0].Code != hub.ReasonPolicy || !strings.Contains(got.Notices[0].Message, "(rule images)") {
			t.Errorf("submit says %+v", got.Notices)
		}
		e := w.explain(w.ann, got.Job.Job.ID)
		w.wantReason(e.Runners, "box", hub.ReasonPolicy)
		w.wantReason(e.Runners, "lab", hub.ReasonPolicy)
		box.none()
		// An owner who thinks better of it gets the job with the next call.
		lab.policy = "{}"
		if l := lab.take(); l.JobID != got.Job.Job.ID {
			t.Errorf("leased %s", l.JobID)
		}
	})
}

// What an owner does not allow is a list with a command for each rule, told once.
func TestSeveralRulesInTheWay(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		box := w.machine(self(w.ann), label("box"))
		box.policy = onlyPostgres
		box.none()
		text := specText("image: busybox\nservices: {web: {image: postgres, privileged: true, cap_add: [NET_ADMIN]}}\n")
		list := "he owner of box does not allow it:\n" +
			"  images: the job's container runs the image docker.io/library/busybox:latest, which is not among those that are allowed\n" +
			"    allow it: runnerctl policy set images+=docker.io/library/busybox\n" +
			"  privileged: the service web asks to be privileged\n    allow it: runnerctl policy set privileged=true\n" +
			"  cap_add: the service web asks for the capability NET_ADMIN\n    allow it: runnerctl policy set cap_add+=NET_ADMIN"
		got, err := w.s.Submit(w.ctx, w.ann, request(text))
		w.must(err)
		if len(got.Notices) != 1 || got.Notices[0].Message != "The job is stored, but t"+list {
			t.Errorf("submit says %+v", got.Notices)
		}
		all := "allow it on box: `runnerctl policy set images+=docker.io/library/busybox`, `runnerctl policy set privileged=true`, `runnerctl policy set cap_add+=NET_ADMIN`."
		e := w.explain(w.ann, got.Job.Job.ID)
		if !strings.HasSuffix(e.Summary, "the owner of box does not allow it, for 3 reasons.") || !strings.Contains(strings.Join(e.Next, "\n"), all) {
			t.Errorf("it is explained by %q, %q", e.Summary, e.Next)
		}
		job := w.submit(text, target("box"))
		box.none()
		e = w.explain(w.ann, job.ID)
		if e.Summary != "The job was rejected (policy_denied): t"+list || !slices.Contains(e.Next, "Once it is allowed, run it again with retry_job.") {
			t.Errorf("it is explained by %q, %q", e.Summary, e.Next)
		}
	})
}

// A job without an image goes only where the machine can run it and its owner has said that it may.
func TestAJobWithoutAnImage(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		box, lab := w.machine(self(w.ann), label("box")), w.machine(self(w.ann), label("lab"))
		lab.presence.Capabilities = append(lab.presence.Capabilities, "host")
		box.policy, lab.policy = `{"host_executor":true}`, "{}"
		box.none()
		lab.none()
		got, err := w.s.Submit(w.ctx, w.ann, request(specText("command: make\n")))
		w.must(err)
		e := w.explain(w.ann, got.Job.Job.ID)
		w.wantReason(e.Runners, "box", hub.ReasonMissingCapability)
		w.wantReason(e.Runners, "lab", hub.ReasonPolicy)
		box.none()
		lab.none()
		lab.policy = box.policy
		if l := lab.take(); l.JobID != got.Job.Job.ID {
			t.Errorf("leased %s", l.JobID)
		}
	})
}

func TestANamedRunnerWhoseOwnerRefusesRejects(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		box := w.machine(self(w.ann), label("box"))
		box.policy = onlyPostgres
		box.none()
		job := w.submit(specText("image: busybox\n"), target("box"))
		box.none()
		j := w.job(job.ID)
		if j.State != hub.JobRejected || j.Failure.Class != hub.ClassPolicyDenied || !strings.Contains(j.Failure.Hint, "images+=docker.io/library/busybox") {
			t.Errorf("%s, %+v", j.State, j.Failure)
		}
		allowed := w.submit(specText("image: postgres:16\n"), target("box"))
		if l := box.take(); l.JobID != allowed.ID {
			t.Errorf("leased %s", l.JobID)
		}
	})
}

func TestAPolicyThatCannotBeReadIsRefused(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		box := w.machine(self(w.ann), label("box"))
		for _, policy := range []string{`"images"`, `{"images":1}`, strings.Repeat(" ", 40<<10) + "{}"} {
			box.policy = policy
			if _, err := box.lease(0); hub.CodeOf(err) != hub.InvalidArgument {
				t.Errorf("%.20s: %v", policy, err)
			}
		}
	})
}

// A runner that takes no jobs for its owner's sake says why.
func TestAPausedRunnerSaysWhy(t *testing.T) {
	onStores(t, func(t backend) {
		w := newWorld(t)
		box := w.machine(self(w.ann), label("box"))
		box.presence.Draining, box.presence.StatusText, box.presence.StatusLevel = true, "the machine runs on its battery", "warning"
		box.none()
		job := w.submit()
		e := w.explain(w.ann, job.ID)
		w.wantReason(e.Runners, "box", hub.ReasonPaused)
		if !strings.Contains(e.Summary, "box takes no new jobs now: the machine runs on its battery") {
			t.Errorf("%q", e.Summary)
		}
	})
}
