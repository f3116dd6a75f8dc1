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
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%s.%d.%d.%s", dir, c.attempt, c.offset, c.state))
}

func parseCursor(s string) (cursor, error) {
	bad := hub.Errorf(hub.InvalidArgument, "this is no cursor of a log").
		WithHint("send next_cursor or prev_cursor of an earlier answer as it is, or start")
	raw, err := base64.RawURLEncoding.DecodeString(s)
	part := strings.SplitN(string(raw), ".", 4)
	if err != nil || len(part) != 4 || (part[0] != "f" && part[0] != "b") {
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
	return cursor{part[0] == "b", attempt, offset, part[3]}, nil
}

// stateOf is what a reader of a job hears of as a change.
func stateOf(j hub.Job) string {
	sum := crc32.ChecksumIEEE(fmt.Appendf(nil, "%s\x00%s\x00%v", j.Phase, j.Step, !j.CancelRequestedAt.IsZero()))
	return fmt.Sprintf("%s%d-%08x", j.State, j.Attempt, sum)
}
