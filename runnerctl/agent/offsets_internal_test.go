package agent

import (
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
			heir.load(e, size)
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
