package cmdutil_test

import (
	"testing"
	"time"

	"github.com/runnerhub/runnerhub/runnerctl/cmdutil"
)

func TestCommands(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"Run it again with retry_job.":                     "Run it again with `runnerctl retry`.",
		"list_workspace_runners, or list_runners":          "`runnerctl runners --workspace`, or `runnerctl runners`",
		"set max_attempts and see `runnerctl status`":      "set max_attempts and see `runnerctl status`",
		"submit_job_result is a tool of runners' own":      "submit_job_result is a tool of runners' own",
		"whoami lists your workspaces":                     "`runnerctl status` lists your workspaces",
		"list_jobs with state=active shows them, all_jobs": "`runnerctl jobs` with state=active shows them, all_jobs",
	} {
		if got := cmdutil.Commands(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

func TestSameHub(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		a, b string
		same bool
	}{
		{"http://h:1", "http://h:1/", true}, {" HTTP://H:1 ", "http://h:1", true}, {"http://h/x/", "http://h/x", true},
		{"http://h:1", "https://h:1", false}, {"http://h:1", "http://h:2", false}, {"http://h", "http://h.evil", false},
		{"http://h/x", "http://h/y", false}, {"http://h", "http://h@evil", false}, {"", "http://h", false}, {"%", "%", false},
	} {
		if got := cmdutil.SameHub(tc.a, tc.b); got != tc.same {
			t.Errorf("%q and %q: %v, want %v", tc.a, tc.b, got, tc.same)
		}
	}
}

func TestAgo(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for d, want := range map[time.Duration]string{
		-time.Hour: "now", 0: "now", 59 * time.Second: "59s ago", 90 * time.Minute: "1h ago", 47 * time.Hour: "47h ago", 72 * time.Hour: "3d ago",
	} {
		then := now.Add(-d)
		if got := cmdutil.Ago(now, &then); got != want {
			t.Errorf("%s: %q, want %q", d, got, want)
		}
	}
	if got := cmdutil.Ago(now, nil); got != "never" {
		t.Errorf("nil: %q", got)
	}
}
