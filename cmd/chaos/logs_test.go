//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"

	"github.com/runnerhub/runnerhub/hub/blobstore"
	"github.com/runnerhub/runnerhub/mcp/joblog"
	"github.com/runnerhub/runnerhub/topology"
)

// logBytes compares the log of each settling attempt with what its runner has emitted, in the bucket and as people
// read it.
func (v *verdict) logBytes(ctx context.Context, accepted map[string]plan) {
	bucket, err := blobstore.Open(ctx, v.path("blobs", "logs"))
	if err != nil {
		v.Fatal(err)
	}
	defer bucket.Close()
	for id, p := range accepted {
		r := v.records[id]
		if r == nil || len(r.Attempts) == 0 || r.State != p.outcome() {
			continue // told of already, or failed by its machine, which adds a line of its own
		}
		wrong := func(format string, args ...any) { v.breach(promiseLog, id, fmt.Sprintf(format, args...)) }
		a := r.Attempts[len(r.Attempts)-1]
		if a.State == "lost" || a.State == "released" {
			continue // canceled while its runner was gone: it has emitted to nobody
		}
		// Of a canceled job whose runner was killed over it the machine tells when it is back, and not how much was emitted.
		reported := a.Reported && (a.State != "failed" || r.State != "canceled")
		var stored []byte
		for _, c := range r.Chunks[a.Number] {
			data, err := bucket.Get(ctx, c.key)
			if err != nil || int64(len(data)) != c.size || c.start != int64(len(stored)) {
				wrong("the chunk at %d (after %d bytes) has %d bytes and should have %d: %v", c.start, len(stored), len(data), c.size, err)
				break
			}
			stored = append(stored, data...)
		}
		if res := r.Results[a.Number]; int64(len(stored)) != a.LogSize || (reported && res.LogBytes != a.LogSize) {
			wrong("%d bytes are stored, the attempt has %d, its report says %d", len(stored), a.LogSize, res.LogBytes)
		}
		all := p.lines(a.Number)
		// How much of a plan that was cut short was emitted is in its runner's diary, unless the runner was killed over it.
		if n, told := v.emitted[execution{id, a.Number, a.Epoch}]; !p.whole() && (told || reported) {
			all = all[:n]
		}
		for where, have := range map[string][]topology.Record{"the bucket": parse(stored), "read_job_log": v.logs[id]} {
			want := all
			if n := len(have); !reported && n > 0 && have[n-1].Stream == topology.Stream(joblog.System) {
				have = have[:n-1] // its machine came back and said what had happened
			}
			if !reported && len(have) <= len(want) {
				want = want[:len(have)] // the hub ended it: its runner had stopped sending
			}
			if d := difference(have, want); d != "" {
				wrong("in %s %s", where, d)
			}
		}
	}
}

// parse takes a stored log apart.
func parse(stored []byte) []topology.Record {
	var (
		p   joblog.Parser
		out []topology.Record
	)
	keep := func(e joblog.Entry) bool {
		data := bytes.Clone(e.Payload)
		if !e.Partial {
			data = append(data, '\n')
		}
		out = append(out, topology.Record{Stream: topology.Stream(e.Stream), Data: data})
		return true
	}
	p.Write(stored, keep)
	p.Flush(keep)
	return out
}

// difference says in words where two logs part, "" if nowhere.
func difference(have, want []topology.Record) string {
	for i := range min(len(have), len(want)) {
		if have[i].Stream != want[i].Stream || !bytes.Equal(have[i].Data, want[i].Data) {
			return fmt.Sprintf("line %d is %s %q, want %s %q", i, have[i].Stream, have[i].Data, want[i].Stream, want[i].Data)
		}
	}
	if len(have) != len(want) {
		return fmt.Sprintf("%d lines are there, want %d", len(have), len(want))
	}
	return ""
}
