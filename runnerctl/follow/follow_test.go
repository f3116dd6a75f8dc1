package follow_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/runnerctl/cmdutil"
	"github.com/runnerhub/runnerhub/runnerctl/follow"
	"github.com/runnerhub/runnerhub/runnerctl/iostreams"
)

// script answers each WaitJob with the next of its answers, and the last one again.
type script struct {
	answers []any // mcp.WaitJobResult or error
	calls   int
	why     []string // answers of ExplainJob; none is an error
	asked   int
	before  func() // each call
}

func (s *script) WaitJob(ctx context.Context, _ mcp.WaitJobArgs) (mcp.WaitJobResult, error) {
	if s.before != nil {
		s.before()
	}
	a := s.answers[min(s.calls, len(s.answers)-1)]
	s.calls++
	if err := ctx.Err(); err != nil {
		return mcp.WaitJobResult{}, err
	}
	if err, ok := a.(error); ok {
		return mcp.WaitJobResult{}, err
	}
	return a.(mcp.WaitJobResult), nil
}

func (*script) GetJob(context.Context, mcp.JobRef) (mcp.GetJobResult, error) {
	return mcp.GetJobResult{Job: mcp.Job{ID: "job_1", State: "succeeded"}}, nil
}

func (s *script) ExplainJob(context.Context, mcp.JobRef) (mcp.ExplainJobResult, error) {
	if s.why == nil {
		return mcp.ExplainJobResult{}, &mcp.Error{Code: mcp.CodeUnavailable}
	}
	s.asked++
	return mcp.ExplainJobResult{State: "queued", Summary: s.why[min(s.asked, len(s.why))-1], Next: []string{"See explain_job."}}, nil
}

func run(ctx context.Context, s *script, o follow.Options) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	o.JobID = "job_1"
	io := &iostreams.IOStreams{Out: &out, Err: &errs}
	code = cmdutil.Report(io, follow.Run(ctx, s, io, o))
	return code, out.String(), errs.String()
}

func ended(state string, code int, lines ...mcp.LogLine) mcp.WaitJobResult {
	r := mcp.WaitJobResult{JobID: "job_1", State: state, Done: true, Lines: lines}
	if code >= 0 {
		r.ExitCode = &code
	}
	return r
}

func TestTheExitCodeIsTheJobs(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		end  mcp.WaitJobResult
		code int
	}{
		{ended("succeeded", 0), 0}, {ended("failed", 7), 7}, {ended("failed", -1), 1}, {ended("failed", 256), 1},
		{ended("canceled", 143), 122}, {ended("timed_out", 137), 124}, {ended("rejected", -1), 121},
	} {
		code, _, stderr := run(t.Context(), &script{answers: []any{tc.end}}, follow.Options{})
		if code != tc.code {
			t.Errorf("%s with %v ends with %d, want %d", tc.end.State, tc.end.ExitCode, code, tc.code)
		}
		if said := strings.Contains(stderr, "job_1 "+tc.end.State); said != (tc.code != 0) {
			t.Errorf("%s says %q", tc.end.State, stderr)
		}
	}
}

// The end of a message of several lines is not ours: nothing is put behind it or taken off.
func TestWhyAJobFailed(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		"It broke.":                        "job job_1 failed with exit code 7: It broke (script)\n",
		"Its last lines:\ndone.":           "job job_1 failed with exit code 7 (script): Its last lines:\ndone.\n",
		"It is full.\n  allow it: set a=b": "job job_1 failed with exit code 7 (script): It is full.\n  allow it: set a=b\n",
	} {
		end := ended("failed", 7)
		end.Failure = &mcp.Failure{Class: "script", Message: message}
		if _, _, stderr := run(t.Context(), &script{answers: []any{end}}, follow.Options{}); stderr != want {
			t.Errorf("%q, want %q", stderr, want)
		}
	}
}

func TestAnInterruptionLeavesTheJob(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s := &script{answers: []any{mcp.WaitJobResult{State: "running"}}}
	s.before = func() {
		if s.calls == 1 {
			cancel()
		}
	}
	code, _, stderr := run(ctx, s, follow.Options{})
	if code != 130 || !strings.Contains(stderr, "the job goes on") || !strings.Contains(stderr, "runnerctl logs job_1 -f") {
		t.Errorf("exit code %d, says %q", code, stderr)
	}
}

func TestAHubThatIsAwayIsWaitedFor(t *testing.T) {
	t.Parallel()
	running, away := mcp.WaitJobResult{State: "running"}, &mcp.Error{Code: mcp.CodeUnavailable, Message: "gone", Retryable: true}
	if code, _, stderr := run(t.Context(), &script{answers: []any{running, away, away, ended("succeeded", 0)}}, follow.Options{}); code != 0 || strings.Count(stderr, "gone") != 1 {
		t.Errorf("exit code %d, says %q", code, stderr)
	}
	if code, _, _ := run(t.Context(), &script{answers: []any{running, away}}, follow.Options{}); code != mcp.ExitUnavailable {
		t.Errorf("a hub that stays away: exit code %d", code)
	}
	first := &script{answers: []any{away}}
	if code, _, _ := run(t.Context(), first, follow.Options{}); code != mcp.ExitUnavailable || first.calls != 1 {
		t.Errorf("a hub that never was there: exit code %d after %d calls", code, first.calls)
	}
	other := &script{answers: []any{running, &mcp.Error{Code: mcp.CodeNotFound}}}
	if code, _, _ := run(t.Context(), other, follow.Options{}); code != mcp.ExitNotFound || other.calls != 2 {
		t.Errorf("a job that is gone: exit code %d after %d calls", code, other.calls)
	}
}

func TestAJobThatNobodyRunsSaysWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	queued := mcp.WaitJobResult{State: "queued"}
	s := &script{answers: []any{queued, queued, queued, queued, ended("succeeded", 0)}, why: []string{"box is busy.", "box is busy.", "It waits for job_2."}}
	code, stdout, stderr := run(t.Context(), s, follow.Options{})
	want := "# box is busy.\n#   See `runnerctl explain`.\n# It waits for job_2.\n"
	if code != 0 || stdout != "" || stderr != want {
		t.Errorf("exit code %d, standard output %q, standard error %q, want %q", code, stdout, stderr, want)
	}
	s = &script{answers: []any{queued, ended("succeeded", 0)}, why: []string{"soon."}}
	if _, _, stderr := run(t.Context(), s, follow.Options{}); stderr != "" {
		t.Errorf("a job that starts at once: %q", stderr)
	}
	s = &script{answers: []any{queued, queued, ended("succeeded", 0)}}
	if code, _, stderr := run(t.Context(), s, follow.Options{}); code != 0 || stderr != "" {
		t.Errorf("where the hub does not say: exit code %d, %q", code, stderr)
	}
}

func TestAnEndIsSaidOnce(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		state string
		f     mcp.Failure
		want  string
	}{
		{"canceled", mcp.Failure{Class: "canceled", Message: "mistake"}, "job job_1 canceled: mistake\n"},
		{"failed", mcp.Failure{Class: "script", Message: "The job ended."}, "job job_1 failed: The job ended (script)\n"},
	} {
		end := ended(tc.state, -1)
		end.Failure = &tc.f
		if _, _, stderr := run(t.Context(), &script{answers: []any{end}}, follow.Options{}); stderr != tc.want {
			t.Errorf("%q, want %q", stderr, tc.want)
		}
	}
}

func TestJSONKeepsStandardOutputForItself(t *testing.T) {
	t.Parallel()
	_, stdout, stderr := run(t.Context(), &script{answers: []any{ended("succeeded", 0, mcp.LogLine{Stream: "stdout", Text: "hello"})}}, follow.Options{JSON: true})
	if !strings.HasPrefix(stdout, "{") || strings.Contains(stdout, "hello") || stderr != "hello\n" {
		t.Errorf("standard output %q, standard error %q", stdout, stderr)
	}
}

func TestPrinter(t *testing.T) {
	t.Parallel()
	raw := "\x1b[2J\xff\x1b[31mred"
	line := func(stream, service, text string, partial bool) mcp.LogLine {
		return mcp.LogLine{Stream: stream, Service: service, Text: text, Partial: partial}
	}
	bytesOf := mcp.LogLine{Stream: "stdout", Text: "?", Base64: base64.StdEncoding.EncodeToString([]byte(raw))}
	for name, tc := range map[string]struct {
		tty      bool
		lines    []mcp.LogLine
		out, err string
	}{
		"a pipe gets the bytes": {false, []mcp.LogLine{bytesOf}, raw + "\n", ""},
		"a terminal does not":   {true, []mcp.LogLine{bytesOf}, "�[2J�\x1b[31mred\x1b[0m\n", ""},
		"streams stay apart": {false, []mcp.LogLine{line("stdout", "", "a", false), line("stderr", "", "b", false), line("stdout", "db", "c", false), line("system", "", "d", false)},
			"a\n", "b\ndb | c\n# d\n"},
		"pieces of a line": {false, []mcp.LogLine{line("stdout", "", "a", true), line("stderr", "db", "x", true), line("stdout", "", "b", false), line("stderr", "db", "y", false)},
			"ab\n", "db | xy\n"},
		"pieces of two lines in one place": {false, []mcp.LogLine{line("stderr", "db", "x", true), line("stderr", "", "b", false), line("stderr", "db", "y", false)},
			"", "db | x\nb\ndb | y\n"},
	} {
		var out, errs bytes.Buffer
		p := &follow.Printer{IO: &iostreams.IOStreams{Out: &out, Err: &errs, OutTTY: tc.tty, Color: true}}
		for _, l := range tc.lines {
			if err := p.Print(l); err != nil {
				t.Fatal(err)
			}
		}
		if out.String() != tc.out || errs.String() != tc.err {
			t.Errorf("%s: standard output %q, want %q; standard error %q, want %q", name, &out, tc.out, &errs, tc.err)
		}
	}
	bad := (&follow.Printer{IO: &iostreams.IOStreams{}}).Print(mcp.LogLine{Base64: "%"})
	if bad == nil || errors.Is(bad, context.Canceled) {
		t.Errorf("bad base64: %v", bad)
	}
}
