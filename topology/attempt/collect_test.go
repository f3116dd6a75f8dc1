package attempt

import (
	"context"
	"crypto/sha256"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/topologytest"
)

// leave adds a program that writes files into the workspace, by their paths there or absolute ones, and ends with code.
func (b *bench) leave(name string, code int, files map[string]string) {
	b.fake.AddProgram(name, func(p *topologytest.FakeProcess) int {
		for at, text := range files {
			if !filepath.IsAbs(at) {
				at = "/workspace/" + at
			}
			p.WriteFile(at, []byte(text))
		}
		return code
	})
}

// collect runs a job whose artifacts go to a folder of the test's.
func (b *bench) collect(ctx context.Context, spec *topology.Spec, c topology.Collect) topology.Result {
	spec.Image = topologytest.FakeImage
	if c.Dir == "" {
		c.Dir = filepath.Join(b.TempDir(), "artifacts")
	}
	return b.exec.Run(ctx, topology.Work{Identity: id, Spec: spec, Collect: &c}, b.obs)
}

// kept reads what was kept, by path, and holds sizes and digests to it.
func (b *bench) kept(r topology.Result) map[string]string {
	b.Helper()
	out := map[string]string{}
	for _, f := range r.Artifacts {
		data, err := os.ReadFile(f.File)
		if err != nil {
			b.Error(err)
		}
		if sum := sha256.Sum256(data); string(sum[:]) != string(f.SHA256) || f.Size != int64(len(data)) {
			b.Errorf("%s has %d bytes, not %d, or another digest", f.Path, len(data), f.Size)
		}
		out[f.Name+": "+f.Path] = string(data)
	}
	return out
}

var outFiles = map[string]string{
	"out/a.xml": "<testsuite><testcase name='one'/></testsuite>", "out/sub/b.xml": "b", "out/c.txt": "c",
	"dist/bin/tool": "tool", "other": "other", "größe x": "ü",
}

func TestArtifactsAreKept(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.leave("write", 0, outFiles)
		r := b.collect(b.Context(), &topology.Spec{Command: command("write"), Artifacts: []topology.Artifact{
			{Name: "reports", Path: "out/**/*.xml"}, {Name: "dist", Path: "dist"}, {Name: "all of it", Path: "out/*"},
			{Name: "odd", Path: "größe *"}, {Name: "none", Path: "none/*", Optional: true},
		}}, topology.Collect{})
		b.want(r, "succeeded")
		want := map[string]string{
			"reports: out/a.xml": outFiles["out/a.xml"], "reports: out/sub/b.xml": "b", "all of it: out/c.txt": "c",
			"dist: dist/bin/tool": "tool", "odd: größe x": "ü",
		}
		if diff := cmp.Diff(want, b.kept(r)); diff != "" {
			b.Error(diff)
		}
	})
}

func TestArtifactsOfAJobThatFailed(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.leave("write", 3, outFiles)
		r := b.collect(b.Context(), &topology.Spec{Steps: []topology.Step{{Name: "a", Run: "write"}}, Artifacts: []topology.Artifact{
			{Name: "out", Path: "out/c.txt"}, {Name: "none", Path: "none"}, // the name of an entry that has none is its path
		}}, topology.Collect{})
		b.want(r, "failed script") // the first cause stays
		if diff := cmp.Diff(map[string]string{"out: out/c.txt": "c"}, b.kept(r)); diff != "" {
			b.Error(diff)
		}
		if !strings.Contains(b.obs.Text(topology.System, ""), "No file matches the artifact none.\n") {
			b.Error("the log does not tell what is missing")
		}
	})
}

func TestArtifactsThatCannotBeKept(t *testing.T) {
	for name, tt := range map[string]struct {
		artifact string
		collect  topology.Collect
		prepare  func(*bench)
		message  string
	}{
		"missing":    {artifact: "none/*.xml", message: "No file matches the artifact n (none/*.xml)."},
		"many files": {artifact: "out/*", collect: topology.Collect{MaxFiles: 1}, message: "more than 1 files"},
		"many bytes": {artifact: "out/**", collect: topology.Collect{MaxBytes: 40}, message: "more than 40 bytes together"},
		"a bad name": {artifact: "a\nb", prepare: func(b *bench) { b.leave("write", 0, map[string]string{"a\nb": "x"}) }, message: "cannot be that of an artifact"},
		"a link": {artifact: "link", prepare: func(b *bench) {
			b.fake.AddProgram("write", func(p *topologytest.FakeProcess) int { p.Symlink("/etc/passwd", "/workspace/link"); return 0 })
		}, message: "No file matches the artifact n (link)."},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *bench) {
				b.leave("write", 0, outFiles)
				if tt.prepare != nil {
					tt.prepare(b)
				}
				r := b.collect(b.Context(), &topology.Spec{Command: command("write"), Artifacts: []topology.Artifact{{Name: "n", Path: tt.artifact}}}, tt.collect)
				b.want(r, "failed artifact")
				if r.Failure == nil || !strings.Contains(r.Failure.Message, "The job succeeded") || !strings.Contains(r.Failure.Message, tt.message) {
					b.Errorf("the failure is %+v", r.Failure)
				}
				if *r.ExitCode != 0 {
					b.Errorf("the exit code is %d", *r.ExitCode)
				}
			})
		})
	}
}

