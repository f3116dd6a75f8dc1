package cmdutil

import (
	"strconv"
	"strings"
	"time"

	"github.com/runnerhub/runnerhub/topology"
)

// measurementPrefix begins the ids that doctor's measurements go by on the engine, where they are of no runner.
const measurementPrefix = "doctor-"

// NewMeasurementID returns an id for what doctor starts on the engine. It tells when that was, so that gc can tell what is
// left of a doctor that was killed.
func NewMeasurementID(now time.Time) string {
	return measurementPrefix + strconv.FormatInt(now.Unix(), 10) + "-" + topology.NewTag()
}

// MeasurementTime is when the measurement began that the id is of; false for an id that is of none.
func MeasurementTime(id string) (time.Time, bool) {
	rest, ours := strings.CutPrefix(id, measurementPrefix)
	seconds, _, tagged := strings.Cut(rest, "-")
	n, err := strconv.ParseInt(seconds, 10, 64)
	if !ours || !tagged || err != nil {
		return time.Time{}, false
	}
	return time.Unix(n, 0), true
}
