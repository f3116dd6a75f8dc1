package attempt

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/runnerhub/runnerhub/topology"
)

// A job that succeeded and found no room for what it left is not run again for that: it has done what it does.
func TestNoRoomForWhatAJobLeft(t *testing.T) {
	for name, code := range map[string]int{"it succeeded": 0, "it failed": 3} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *bench) {
				b.leave("write", code, outFiles)
				c := topology.Collect{Dir: b.TempDir()}
				if err := os.Symlink("/dev/full", filepath.Join(c.Dir, "000000")); err != nil {
					b.Fatal(err)
				}
				r := b.collect(b.Context(), &topology.Spec{Command: command("write"), Artifacts: []topology.Artifact{{Name: "a", Path: "out"}}}, c)
				if code != 0 {
					b.want(r, "failed script")
					return
				}
				b.want(r, "failed artifact")
				if f := r.Failure; !f.Machine || !strings.Contains(f.Message, "The job succeeded") || !strings.Contains(f.Message, "no room on the runner's machine") {
					b.Errorf("the failure is %+v", f)
				}
			})
		})
	}
}

// What fails the collecting itself does not have the job run again, either.
func TestTheLogFailsWhileItCollects(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.leave("write", 0, outFiles)
		full := &os.PathError{Op: "write", Path: "/srv/spool/log", Err: syscall.ENOSPC}
		ctx, stop := context.WithCancelCause(b.Context())
		b.fake.FailNext("CopyFrom", context.Canceled)
		b.obs.OnPhase = func(p topology.Phase, _ string) {
			if p == topology.PhaseCollecting {
				stop(full)
			}
		}
		r := b.collect(ctx, &topology.Spec{Command: command("write"), Artifacts: []topology.Artifact{{Name: "a", Path: "out"}}}, topology.Collect{})
		b.want(r, "failed artifact")
		if !r.Failure.Machine {
			b.Errorf("the failure is %+v", r.Failure)
		}
	})
}
