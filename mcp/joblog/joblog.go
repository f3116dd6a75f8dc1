// Package joblog is the format of a job's log: text, one record a line.
//
//	2026-01-02T15:04:05.000000001Z stdout F job/unit%20tests ok  	example.org/x	0.2s
//	└ time (RFC 3339, UTC)         │      │ │                └ payload: any bytes but a line feed
//	                               │      │ └ source: job, job/STEP, svc/NAME, or - for the runner itself
//	                               │      └ F: the line is complete; P: a piece, the line goes on
//	                               └ stdout, stderr or system
//
// Fields are separated by one space. A payload keeps its bytes whatever their
// encoding. What a process wrote is the payloads of one stream and source put
// together, with a line feed after each F. Names in a source are escaped as in the path of a URL.
//
// Why text and lines: any run of bytes that starts at a line start can be read,
// so a hub that keeps a log's head and tail and drops its middle needs no index, a
// reader can start anywhere, and a person can read the raw file. A line
// that is no record is shown as what it is, as text of the system stream.
package joblog

import (
	"bytes"
	"net/url"
	"strings"
	"time"
)

// MaxPayload is the most bytes of a record's payload; Append splits longer ones.
const MaxPayload = 16 << 10

// Stream is what a record was written to.
type Stream string

// The streams.
const (
	Stdout Stream = "stdout"
	Stderr Stream = "stderr"
	System Stream = "system" // the runner's or hub's own words
)

// Source is which container a record comes from, and in a job's which step. The
// zero Source is the runner itself.
type Source struct {
	Job     bool   // the job container
	Step    string // of the job, may be empty
	Service string // a service's name
}

// Record is one line of a log, or a piece of one.
type Record struct {
	Time    time.Time
	Stream  Stream
	Source  Source
	Partial bool // the line goes on in the next record of this stream and source
	Payload []byte
}

// Append appends r in the log's form to dst. A payload over MaxPayload becomes
// several records, and one with line feeds several lines, so that what is
// appended is always well formed.
func Append(dst []byte, r Record) []byte {
	for {
		line, rest, more := bytes.Cut(r.Payload, []byte{'\n'})
		for len(line) > MaxPayload {
			dst = appendOne(dst, r, line[:MaxPayload], true)
			line = line[MaxPayload:]
		}
		dst = appendOne(dst, r, line, r.Partial && !more)
		if !more {
			return dst
		}
		r.Payload = rest
	}
}

func appendOne(dst []byte, r Record, payload []byte, partial bool) []byte {
	dst = r.Time.UTC().AppendFormat(dst, time.RFC3339Nano)
	dst = append(dst, ' ')
	switch r.Stream {
	case Stdout, Stderr:
		dst = append(dst, r.Stream...)
	default:
		dst = append(dst, System...)
	}
	if partial {
		dst = append(dst, " P "...)
	} else {
		dst = append(dst, " F "...)
	}
	dst = append(dst, r.Source.String()...)
	dst = append(dst, ' ')
	dst = append(dst, payload...)
	return append(dst, '\n')
}

// String is the source as it stands in a log.
func (s Source) String() string {
	switch {
	case s.Service != "":
		return "svc/" + url.PathEscape(s.Service)
	case s.Step != "":
		return "job/" + url.PathEscape(s.Step)
	case s.Job:
		return "job"
	default:
		return "-"
	}
}

func parseSource(s string) (Source, bool) {
	switch s {
	case "job":
		return Source{Job: true}, true
	case "-":
		return Source{}, true
	}
	kind, escaped, _ := strings.Cut(s, "/")
	name, err := url.PathUnescape(escaped)
	if err != nil || name == "" {
		return Source{}, false
	}
	switch kind {
	case "job":
		return Source{Job: true, Step: name}, true
	case "svc":
		return Source{Service: name}, true
	}
	return Source{}, false
}

// ParseLine reads one line without its line feed. Payload is a part of line. It
// is false for a line that Append would not have written.
func ParseLine(line []byte) (Record, bool) {
	var field [4][]byte
	rest := line
	for i := range field {
		var ok bool
		if field[i], rest, ok = bytes.Cut(rest, []byte{' '}); !ok {
			return Record{}, false
		}
	}
	t, err := time.Parse(time.RFC3339Nano, string(field[0]))
	if err != nil {
		return Record{}, false
	}
	r := Record{Time: t.UTC(), Stream: Stream(field[1]), Payload: rest}
	if r.Stream != Stdout && r.Stream != Stderr && r.Stream != System {
		return Record{}, false
	}
	switch string(field[2]) {
	case "P":
		r.Partial = true
	case "F":
	default:
		return Record{}, false
	}
	var ok bool
	r.Source, ok = parseSource(string(field[3]))
	return r, ok
}
