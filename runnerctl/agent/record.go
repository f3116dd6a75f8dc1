package agent

import (
	"bytes"

	"github.com/runnerhub/runnerhub/mcp/joblog"
	"github.com/runnerhub/runnerhub/topology"
)

// appendRecord appends r to dst as lines of the job's log. What the process wrote
// can be put together again from it byte by byte.
func appendRecord(dst []byte, r topology.Record) []byte {
	if len(r.Data) == 0 {
		return dst
	}
	j := joblog.Record{Time: r.Time, Stream: streamOf(r.Stream), Source: sourceOf(r)}
	// A record's line feed is implied by its not being partial, so the last one is not part of the payload.
	j.Payload, j.Partial = bytes.CutSuffix(r.Data, []byte{'\n'})
	j.Partial = !j.Partial
	return joblog.Append(dst, j)
}

func streamOf(s topology.Stream) joblog.Stream {
	switch s {
	case topology.Stdout:
		return joblog.Stdout
	case topology.Stderr:
		return joblog.Stderr
	default:
		return joblog.System
	}
}

// sourceOf is the container that r is from or about; the zero source is the runner.
func sourceOf(r topology.Record) joblog.Source {
	switch {
	case r.Service != "":
		return joblog.Source{Service: r.Service}
	case r.Step != "" || r.Stream != topology.System:
		return joblog.Source{Job: true, Step: r.Step}
	default:
		return joblog.Source{}
	}
}
