package attempt

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/topologytest"
)

// withPods runs a test on an executor that makes pods.
func withPods(t *testing.T, test func(*bench)) {
	t.Helper()
	inBubble(t, func(b *bench) {
		b.exec = New(b.fake, Options{WarmFor: warmFor, Pods: true})
		b.fake.AddProgram("read -r _", func(p *topologytest.FakeProcess) int {
			<-p.Killed
			return 137
		})
		test(b)
	})
}

// pod is the name of the pod that waits, "" for none.
func (b *bench) pod() string {
	b.Helper()
	synctest.Wait()
	seen, err := b.fake.Observe(context.Background(), topology.Filter{Hub: id.Hub})
	if err != nil {
		b.Fatal(err)
	}
	found := ""
	for _, c := range seen.Containers {
		if found != "" || !c.Running || c.Labels[topology.LabelSet] == "" {
			b.Errorf("there is %+v besides %q", c, found)
		}
		found = c.Name
	}
	return found
}

func TestPodsAreUsedOnce(t *testing.T) {
	withPods(t, func(b *bench) {
		seen := map[string]bool{"": true}
		for i := range 4 {
			b.want(b.run(b.Context(), &topology.Spec{Command: command("ok")}), "succeeded")
			pod := b.pod()
			if seen[pod] {
				b.Errorf("after job %d the pod is %q", i, pod)
			}
			seen[pod] = true
		}
		if made := count(b.fake, "CreateNetwork"); made > 3 {
			b.Errorf("%d networks were made", made)
		}
		if made := count(b.fake, "CreateContainer"); made != 8 {
			b.Errorf("%d containers were made, want a job's and a pod's four times", made)
		}
		time.Sleep(warmFor + time.Second) // virtual time
		if pod := b.pod(); pod != "" {
			b.Errorf("%s waits for ever", pod)
		}
	})
}

// TestPodsOfOtherJobs has jobs come that a pod is not for.
func TestPodsOfOtherJobs(t *testing.T) {
	withPods(t, func(b *bench) {
		b.want(b.run(b.Context(), &topology.Spec{Command: command("ok")}), "succeeded")
		first := b.pod()
		b.want(b.run(b.Context(), &topology.Spec{Command: command("ok"), Network: topology.NetworkNone}), "succeeded")
		b.want(b.run(b.Context(), &topology.Spec{Command: command("ok"), Services: map[string]topology.Service{
			"db": {Image: topologytest.FakeImage, Command: command("hang")},
		}}), "succeeded")
		if pod := b.pod(); pod != first {
			b.Errorf("the pod %q was used, now %q", first, pod)
		}
		b.want(b.run(b.Context(), &topology.Spec{Command: command("ok"), Network: topology.NetworkRestricted}), "succeeded")
		if pod := b.pod(); pod == first || pod == "" {
			b.Errorf("the pod of the last kind is %q", pod)
		}
	})
}

// TestNoPodWithoutAShell has an image that cannot hold one open: that is tried once.
func TestNoPodWithoutAShell(t *testing.T) {
	withPods(t, func(b *bench) {
		b.fake.AddProgram("read -r _", nil)
		made := 0
		for range 3 {
			b.want(b.run(b.Context(), &topology.Spec{Command: command("ok")}), "succeeded")
			if pod := b.pod(); pod != "" {
				b.Errorf("there is %q", pod)
			}
		}
		for _, call := range b.fake.Calls() {
			if strings.HasPrefix(call, "CreateContainer") && strings.HasSuffix(call, "-pod") {
				made++
			}
		}
		if made != 1 {
			b.Errorf("a pod was made %d times", made)
		}
	})
}

// TestSweepSparesPodOfLiveJob kills a runner under a job that has a pod.
func TestSweepSparesPodOfLiveJob(t *testing.T) {
	withPods(t, func(b *bench) {
		gate, k := &mortal{Engine: b.fake}, newKeeper()
		first := New(gate, Options{WarmFor: warmFor, Pods: true})
		b.fake.AddProgram("talks", talker(3, 0))
		work := topology.Work{Identity: id, Spec: &topology.Spec{Image: topologytest.FakeImage, Command: command("talks")}, Save: k.save}
		first.Run(b.Context(), work, &topologytest.Observer{})
		if b.pod() == "" {
			b.Fatal("no pod")
		}
		work.Job = "job_2"
		perish(b.T, first, gate, k, work, 1500*time.Millisecond)

		heir := newKeeper()
		heir.left, heir.log = k.left, k.log
		work.Save = heir.save
		found, err := b.exec.Sweep(b.Context(), id.Hub, id.Runner, []topology.Identity{work.Identity})
		if err != nil || found.Containers != 0 {
			b.Errorf("the sweep found %+v, %v", found, err)
		}
		r := b.exec.Adopt(b.Context(), work, k.left, heir.observer())
		if r.Status != topology.Succeeded || heir.text("") != "1\n2\n3\n" {
			b.Errorf("%+v, %q", r, heir.text(""))
		}
	})
}