func TestNothingIsCollectedOfACanceledJob(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.fake.AddProgram("write", func(p *topologytest.FakeProcess) int {
			p.WriteFile("/workspace/a", []byte("x"))
			<-p.Signals
			return 143
		})
		spec := &topology.Spec{Command: command("write"), Artifacts: []topology.Artifact{{Name: "a", Path: "a"}}}
		r := b.collect(b.endAfter(time.Second, topology.ErrCanceled), spec, topology.Collect{})
		b.want(r, "canceled canceled SIGTERM")
		if len(r.Artifacts) != 0 {
			b.Errorf("%+v", r.Artifacts)
		}
	})
}

func TestFilesOfAJobThatRanOutOfTime(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.fake.AddProgram("write", func(p *topologytest.FakeProcess) int {
			p.WriteFile("/workspace/a", []byte("x"))
			<-p.Signals
			return 143
		})
		r := b.collect(b.Context(), &topology.Spec{
			Command: command("write"), Timeout: topology.Duration(time.Second), Artifacts: []topology.Artifact{{Name: "a", Path: "a"}},
		}, topology.Collect{})
		b.want(r, "timed_out timeout SIGTERM")
		if diff := cmp.Diff(map[string]string{"a: a": "x"}, b.kept(r)); diff != "" {
			b.Error(diff)
		}
	})
}

// Another name of a file is a file, whether the first one is kept, not kept or a report alone.
func TestHardLinksAreFiles(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.fake.AddProgram("write", func(p *topologytest.FakeProcess) int {
			p.WriteFile("/workspace/out/deps/app-123", []byte("app"))
			p.WriteFile("/workspace/out/r.xml", []byte("<testsuite><testcase name='one'/></testsuite>"))
			for _, name := range []string{"out/app", "out/zapp", "zap1", "zap2"} {
				p.Link("/workspace/out/deps/app-123", "/workspace/"+name)
			}
			p.Link("/workspace/out/r.xml", "/workspace/out/s.xml")
			return 0
		})
		r := b.collect(b.Context(), &topology.Spec{Command: command("write"), Artifacts: []topology.Artifact{
			{Name: "out", Path: "out/*pp"}, {Name: "zap", Path: "zap*"},
		}, Reports: topology.Reports{JUnit: []string{"out/*.xml"}}}, topology.Collect{})
		b.want(r, "succeeded")
		want := map[string]string{"out: out/app": "app", "out: out/zapp": "app", "zap: zap1": "app", "zap: zap2": "app"}
		if diff := cmp.Diff(want, b.kept(r)); diff != "" {
			b.Error(diff)
		}
		if r.Tests == nil || r.Tests.Passed != 2 {
			b.Errorf("%+v", r.Tests)
		}
	})
}

// A file that cannot be kept takes no other one with it.
func TestTheOthersAreKept(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.leave("write", 0, map[string]string{"out/a": "a", "out/b\\c": "x", "out/d\ne": "x", "out/large": strings.Repeat("x", 100), "out/z": "z"})
		r := b.collect(b.Context(), &topology.Spec{Command: command("write"), Artifacts: []topology.Artifact{{Name: "n", Path: "out/*"}}}, topology.Collect{MaxBytes: 50})
		b.want(r, "failed artifact")
		if r.Failure == nil || !strings.Contains(r.Failure.Message, `"out/b\\c" cannot be that of an artifact. 2 more could not be kept.`) {
			b.Errorf("%+v", r.Failure)
		}
		if diff := cmp.Diff(map[string]string{"n: out/a": "a", "n: out/z": "z"}, b.kept(r)); diff != "" {
			b.Error(diff)
		}
	})
}

const junitReport = `<?xml version="1.0" encoding="UTF-8"?>
<testsuites>
  <testsuite name="pkg.first" tests="4">
    <testcase name="TestGood" classname="pkg.first" time="0.1"/>
    <testcase name="TestBad" classname="pkg.first"><failure message="no">a &lt; b</failure></testcase>
    <testcase name="TestWorse"><error/></testcase>
    <testcase name="TestLater"><skipped message="later"/></testcase>
    <testsuite name="inner"><testcase name="TestDeep"><system-out>out</system-out></testcase></testsuite>
  </testsuite>
  <testsuite name="second"><testcase name="TestLast"/></testsuite>
</testsuites>`

