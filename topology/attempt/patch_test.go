package attempt

import (
	"strings"
	"testing"

	"github.com/runnerhub/runnerhub/topology"
)

// A patch is cut between files and never in one, and says in its head and in the log what it lacks.
func TestAPatchIsCutBetweenFiles(t *testing.T) {
	inBubble(t, func(b *bench) {
		large := strings.Repeat("a line of text\n", 3<<20/15)
		b.leave("write", 1, map[string]string{"a": large, "b": large, "c": large, "d": "small\n"})
		r := b.collect(b.Context(), &topology.Spec{Command: command("write"), Collect: topology.CollectPatch}, topology.Collect{})
		b.want(r, "failed script")
		if c := r.Changes; c == nil || c.Added != 3 || c.LeftOut != 1 {
			b.Fatalf("%+v", r.Changes)
		}
		text := b.kept(r)["patch: changes.patch"]
		head, _, _ := strings.Cut(text, "diff --git ")
		log := b.obs.Text(topology.System, "")
		for _, said := range []string{head, log} {
			if !strings.Contains(said, "(the patch would have more than 8388608 bytes)") {
				b.Errorf("%q", said)
			}
		}
		if n := strings.Count(text, "diff --git "); n != 3 || !strings.HasSuffix(text, "\n") {
			b.Errorf("%d files", n)
		}
	})
}

// The patch's name is taken, and its size counts to the hub's limits.
func TestAPatchIsAnArtifact(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.leave("write", 0, map[string]string{"changes.patch": "mine\n"})
		spec := func() *topology.Spec {
			return &topology.Spec{Command: command("write"), Collect: topology.CollectPatch, Artifacts: []topology.Artifact{{Name: "all", Path: "**", Optional: true}}}
		}
		r := b.collect(b.Context(), spec(), topology.Collect{})
		b.want(r, "failed artifact")
		if kept := b.kept(r); len(kept) != 1 || !strings.Contains(kept["patch: changes.patch"], "+mine\n") || !strings.Contains(r.Failure.Message, "is the name of the job's patch") {
			b.Errorf("%v, %+v", kept, r.Failure)
		}
		r = b.collect(b.Context(), spec(), topology.Collect{MaxBytes: 50})
		if b.want(r, "failed artifact"); len(r.Artifacts) > 0 {
			b.Errorf("%+v", r.Artifacts)
		}
	})
}
