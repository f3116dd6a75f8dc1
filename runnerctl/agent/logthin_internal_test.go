package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/runnerhub/runnerhub/mcp/joblog"
	"github.com/runnerhub/runnerhub/topology"
)

// Whatever the hub does and whenever the runner is killed: the hub ends up with
// all records in their order, but for runs of them that a line stands for with the
// very number of bytes; the first record and the last are never among them.
func TestLogOverOutages(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.Uint64().Draw(rt, "seed")
		actions := rapid.SliceOfN(rapid.SampledFrom([]string{"write", "write", "send", "send", "lost answer", "outage", "outage", "outage", "kill", "killed while it dropped"}), 1, 100).Draw(rt, "actions")
		var fault any
		synctest.Test(t, func(t *testing.T) {
			defer func() { fault = recover() }()
			d := newLogDrive(t, seed)
			for _, a := range actions {
				d.step(a)
			}
			d.finish()
		})
		if fault != nil {
			rt.Fatal(fault)
		}
	})
}

// logDrive drives a log and knows what was appended to it. It panics with what is wrong, so that rapid can shrink.
type logDrive struct {
	t      *testing.T
	rnd    *rand.Rand
	log    *logSpool
	wrote  []byte // as it was appended
	hub    []byte
	number int
}

func (d *logDrive) failf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

const driveLimit = 16 << 10

func newLogDrive(t *testing.T, seed uint64) *logDrive {
	sp, err := openSpool(t.TempDir(), (*os.File).Write)
	if err != nil {
		t.Fatal(err)
	}
	e := &entry{spool: sp, dir: sp.dir}
	return &logDrive{t: t, rnd: rand.New(rand.NewPCG(seed, 1)), log: newLogSpool(e, driveLimit)}
}

func (d *logDrive) step(action string) {
	switch action {
	case "write":
		d.write(d.rnd.IntN(40))
	case "send":
		for range d.rnd.IntN(10) {
			d.send(true)
		}
	case "lost answer":
		d.send(false)
	case "outage":
		d.log.refused()
		<-time.After(time.Duration(d.rnd.IntN(90)) * time.Second)
		d.write(d.rnd.IntN(300))
	case "kill", "killed while it dropped":
		if action != "kill" {
			d.log.refused()
			<-time.After(outagePatience)
			d.keepDropped(func() { d.write(d.rnd.IntN(300)) })
		}
		d.log.Close()
		var err error
		if d.log, err = reopenLog(d.log.entry, driveLimit); err != nil {
			d.failf("%v", err)
		}
		if got := d.log.Appended(); got != int64(len(d.wrote)) {
			d.failf("after a kill %d bytes were appended, want %d", got, len(d.wrote))
		}
	}
}

// keepDropped puts back what do has removed of the log's files, as if it had not come to that.
func (d *logDrive) keepDropped(do func()) {
	read := func() map[string][]byte {
		names, err := filepath.Glob(d.log.entry.dir + "/log.*")
		if err != nil {
			d.failf("%v", err)
		}
		files := map[string][]byte{}
		for _, name := range names {
			if files[name], err = os.ReadFile(name); err != nil {
				d.failf("%v", err)
			}
		}
		return files
	}
	before := read()
	do()
	after := read()
	for name, b := range before {
		if _, there := after[name]; there {
			continue
		}
		if err := os.WriteFile(name, b, 0o600); err != nil {
			d.failf("%v", err)
		}
	}
}

// write appends up to n records, as long as there is room.
func (d *logDrive) write(n int) {
	for range n {
		ctx, cancel := context.WithTimeout(d.t.Context(), time.Millisecond)
		r := topology.Record{Time: time.Now(), Stream: topology.Stdout, Data: fmt.Appendf(nil, "%d %s\n", d.number, strings.Repeat("x", d.rnd.IntN(200)))}
		err := d.log.Append(ctx, r)
		cancel()
		if errors.Is(err, context.DeadlineExceeded) {
			return
		}
		if err != nil {
			d.failf("%v", err)
		}
		d.wrote = appendRecord(d.wrote, r)
		d.number++
		if end, unsent := d.log.Size(); unsent > driveLimit+1024 || end > int64(len(d.wrote))+1024 {
			d.failf("%d bytes wait, of %d", unsent, end)
		}
	}
}

// send brings a chunk to the hub, and the answer back.
func (d *logDrive) send(answered bool) {
	if _, unsent := d.log.Size(); unsent == 0 {
		return
	}
	buf := make([]byte, 1+d.rnd.IntN(4<<10))
	if len(buf) < 512 {
		buf = make([]byte, 512) // a chunk has room for a record
	}
	b, offset, err := d.log.chunk(buf)
	if err != nil {
		d.failf("%v", err)
	}
	if offset > int64(len(d.hub)) {
		d.failf("a chunk at %d, the hub has %d bytes", offset, len(d.hub))
	}
	if offset == int64(len(d.hub)) {
		d.hub = append(d.hub, b...)
	}
	if !answered {
		d.log.refused()
		return
	}
	if err := d.log.acked(int64(len(d.hub))); err != nil {
		d.failf("%v", err)
	}
}

// finish has everything sent and compares.
func (d *logDrive) finish() {
	d.log.Close()
	for _, unsent := d.log.Size(); unsent > 0; _, unsent = d.log.Size() {
		d.send(true)
	}
	rest, notes := d.wrote, 0
	for line := range bytes.Lines(d.hub) {
		var n int
		if r, ok := joblog.ParseLine(bytes.TrimSuffix(line, []byte{'\n'})); ok && r.Stream == joblog.System {
			if _, err := fmt.Sscanf(string(r.Payload), "%d bytes of the log are missing here", &n); err != nil {
				d.failf("a line of nobody's: %q", line)
			}
			if notes++; len(rest) == len(d.wrote) || n >= len(rest) {
				d.failf("%d bytes dropped of %d at %d: the beginning or the end", n, len(d.wrote), len(d.wrote)-len(rest))
			}
			rest = rest[n:]
			continue
		}
		if !bytes.HasPrefix(rest, line) {
			d.failf("the hub has %q where %q was written", line, rest[:min(len(rest), len(line))])
		}
		rest = rest[len(line):]
	}
	if len(rest) > 0 {
		d.failf("%d bytes are missing at the end", len(rest))
	}
}
