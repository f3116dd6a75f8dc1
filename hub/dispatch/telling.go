package dispatch

import (
	"context"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/mcp/joblog"
	"github.com/runnerhub/runnerhub/mcp/logtext"
)

// Of a failed job's log so much, from its end, is searched for the lines that say why.
const (
	tellingLines = 3
	tellingScan  = 1 << 20 // bytes
	tellingRoom  = 5000    // lines
	tellingLong  = 500     // bytes of a line
)

// telling is the lines of the log of a job's last attempt which say most about why it failed, none for jobs that did
// not. Only what its last step, or the service that failed, has written is searched where that is known.
func (s *Service) telling(ctx context.Context, j hub.Job, a hub.Attempt) ([]LogLine, error) {
	if j.Failure == nil || j.State == hub.JobCanceled {
		return nil, nil
	}
	bag := &lineBag{room: tellingRoom, text: tellingScan, long: tellingLong}
	if c := j.Failure.Container; c != "" && c != "job" {
		bag.filter.service = c
	}
	f := &logFile{s: s, jobID: a.JobID, attempt: a.Number, size: a.LogSize}
	if _, _, err := f.tail(ctx, bag, s.logComplete(a)); err != nil {
		return nil, err
	}
	lines := lastStep(bag.lines, bag.filter.service != "")
	texts := make([][]byte, len(lines))
	for i, l := range lines {
		texts[i] = l.Text
	}
	var out []LogLine
	for _, i := range logtext.Telling(texts, tellingLines) {
		out = append(out, lines[i])
	}
	return out, nil
}

// lastStep is what the job's last step wrote, and without the services, which fail most often because the job ended.
func lastStep(lines []LogLine, services bool) []LogLine {
	if services {
		return lines
	}
	step, seen := "", false
	for i := len(lines) - 1; i >= 0 && !seen; i-- {
		if ofJob(lines[i]) {
			step, seen = lines[i].Step, true
		}
	}
	var out []LogLine
	for _, l := range lines {
		if ofJob(l) && l.Step == step {
			out = append(out, l)
		}
	}
	return out
}

func ofJob(l LogLine) bool { return l.Service == "" && l.Stream != string(joblog.System) }
