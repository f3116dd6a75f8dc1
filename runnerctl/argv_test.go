package runnerctl_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/runnerhub/runnerhub/runnerctl/cmd/cache"
	"github.com/runnerhub/runnerhub/runnerctl/cmd/cancel"
	"github.com/runnerhub/runnerhub/runnerctl/cmd/doctor"
	"github.com/runnerhub/runnerhub/runnerctl/cmd/explain"
	"github.com/runnerhub/runnerhub/runnerctl/cmd/jobs"
	"github.com/runnerhub/runnerhub/runnerctl/cmd/login"
	"github.com/runnerhub/runnerhub/runnerctl/cmd/logout"
	"github.com/runnerhub/runnerhub/runnerctl/cmd/logs"
	mcpcmd "github.com/runnerhub/runnerhub/runnerctl/cmd/mcp"
	"github.com/runnerhub/runnerhub/runnerctl/cmd/pair"
	"github.com/runnerhub/runnerhub/runnerctl/cmd/policy"
	"github.com/runnerhub/runnerhub/runnerctl/cmd/retry"
	"github.com/runnerhub/runnerhub/runnerctl/cmd/run"
	"github.com/runnerhub/runnerhub/runnerctl/cmd/runners"
	"github.com/runnerhub/runnerhub/runnerctl/cmd/status"
	"github.com/runnerhub/runnerhub/runnerctl/cmd/submit"
	"github.com/runnerhub/runnerhub/runnerctl/cmd/unpair"
	"github.com/runnerhub/runnerhub/runnerctl/cmdutil"
)

// newCommand is the New of every command.
type newCommand[O any] func(*cmdutil.Factory, func(context.Context, *O) error) *cobra.Command

// argv is a row: a command line, and the options that it makes or the error that it is refused with.
type argv[O any] struct {
	line    string
	want    O
	refused string
}

