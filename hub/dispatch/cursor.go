package dispatch

import (
	"encoding/base64"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"

	"github.com/runnerhub/runnerhub/hub"
)

// cursor is a place in a job's log, and for Wait the state that was told with it.
type cursor struct {
	job     string // tagOf its job, "" from a hub of an earlier release
	back    bool   // read what is before the offset, and not what comes after
	attempt int    // 0: before the first
	offset  int64  // in the attempt's log, a line's start
	state   string // stateOf, "" when none was told
}

func (c cursor) String() string {
	dir := "f"
	if c.back {
		dir = "b"
	}
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%s.%d.%d.%s.%s", dir, c.attempt, c.offset, c.job, c.state))
}

// tagOf tells the cursors of one job from those of another, which would leave out what was never told.
func tagOf(jobID string) string { return fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(jobID))) }

// parseCursor reads a cursor of a job's log.
func parseCursor(s, jobID string) (cursor, error) {
	bad := hub.Errorf(hub.InvalidArgument, "this is no cursor of a log").
		WithHint("send next_cursor or prev_cursor of an earlier answer as it is, or start")
	raw, err := base64.RawURLEncoding.DecodeString(s)
	part := strings.SplitN(string(raw), ".", 5)
	if len(part) == 4 { // of an earlier release
		part = append(part[:3], "", part[3])
	}
	if err != nil || len(part) != 5 || (part[0] != "f" && part[0] != "b") {
		return cursor{}, bad
	}
	attempt, err := strconv.Atoi(part[1])
	if err != nil || attempt < 0 {
		return cursor{}, bad
	}
	offset, err := strconv.ParseInt(part[2], 10, 64)
	if err != nil || offset < 0 {
		return cursor{}, bad
	}
	if part[3] != "" && part[3] != tagOf(jobID) {
		return cursor{}, hub.Errorf(hub.InvalidArgument, "the cursor is of another job").WithHint("leave it out, or send start to read this one's log from its beginning")
	}
	return cursor{tagOf(jobID), part[0] == "b", attempt, offset, part[4]}, nil
}

// stateOf is what a reader of a job hears of as a change.
func stateOf(j hub.Job) string {
	sum := crc32.ChecksumIEEE(fmt.Appendf(nil, "%s\x00%s\x00%v", j.Phase, j.Step, !j.CancelRequestedAt.IsZero()))
	return fmt.Sprintf("%s%d-%08x", j.State, j.Attempt, sum)
}
