package topologytest

import (
	"fmt"
	"path"
	"strings"
)

// The scripts of the contract suite. A real engine runs them in a shell; a Fake
// runs the functions below.
const (
	scriptSpeak  = `echo out; echo err >&2; echo "$GREETING"; exit 3`
	scriptWait   = `trap 'echo bye; exit 7' TERM; echo ready; while :; do sleep 0.05; done`
	scriptHold   = `trap '' HUP INT TERM; read -r _` // what holds a job container open for its steps
	scriptTrue   = `exit 0`
	scriptRead   = `cat; basename "$(pwd)"`
	scriptSleep  = `echo ready; exec sleep 1000`
	scriptWrite  = `i=0; while [ $i -lt 2000 ]; do echo "line $i of a text that fills buffers"; i=$((i+1)); done; printf end`
	scriptAppend = `test "$(cat /workspace/tree/in)" = given && test -x /workspace/tree/in && mkdir /workspace/out && echo made > /workspace/out/file && ln -s file /workspace/out/link && echo done`
	scriptEcho   = `while read -r x; do echo "got $x"; [ "$x" != end ] || { printf '\377\000no line'; echo over >&2; exit 4; }; done`
	scriptHost   = `hostname`
	scriptDirUse = `echo hello > /workspace/file && echo written`
)

var contractPrograms = map[string]Program{
	scriptSpeak: func(p *FakeProcess) int {
		_, _ = fmt.Fprintln(p.Stdout, "out")
		_, _ = fmt.Fprintln(p.Stderr, "err")
		_, _ = fmt.Fprintln(p.Stdout, value(p.Env, "GREETING"))
		return 3
	},
	scriptWait: func(p *FakeProcess) int {
		_, _ = fmt.Fprintln(p.Stdout, "ready")
		for {
			select {
			case <-p.Killed:
				return 137
			case s := <-p.Signals:
				if s == "SIGTERM" {
					_, _ = fmt.Fprintln(p.Stdout, "bye")
					return 7
				}
			}
		}
	},
	scriptHold: func(p *FakeProcess) int {
		<-p.Killed
		return 137
	},
	scriptTrue: func(*FakeProcess) int { return 0 },
	scriptRead: func(p *FakeProcess) int {
		_, _ = fmt.Fprintf(p.Stdout, "%s%s\n", p.Given, path.Base(p.Dir))
		return 0
	},
	scriptSleep: func(p *FakeProcess) int {
		_, _ = fmt.Fprintln(p.Stdout, "ready")
		select {
		case <-p.Killed:
			return 137
		case <-p.Signals:
			return 143
		}
	},
	scriptWrite: func(p *FakeProcess) int {
		_, _ = p.Stdout.Write([]byte(longText()))
		return 0
	},
	scriptAppend: func(p *FakeProcess) int {
		if in, present := p.File("/workspace/tree/in"); !present || string(in.Data) != "given" || in.Header.Mode&0o100 == 0 {
			return 1
		}
		p.WriteFile("/workspace/out/file", []byte("made\n"))
		p.Symlink("file", "/workspace/out/link")
		_, _ = fmt.Fprintln(p.Stdout, "done")
		return 0
	},
	scriptEcho: func(p *FakeProcess) int {
		for {
			select {
			case data := <-p.Stdin:
				for line := range strings.Lines(string(data)) {
					_, _ = fmt.Fprintf(p.Stdout, "got %s", line)
					if line == "end\n" {
						_, _ = fmt.Fprint(p.Stdout, "\xff\x00no line")
						_, _ = fmt.Fprintln(p.Stderr, "over")
						return 4
					}
				}
			case <-p.Killed:
				return 137
			}
		}
	},
	scriptHost: func(p *FakeProcess) int {
		_, _ = fmt.Fprintln(p.Stdout, p.container.spec.Hostname)
		return 0
	},
	scriptDirUse: func(p *FakeProcess) int {
		_, _ = fmt.Fprintln(p.Stdout, "written")
		return 0
	},
}

// longText is what scriptWrite writes.
func longText() string {
	var b strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&b, "line %d of a text that fills buffers\n", i)
	}
	return b.String() + "end"
}

func value(env []string, key string) string {
	found := ""
	for _, kv := range env {
		if k, v, _ := strings.Cut(kv, "="); k == key {
			found = v
		}
	}
	return found
}