func testArgv[O any](t *testing.T, name string, create newCommand[O], drop func(*O), rows ...argv[O]) {
	t.Helper()
	for _, row := range rows {
		t.Run(name+" "+row.line, func(t *testing.T) {
			t.Parallel()
			var got *O
			c := create(&cmdutil.Factory{}, func(_ context.Context, o *O) error { got = o; return nil })
			c.SetArgs(strings.Fields(row.line))
			c.SilenceErrors, c.SilenceUsage = true, true
			err := c.ExecuteContext(t.Context())
			if row.refused != "" {
				if err == nil || !strings.Contains(err.Error(), row.refused) || got != nil {
					t.Fatalf("%v, want an error about %q", err, row.refused)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			drop(got)
			if diff := cmp.Diff(row.want, *got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestArgv(t *testing.T) {
	t.Parallel()
	testArgv(t, "cancel", cancel.New, func(o *cancel.Options) { o.F = nil },
		argv[cancel.Options]{line: "job_1 --reason why --json", want: cancel.Options{JobID: "job_1", Reason: "why", JSON: true}},
		argv[cancel.Options]{line: "", refused: "arg"})
	testArgv(t, "doctor", doctor.New, func(o *doctor.Options) { o.F = nil },
		argv[doctor.Options]{line: "", want: doctor.Options{Image: "busybox"}},
		argv[doctor.Options]{line: "--image alpine --json", want: doctor.Options{Image: "alpine", JSON: true}},
		argv[doctor.Options]{line: "me", refused: "unknown command"})
	testArgv(t, "explain", explain.New, func(o *explain.Options) { o.F = nil },
		argv[explain.Options]{line: "job_1", want: explain.Options{JobID: "job_1"}},
		argv[explain.Options]{line: "a b", refused: "arg"})
	testArgv(t, "jobs", jobs.New, func(o *jobs.Options) { o.F = nil },
		argv[jobs.Options]{line: "", want: jobs.Options{Limit: 20}},
		argv[jobs.Options]{line: "--state active --runner r --label l --workspace w --since 24h -n 5 --json",
			want: jobs.Options{State: "active", Runner: "r", Label: "l", Workspace: "w", Since: 24 * time.Hour, Limit: 5, JSON: true}},
		argv[jobs.Options]{line: "--limit 0", refused: "--limit"},
		argv[jobs.Options]{line: "--since -1h", refused: "--since"})
	testArgv(t, "login", login.New, func(o *login.Options) { o.F = nil },
		argv[login.Options]{line: "--hub h --api-key-stdin --insecure-storage", want: login.Options{Hub: "h", KeyStdin: true, Insecure: true}},
		argv[login.Options]{line: "ak_secret", refused: "unknown command"}) // a key on the command line is for all to see
	testArgv(t, "logout", logout.New, func(o *logout.Options) { o.F = nil },
		argv[logout.Options]{line: ""})
	testArgv(t, "logs", logs.New, func(o *logs.Options) { o.F = nil },
		argv[logs.Options]{line: "job_1 -f --timestamps", want: logs.Options{JobID: "job_1", Follow: true, Timestamps: true}},
		argv[logs.Options]{line: "job_1 -n 5 --grep x --step s --service d --stream stderr --attempt 2 --json",
			want: logs.Options{JobID: "job_1", Tail: 5, Grep: "x", Step: "s", Service: "d", Stream: "stderr", Attempt: 2, JSON: true}},
		argv[logs.Options]{line: "job_1 -n 0", refused: "--tail"},
		argv[logs.Options]{line: "job_1 -n 1001", refused: "--tail"},
		argv[logs.Options]{line: "job_1 -f --grep x", refused: "follow"},
		argv[logs.Options]{line: "job_1 -f --json", refused: "follow"})
	testArgv(t, "mcp", mcpcmd.New, func(o *mcpcmd.Options) { o.F = nil },
		argv[mcpcmd.Options]{line: "", want: mcpcmd.Options{Name: "runnerhub"}},
		argv[mcpcmd.Options]{line: "--toolsets jobs --read-only", want: mcpcmd.Options{Name: "runnerhub", Toolsets: "jobs", ReadOnly: true}},
		argv[mcpcmd.Options]{line: "install codex --toolsets jobs,artifacts", want: mcpcmd.Options{Client: "codex", Name: "runnerhub", Toolsets: "jobs,artifacts"}},
		argv[mcpcmd.Options]{line: "uninstall codex --read-only", refused: "--read-only"},
		argv[mcpcmd.Options]{line: "serve", refused: "unknown command"},
		argv[mcpcmd.Options]{line: "install codex --name x_1 --project -y", want: mcpcmd.Options{Client: "codex", Name: "x_1", Project: true, Yes: true}},
		argv[mcpcmd.Options]{line: "uninstall cursor --dry-run", want: mcpcmd.Options{Client: "cursor", Name: "runnerhub", DryRun: true}},
		argv[mcpcmd.Options]{line: "install", refused: "arg"},
		argv[mcpcmd.Options]{line: "install emacs", refused: "claude-code, vscode, cursor, codex, claude-desktop"},
		argv[mcpcmd.Options]{line: "install claude-desktop --project", refused: "--project"},
		argv[mcpcmd.Options]{line: "install codex --name a.b", refused: "--name"})
	testArgv(t, "pair", pair.New, func(o *pair.Options) { o.F = nil },
		argv[pair.Options]{line: "--hub h --label l --labels a,b --workspace w --api-key-stdin --insecure-storage --json",
			want: pair.Options{Hub: "h", Label: "l", Labels: []string{"a", "b"}, Workspace: "w", KeyStdin: true, Insecure: true, JSON: true}},
		argv[pair.Options]{line: "--token-stdin", want: pair.Options{TokenStdin: true}},
		argv[pair.Options]{line: "--token-stdin --api-key-stdin", refused: "token-stdin"},
		argv[pair.Options]{line: "--token-stdin --workspace w", refused: "workspace"},
		argv[pair.Options]{line: "--token-stdin --labels w", refused: "labels"})
	testArgv(t, "policy", policy.New, func(o *policy.Options) { o.F = nil },
		argv[policy.Options]{line: "show --json", want: policy.Options{JSON: true}},
		argv[policy.Options]{line: "set gpus=true images+=a", want: policy.Options{Changes: []string{"gpus=true", "images+=a"}}},
		argv[policy.Options]{line: "set", refused: "arg"},
		argv[policy.Options]{line: "edit now", refused: "unknown command"},
		argv[policy.Options]{line: "check - --json", want: policy.Options{File: "-", JSON: true}})
	testArgv(t, "cache", cache.New, func(o *cache.Options) { o.F = nil },
		argv[cache.Options]{line: "ls --json", want: cache.Options{JSON: true}},
		argv[cache.Options]{line: "ls go", refused: "unknown command"},
		argv[cache.Options]{line: "rm 12ab 34cd", want: cache.Options{IDs: []string{"12ab", "34cd"}}},
		argv[cache.Options]{line: "rm --all --json", want: cache.Options{All: true, JSON: true}},
		argv[cache.Options]{line: "rm --unused-for 720h", want: cache.Options{Unused: 720 * time.Hour}},
		argv[cache.Options]{line: "rm", refused: "--all"},
		argv[cache.Options]{line: "rm 12ab --all", refused: "--all"},
		argv[cache.Options]{line: "rm --unused-for -1h", refused: "negative"})
	testArgv(t, "retry", retry.New, func(o *retry.Options) { o.F = nil },
		argv[retry.Options]{line: "job_1 -f --timestamps --idempotency-key k --json",
			want: retry.Options{JobID: "job_1", Follow: true, Timestamps: true, Key: "k", JSON: true}},
		argv[retry.Options]{line: "job_1 --changes {}", want: retry.Options{JobID: "job_1", Changes: "{}"}})
	testArgv(t, "run", run.New, func(o *run.Options) { o.F = nil },
		argv[run.Options]{line: "", want: run.Options{Slots: 1, MaxHold: time.Hour, CacheSize: "10GiB", WarmFor: 10 * time.Minute, LogLevel: "info", LogFormat: "text"}},
		argv[run.Options]{line: "--slots 4 --cache-size 0 --drain-timeout 1m --warm-for 0 --log-level debug --log-format json",
			want: run.Options{Slots: 4, MaxHold: time.Hour, CacheSize: "0", DrainTimeout: time.Minute, LogLevel: "debug", LogFormat: "json"}},
		argv[run.Options]{line: "--once", want: run.Options{Slots: 1, MaxHold: time.Hour, CacheSize: "10GiB", Once: true, WarmFor: 10 * time.Minute, LogLevel: "info", LogFormat: "text"}},
		argv[run.Options]{line: "--slots 257", refused: "--slots"},
		argv[run.Options]{line: "--cache-size much", refused: "no size like 10GiB"},
		argv[run.Options]{line: "--cache-size -1", refused: "--cache-size"},
		argv[run.Options]{line: "--once --slots 2", refused: "--once"},
		argv[run.Options]{line: "--warm-for -1s", refused: "--warm-for"},
		argv[run.Options]{line: "--ready-pod --warm-for 1h", want: run.Options{Slots: 1, MaxHold: time.Hour, CacheSize: "10GiB", ReadyPod: true, WarmFor: time.Hour, LogLevel: "info", LogFormat: "text"}},
		argv[run.Options]{line: "--ready-pod --warm-for 0", refused: "--ready-pod"},
		argv[run.Options]{line: "--drain-timeout -1s", refused: "--drain-timeout"},
		argv[run.Options]{line: "--max-hold -1s", refused: "--max-hold"})
	testArgv(t, "runners", runners.New, func(o *runners.Options) { o.F = nil },
		argv[runners.Options]{line: "--workspace w --include-revoked --json", want: runners.Options{Workspace: "w", Revoked: true, JSON: true}},
		argv[runners.Options]{line: "revoke box --workspace w", want: runners.Options{Revoke: "box", Workspace: "w"}},
		argv[runners.Options]{line: "revoke", refused: "arg"})
	testArgv(t, "status", status.New, func(o *status.Options) { o.F = nil },
		argv[status.Options]{line: "--json", want: status.Options{JSON: true}})
	testArgv(t, "submit", submit.New, func(o *submit.Options) { o.F = nil },
		argv[submit.Options]{line: "job.yaml --target t --workspace w --priority -5 --idempotency-key k -f --timestamps --json",
			want: submit.Options{File: "job.yaml", Target: "t", Workspace: "w", Priority: -5, Key: "k", Follow: true, Timestamps: true, JSON: true}},
		argv[submit.Options]{line: "- --check", want: submit.Options{File: "-", Check: true}},
		argv[submit.Options]{line: "job.yaml --source dir --patch -", want: submit.Options{File: "job.yaml", Source: "dir", Patch: "-"}},
		argv[submit.Options]{line: "- --patch -", refused: "cannot both be standard input"},
		argv[submit.Options]{line: "- --check --follow", refused: "check"},
		argv[submit.Options]{line: "- --check --idempotency-key k", refused: "check"})
	testArgv(t, "unpair", unpair.New, func(o *unpair.Options) { o.F = nil },
		argv[unpair.Options]{line: "--local", want: unpair.Options{Local: true}})
}
