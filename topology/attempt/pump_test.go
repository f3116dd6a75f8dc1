package attempt

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/topologytest"
)

func noFailure(t *testing.T) func(error) {
	return func(err error) { t.Errorf("the log failed: %v", err) }
}

func TestPumpKeepsEveryByteInOrder(t *testing.T) {
	t.Parallel()
	obs := &topologytest.Observer{}
	p := newPump(obs, "db", nil, noFailure(t))
	random := rand.New(rand.NewPCG(1, 2))
	want := map[topology.Stream]*bytes.Buffer{topology.Stdout: {}, topology.Stderr: {}}
	for range 500 {
		data := make([]byte, random.IntN(20000))
		for i := range data {
			data[i] = byte(random.IntN(256)) // any byte, and a newline now and then
		}
		stream := topology.Stdout
		if random.IntN(3) == 0 {
			stream = topology.Stderr
		}
		want[stream].Write(data)
		p.write("", stream, data, 0)
	}
	p.close(false)
	for stream, data := range want {
		if got := obs.Text(stream, "db"); got != data.String() {
			t.Errorf("%s: %d bytes differ from %d", stream, len(got), data.Len())
		}
	}
	for _, r := range obs.Records() {
		if len(r.Data) == 0 || len(r.Data) > recordLimit || r.Service != "db" || r.Time.IsZero() {
			t.Fatalf("record of %d bytes, %+v", len(r.Data), r)
		}
	}
}

func TestPumpRecords(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		obs := &topologytest.Observer{}
		p := newPump(obs, "", nil, noFailure(t))
		texts := func() string {
			synctest.Wait()
			var out []string
			for _, r := range obs.Records() {
				out = append(out, fmt.Sprintf("%s/%s:%q", r.Stream, r.Step, r.Data))
			}
			return strings.Join(out, " ")
		}
		p.write("a", topology.Stdout, []byte("one\ntwo\nthr"), 0)
		if got := texts(); got != `stdout/a:"one\ntwo\n"` {
			t.Error(got)
		}
		p.write("a", topology.Stdout, []byte("ee\n"), 0)
		if got := texts(); got != `stdout/a:"one\ntwo\n" stdout/a:"three\n"` {
			t.Error(got)
		}
		p.write("a", topology.Stderr, []byte("prompt> "), 0)
		time.Sleep(linger) // virtual time
		if got := texts(); !strings.HasSuffix(got, `stderr/a:"prompt> "`) {
			t.Error(got)
		}
		p.write("a", topology.Stdout, []byte("half"), 0)
		p.system("b", "next step")
		p.write("b", topology.Stdout, []byte("rest"), 0)
		p.close(false)
		if got := texts(); !strings.HasSuffix(got, `stdout/a:"half" system/b:"next step\n" stdout/b:"rest"`) {
			t.Error(got)
		}
	})
}

func TestPumpLongLine(t *testing.T) {
	t.Parallel()
	obs := &topologytest.Observer{}
	p := newPump(obs, "", nil, noFailure(t))
	line := strings.Repeat("x", 10<<20) + "\n"
	p.write("", topology.Stdout, []byte(line), 0)
	p.close(false)
	if obs.Text(topology.Stdout, "") != line {
		t.Error("the line differs")
	}
	if n := len(obs.Records()); n != 10<<20/recordLimit+1 {
		t.Errorf("%d records", n)
	}
}

// TestPumpHoldsBack checks that a writer is slowed down to a trickle by an observer
// that stands still, and that nothing is lost.
func TestPumpHoldsBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		open := make(chan struct{})
		obs := &topologytest.Observer{OnLog: func(topology.Record) error { <-open; return nil }}
		p := newPump(obs, "", nil, noFailure(t))
		const total = backlogSoft + 100*tricklePiece
		begin := time.Now()
		p.write("", topology.Stdout, bytes.Repeat([]byte("0123456789abcde\n"), total/16), 0)
		took := time.Since(begin)
		if took < 99*trickleEvery || took > 102*trickleEvery {
			t.Errorf("took %s", took)
		}
		close(open)
		p.close(false)
		if got := len(obs.Text(topology.Stdout, "")); got != total {
			t.Errorf("%d bytes, want %d", got, total)
		}
	})
}

func TestPumpReportsAnObserversError(t *testing.T) {
	t.Parallel()
	full := errors.New("no space left on device")
	var failed []error
	obs := &topologytest.Observer{OnLog: func(topology.Record) error { return full }}
	p := newPump(obs, "", nil, func(err error) { failed = append(failed, err) })
	p.write("", topology.Stdout, bytes.Repeat([]byte("line\n"), 1<<20), 0) // does not block
	p.close(false)
	if len(failed) != 1 || !errors.Is(failed[0], full) {
		t.Errorf("%v", failed)
	}
}

func TestPumpCanBeDropped(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	obs := &topologytest.Observer{OnLog: func(topology.Record) error { <-hold; return nil }}
	p := newPump(obs, "", nil, noFailure(t))
	p.write("", topology.Stdout, []byte("a\nb\n"), 0)
	p.close(true) // does not wait for the observer
	close(hold)
	<-p.done
}

func TestTail(t *testing.T) {
	t.Parallel()
	var tail tail
	for i := range 10000 {
		tail.write(fmt.Appendf(nil, "line %d\r\n\n", i))
	}
	tail.write([]byte("bad \xff byte"))
	if got := strings.Join(tail.lines(3), "|"); got != "line 9998|line 9999|bad � byte" {
		t.Error(got)
	}
	tail.write(bytes.Repeat([]byte("x"), 3*tailBytes))
	if got := tail.lines(1); len(got) != 1 || len(got[0]) > tailBytes {
		t.Errorf("%d lines", len(got))
	}
}
