package source

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/runnerhub/runnerhub/runnerctl/archive"
)

func TestGitIsEndedWhenItGrows(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		ctx, over := bound(t.Context(), dir, archive.Limits{Bytes: 1000, Files: 10})
		defer over()
		write := func(name string, size int) {
			if err := os.WriteFile(filepath.Join(dir, name), make([]byte, size), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write("objects", 1000)
		<-time.After(time.Minute)
		if ctx.Err() != nil {
			t.Fatalf("ended within the limits: %v", context.Cause(ctx))
		}
		write("checked out", 1001)
		<-time.After(time.Minute)
		if !errors.Is(context.Cause(ctx), errGrown) {
			t.Errorf("cause %v", context.Cause(ctx))
		}
	})
}
