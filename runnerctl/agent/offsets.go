package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"

	"github.com/runnerhub/runnerhub/topology"
)

// offsetsFile says how far the output of each container is in the log, so that a
// process that takes the attempt up goes on at the very byte. It is written before
// each record, with the log's size behind that record; two files take turns. Whatever moment a process is killed at, one of
// them speaks of the log as it is on disk, and says so by that size.
type offsetsFile struct {
	files [2]*os.File
	turn  int
	at    map[string]topology.Offsets
	buf   bytes.Buffer
}

// slot is the content of one file.
type slot struct {
	LogEnd int64                       `json:"log_end"`
	At     map[string]topology.Offsets `json:"at"` // by service; "" is the job container
}

func (e *entry) offsetsName(i int) string {
	return filepath.Join(e.dir, fmt.Sprintf("offsets.%d", i))
}

// note is told of a record that is about to be written and of the log's size after it.
func (o *offsetsFile) note(e *entry, r topology.Record, logEnd int64) error {
	if r.Offset > 0 {
		at := o.at[r.Service]
		*at.Of(r.Stream) = topology.Offset{Bytes: r.Offset, Tail: bytes.Clone(r.Data[max(0, len(r.Data)-topology.OffsetTail):])}
		at.At = r.Time
		if o.at == nil {
			o.at = map[string]topology.Offsets{}
		}
		o.at[r.Service] = at
	}
	if o.files[o.turn] == nil {
		f, err := os.OpenFile(e.offsetsName(o.turn), os.O_WRONLY|os.O_CREATE, 0o600)
		if err != nil {
			return err
		}
		o.files[o.turn] = f
	}
	// A line: the sum of what follows, and that. What a longer one has left behind it does not count.
	data, err := json.Marshal(slot{LogEnd: logEnd, At: o.at})
	if err != nil {
		return err
	}
	o.buf.Reset()
	fmt.Fprintf(&o.buf, "%08x %s\n", crc32.ChecksumIEEE(data), data)
	_, err = o.files[o.turn].WriteAt(o.buf.Bytes(), 0)
	return err
}

// noted tells that the record is in the log.
func (o *offsetsFile) noted() { o.turn = 1 - o.turn }

func (o *offsetsFile) close() {
	for i, f := range o.files {
		if f != nil {
			_ = f.Close()
			o.files[i] = nil
		}
	}
}

// load takes up what is true of a log of that size, and returns the size that it is
// true of: what is behind it is a part of a record, as a process that is killed while
// it writes leaves it. The file that says so is not the next to be written: until the
// next record is in the log it is still the one.
func (o *offsetsFile) load(e *entry, logEnd int64) int64 {
	best := slot{LogEnd: -1}
	known := false
	for i := range o.files {
		b, err := os.ReadFile(e.offsetsName(i))
		if err != nil {
			continue
		}
		line, _, _ := bytes.Cut(b, []byte{'\n'})
		sum, data, _ := bytes.Cut(line, []byte{' '})
		var s slot
		if string(sum) != fmt.Sprintf("%08x", crc32.ChecksumIEEE(data)) || json.Unmarshal(data, &s) != nil {
			continue
		}
		known = true
		if s.LogEnd <= logEnd && s.LogEnd > best.LogEnd {
			best, o.turn = s, 1-i
		}
	}
	o.at = best.At
	if !known {
		return logEnd
	}
	return max(best.LogEnd, 0)
}
