package topologytest

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/runnerhub/runnerhub/topology"
)

// TestEngine is the contract of topology.Engine as a suite. open returns an engine
// to test; image names an image that it has, with a shell as /bin/sh, no ENTRYPOINT
// and the superuser for a user. Every resource that it makes is gone at its end. except names
// tests of what the engine does not have.
func TestEngine(t *testing.T, image string, open func(t *testing.T) topology.Engine, except ...string) {
	tests := map[string]func(*lab){
		"info":                     testInfo,
		"images":                   testImages,
		"resources":                testResources,
		"sets":                     testSets,
		"a shared network":         testSharedNetwork,
		"output and exit code":     testOutput,
		"long output to its end":   testLongOutput,
		"a program that is absent": testNoProgram,
		"attaching again":          testAttach,
		"standard input":           testStdin,
		"subnets":                  testSubnets,
		"exec":                     testExec,
		"signals":                  testSignals,
		"signals to execs":         testSignalAll,
		"removal ends a container": testRemoval,
		"directory for all users":  testOpenDir,
		"files in and out":         testCopy,
		"contexts":                 testContexts,
		"builds":                   testBuild,
		"disk":                     testDisk,
	}
	for _, name := range except {
		if tests[name] == nil {
			t.Errorf("the contract has no test %q", name)
		}
		delete(tests, name)
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			engine := open(t)
			tag := NewTestTag()
			l := &lab{T: t, engine: engine, image: image, id: topology.Identity{
				Hub: "contract-" + tag, Runner: "rnr-" + tag, Job: "job_" + tag, Attempt: 2, Epoch: 5,
			}, tag: tag}
			t.Cleanup(func() {
				l.clean()
				if err := engine.Close(); err != nil {
					t.Errorf("close: %v", err)
				}
			})
			test(l)
		})
	}
}

// NewTestTag returns a word that keeps a test's resources apart from others'.
func NewTestTag() string { return topology.NewTag() }

// lab is one test's bench.
type lab struct {
	*testing.T
	engine topology.Engine
	image  string
	id     topology.Identity
	tag    string
}

// clean removes everything of the test's.
func (l *lab) clean() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for range 3 {
		seen, err := l.engine.Observe(ctx, topology.Filter{Hub: l.id.Hub})
		if err != nil {
			l.Errorf("observe: %v", err)
			return
		}
		if seen.Count().Total() == 0 {
			return
		}
		_ = topology.Execute(ctx, topology.PlanRemoval(seen, "test"), 1, true, func(ctx context.Context, op topology.Op) error {
			switch op.Kind {
			case topology.OpRemoveContainer:
				return l.engine.RemoveContainer(ctx, op.Target)
			case topology.OpRemoveNetwork:
				return l.engine.RemoveNetwork(ctx, op.Target)
			}
			return l.engine.RemoveVolume(ctx, op.Target)
		})
	}
	l.Errorf("resources of the test could not be removed")
}

func (l *lab) must(err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}

// wantKind fails the test unless err is of that kind.
func (l *lab) wantKind(what string, err error, kind topology.ErrorKind) {
	l.Helper()
	if got := topology.KindOf(err); got != kind {
		l.Errorf("%s: kind %q (%v), want %q", what, got, err, kind)
	}
}

// create makes a container that runs a script, and returns its name.
func (l *lab) create(script string, change func(*topology.ContainerSpec)) string {
	l.Helper()
	spec := topology.ContainerSpec{
		Name: "rh-contract-" + l.tag, Image: l.image, Command: []string{"/bin/sh", "-c", script},
		Labels: l.id.Labels(topology.RoleJob),
	}
	if change != nil {
		change(&spec)
	}
	l.must(l.engine.CreateContainer(l.Context(), spec))
	return spec.Name
}

// start starts a container and collects what it writes.
func (l *lab) start(name string) (topology.Process, *text) {
	l.Helper()
	out := newText()
	process, err := l.engine.Start(l.Context(), name, out.write)
	l.must(err)
	l.Cleanup(process.Close)
	return process, out
}

func (l *lab) wait(p topology.Process) topology.Exit {
	l.Helper()
	exit, err := p.Wait(l.Context())
	l.must(err)
	return exit
}

// text collects output.
type text struct {
	mu     sync.Mutex
	byName map[topology.Stream]*strings.Builder
	more   chan struct{}
}

func newText() *text {
	return &text{byName: map[topology.Stream]*strings.Builder{topology.Stdout: {}, topology.Stderr: {}}, more: make(chan struct{}, 1)}
}

func (t *text) write(s topology.Stream, data []byte) {
	t.mu.Lock()
	t.byName[s].Write(data)
	t.mu.Unlock()
	select {
	case t.more <- struct{}{}:
	default:
	}
}

func (t *text) of(s topology.Stream) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.byName[s].String()
}

// await waits until stdout contains words.
func (t *text) await(l *lab, words string) {
	l.Helper()
	limit := time.After(time.Minute)
	for !strings.Contains(t.of(topology.Stdout), words) {
		select {
		case <-t.more:
		case <-limit:
			l.Fatalf("%q was not written; stdout is %q", words, t.of(topology.Stdout))
		}
	}
}
