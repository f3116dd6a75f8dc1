package agent

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/runnerhub/runnerhub/topology"
)

// Each process may be killed between what it says of a record and the record itself,
// and so may the one that comes after it: what is true of the log is never lost.
func TestOffsetsOverManyKills(t *testing.T) {
	t.Parallel()
	for records := range 4 {
		e := &entry{dir: t.TempDir()}
		var size int64
		next := func() topology.Record {
			return topology.Record{Stream: topology.Stdout, Data: []byte("x\n"), Offset: size + 2}
		}
		first := &offsetsFile{}
		for range records {
			if err := first.note(e, next(), size+2); err != nil {
				t.Fatal(err)
			}
			first.noted()
			size += 2
		}
		want := first.at
		for kill := range 3 {
			heir := &offsetsFile{}
			_ = heir.load(e, size)
			if diff := cmp.Diff(want, heir.at); diff != "" {
				t.Errorf("%d records, %d kills: %s", records, kill, diff)
			}
			if err := heir.note(e, next(), size+2); err != nil { // and killed before the record
				t.Fatal(err)
			}
			heir.close()
		}
		first.close()
	}
}

// A record of several lines that was cut off in the middle is not half in the log.
func TestRecordThatWasCutOff(t *testing.T) {
	t.Parallel()
	sp, err := openSpool(t.TempDir(), (*os.File).Write)
	if err != nil {
		t.Fatal(err)
	}
	for _, before := range []int{0, 1, 3} {
		e := &entry{spool: sp, dir: t.TempDir()}
		log := newLogSpool(e, 1<<20)
		var end int64
		add := func() {
			end += 6
			r := topology.Record{Stream: topology.Stdout, Data: []byte("a\nb\nc\n"), Offset: end}
			if err := log.Append(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
		for range before {
			add()
		}
		whole := log.Appended()
		add()
		log.Close()
		file := e.segment(segment{})
		if err := os.Truncate(file, whole+(log.Appended()-whole)*2/3); err != nil { // two lines of three
			t.Fatal(err)
		}
		heir, err := reopenLog(e, 1<<20)
		if err == nil {
			err = heir.takeUp()
		}
		info, statErr := os.Stat(file)
		if err != nil || statErr != nil || heir.Appended() != whole || info.Size() != whole || heir.offsets.at[""].Stdout.Bytes != end-6 {
			t.Errorf("%d records before: %d bytes of %d, offsets %+v, errors %v, %v", before, heir.Appended(), whole, heir.offsets.at, err, statErr)
		}
	}
}
