package agent

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/docker/go-units"

	"github.com/runnerhub/runnerhub/mcp/joblog"
)

// outagePatience is how long a job whose log has no room waits for a hub that takes
// nothing. A hub that is restarted is back within that, and costs no byte.
const outagePatience = 30 * time.Second

// thin makes room while the hub is away, so that the job goes on: half of what may be
// kept is for the beginning of what was not sent, half for its end, and what is
// between gives way, the oldest file first, to a line that says so. What the hub may
// have already is in the first half: at most a chunk, which is of one file. It is false
// when nothing is to be dropped now. Callers hold the lock.
func (l *logSpool) thin() (bool, error) {
	if l.away.IsZero() || time.Since(l.away) < outagePatience {
		return false, nil
	}
	i := 0
	for i < len(l.files) && (l.files[i].at < l.sent+l.limit/2 || l.files[i].gap > 0) {
		i++
	}
	if i >= len(l.files)-1 { // the last one is written to
		return false, nil
	}
	first := i
	if i > 0 && l.files[i-1].gap > 0 {
		first--
	}
	from, dropped := l.files[first], l.files[i]
	note, err := l.putNote(from, dropped.next()-from.start)
	if err != nil {
		return false, err
	}
	for _, f := range l.files[first : i+1] { // the note covers them, should the process be killed here
		_ = os.Remove(l.entry.segment(f))
		l.end -= f.size
	}
	l.end += note.size
	l.files = append(l.files[:first], append([]segment{note}, l.files[i+1:]...)...)
	at := note.at
	for i := first; i < len(l.files); i++ {
		l.files[i].at = at
		at += l.files[i].size
	}
	return true, nil
}

// putNote writes the file that stands for n appended bytes from where from begins.
func (l *logSpool) putNote(from segment, n int64) (segment, error) {
	line := joblog.Append(nil, joblog.Record{Time: time.Now(), Stream: joblog.System, Payload: fmt.Appendf(nil,
		"%d bytes of the log are missing here: the hub was out of reach, and this runner keeps at most %s for it", n, units.BytesSize(float64(l.limit)))})
	note := segment{start: from.start, at: from.at, size: int64(len(line)), gap: n}
	return note, l.entry.spool.replace(l.entry.segment(note), line, false)
}

// awaitRoom gives up the lock until something changes or thin may help; it is false if ctx ended.
func (l *logSpool) awaitRoom(ctx context.Context) bool {
	if l.away.IsZero() {
		return l.await(ctx)
	}
	patience, cancel := context.WithTimeout(ctx, max(outagePatience-time.Since(l.away), time.Second))
	defer cancel()
	return l.await(patience) || ctx.Err() == nil
}
