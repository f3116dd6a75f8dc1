package topologytest

import (
	"strings"

	"github.com/runnerhub/runnerhub/topology"
)

// testAttach has a second listener take over from a first one in the middle of a
// line, and a third one hear it all when the process has ended.
func testAttach(l *lab) {
	name := l.create(scriptEcho, func(c *topology.ContainerSpec) { c.OpenStdin, c.Init = true, true })
	_, err := l.engine.Attach(l.Context(), name, topology.Offsets{}, nil)
	l.wantKind("before the start", err, topology.KindNotRunning)
	first, early := l.start(name)
	l.write(first, "one\n")
	early.await(l, "got one\n")
	first.Close()

	taken := "got o"
	from := topology.Offsets{Stdout: topology.Offset{Bytes: int64(len(taken)), Tail: []byte(taken)}}
	late := newText()
	second, err := l.engine.Attach(l.Context(), name, from, late.write)
	l.must(err)
	l.Cleanup(second.Close)
	l.write(second, "two\n")
	late.await(l, "two\n")
	l.write(second, "end\n")
	if exit := l.wait(second); exit.Code != 4 {
		l.Errorf("exit %+v", exit)
	}
	if got := late.of(topology.Stdout); got != "ne\ngot two\ngot end\n\xff\x00no line" || late.of(topology.Stderr) != "over\n" {
		l.Errorf("stdout %q, stderr %q", got, late.of(topology.Stderr))
	}

	whole := newText()
	third, err := l.engine.Attach(l.Context(), name, topology.Offsets{}, whole.write)
	l.must(err)
	l.Cleanup(third.Close)
	if exit := l.wait(third); exit.Code != 4 {
		l.Errorf("exit after the end %+v", exit)
	}
	if got := whole.of(topology.Stdout); got != "got one\ngot two\ngot end\n\xff\x00no line" {
		l.Errorf("stdout after the end %q", got)
	}
}

func testStdin(l *lab) {
	name := l.create(scriptEcho, func(c *topology.ContainerSpec) { c.OpenStdin, c.Init = true, true })
	process, out := l.start(name)
	l.write(process, "a\nb\n")
	l.write(process, "end\n")
	if exit := l.wait(process); exit.Code != 4 {
		l.Errorf("exit %+v", exit)
	}
	if got := out.of(topology.Stdout); !strings.HasPrefix(got, "got a\ngot b\ngot end\n") {
		l.Errorf("stdout %q", got)
	}
}

func (l *lab) write(p topology.Process, words string) {
	l.Helper()
	_, err := p.Write([]byte(words))
	l.must(err)
}

// testSubnets makes networks of given addresses, which no two can have.
func testSubnets(l *lab) {
	create := func(name, subnet string) error {
		return l.engine.CreateNetwork(l.Context(), topology.NetworkSpec{
			Name: name + l.tag, Subnet: subnet, Labels: l.id.Labels(topology.RoleNetwork),
		})
	}
	// Of a range that is for documentation, so that nobody else has it.
	l.must(create("rh-contract-a-", "203.0.113.64/27"))
	l.wantKind("the same addresses", create("rh-contract-b-", "203.0.113.64/27"), topology.KindBusy)
	l.wantKind("some of them", create("rh-contract-c-", "203.0.113.64/26"), topology.KindBusy)
	l.must(create("rh-contract-d-", "203.0.113.96/27"))
}