func TestReportsAreCounted(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.leave("write", 1, map[string]string{"out/a.xml": junitReport, "out/b.xml": "<testsuite><testcase name='cut'/>", "out/c.xml": "not XML", "d.xml": "<html/>"})
		r := b.collect(b.Context(), &topology.Spec{
			Command: command("write"), Artifacts: []topology.Artifact{{Name: "a", Path: "out/a.xml"}},
			Reports: topology.Reports{JUnit: []string{"out/*.xml", "*.xml"}},
		}, topology.Collect{})
		b.want(r, "failed script")
		want := &topology.Tests{Passed: 4, Failed: 2, Skipped: 1, Failing: []string{"pkg.first.TestBad", "pkg.first.TestWorse"}, Unread: 3}
		want.Failures = []topology.TestFailure{{Name: "pkg.first.TestBad", Message: "no\na < b"}}
		if diff := cmp.Diff(want, r.Tests); diff != "" {
			b.Error(diff)
		}
		if len(b.kept(r)) != 1 {
			b.Errorf("%+v", r.Artifacts)
		}
	})
}

func TestNoReport(t *testing.T) {
	inBubble(t, func(b *bench) {
		r := b.collect(b.Context(), &topology.Spec{Command: command("ok"), Reports: topology.Reports{JUnit: []string{"out/*.xml"}}}, topology.Collect{})
		b.want(r, "succeeded")
		if r.Tests != nil || !strings.Contains(b.obs.Text(topology.System, ""), "no report that matches out/*.xml") {
			b.Errorf("%+v, %q", r.Tests, b.obs.Text(topology.System, ""))
		}
	})
}

func TestOutputs(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		want map[string]string
		err  string
	}{
		"nothing":           {"\n \n", nil, ""},
		"lines":             {"A=1\nb.c-d=x=y\nEMPTY=\nA=2", map[string]string{"A": "2", "b.c-d": "x=y", "EMPTY": ""}, ""},
		"Windows's lines":   {"A=1\r\nB=2\r\n", map[string]string{"A": "1", "B": "2"}, ""},
		"several lines":     {"A<<END\none\n\n two=2\nEND\nB=<<x", map[string]string{"A": "one\n\n two=2", "B": "<<x"}, ""},
		"an empty value":    {"A<<E\nE\n", map[string]string{"A": ""}, ""},
		"no end":            {"B=1\nA<<END\none\n", nil, "The output A of line 2 has no end."},
		"no word":           {"A<<\none\n", nil, "Line 1 of the job's outputs has no word behind <<."},
		"no output":         {"A=1\nhello", nil, `Line 2 of the job's outputs is no output: "hello".`},
		"no name":           {"=1", nil, `Line 1 of the job's outputs is no output: "=1".`},
		"one angle":         {"A<B=1", nil, `Line 1 of the job's outputs is no output: "A<B=1".`},
		"a number as name":  {"1A=1", nil, `Line 1 of the job's outputs is no output: "1A=1".`},
		"bytes":             {"A=\xff", nil, "The job's outputs are not text in UTF-8."},
		"too much":          {"A=" + strings.Repeat("x", maxOutputs), nil, "The job's outputs have 65538 bytes and may have 65536."},
		"as much as may be": {"A=" + strings.Repeat("x", maxOutputs-2), map[string]string{"A": strings.Repeat("x", maxOutputs-2)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *bench) {
				b.leave("write", 0, map[string]string{topology.OutputFile: tt.text})
				r := b.collect(b.Context(), &topology.Spec{Command: command("write")}, topology.Collect{})
				if tt.err != "" {
					b.want(r, "failed artifact")
					if r.Failure == nil || !strings.HasSuffix(r.Failure.Message, tt.err) {
						b.Errorf("got %+v, want %q", r.Failure, tt.err)
					}
					return
				}
				b.want(r, "succeeded")
				if !maps.Equal(r.Outputs, tt.want) {
					b.Errorf("got %v", r.Outputs)
				}
			})
		})
	}
}

// An engine that breaks off while it hands over files fails the job as an engine does.
func TestTheEngineFailsWhileItCollects(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.leave("write", 0, outFiles)
		b.fake.FailNext("CopyFrom", &topology.EngineError{Kind: topology.KindUnavailable, Op: "copy", Err: errors.New("it is gone")})
		r := b.collect(b.Context(), &topology.Spec{Command: command("write"), Artifacts: []topology.Artifact{{Name: "a", Path: "out"}}}, topology.Collect{})
		b.want(r, "failed docker_unavailable")
	})
}
