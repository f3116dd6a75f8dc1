package topology

import "time"

// What holds for a session that does not say otherwise.
const (
	DefaultSessionIdle    = 10 * time.Minute // nobody uses it for so long
	DefaultSessionTimeout = time.Hour        // of all of it; a hub may allow less
)

// kind decodes what ends the job.
func (d *decoder) kind(v value) JobKind {
	if k := oneOf(d, v, "job", JobSession); k == JobSession {
		return k
	}
	return ""
}

// session checks a job that stays, and fills in what follows from that. What was done in one is gone with its container, so
// that it does not begin again by itself.
func (d *decoder) session(s *Spec, got found) {
	if v, ok := got.values["command"]; ok {
		d.report(v.key, v.path, ProblemConflict, "a session runs no command of its own", "run it with exec_in_job, or as a step before that")
	}
	if v, ok := got.values["exec"]; ok && !s.Exec {
		d.report(v.node, v.path, ProblemConflict, "a session is there for commands to be run in it", "leave exec out")
	}
	s.Exec = true
	if s.IdleTimeout == 0 {
		s.IdleTimeout = Duration(DefaultSessionIdle)
	}
	if s.Retry.MaxAttempts == 0 {
		s.Retry.MaxAttempts = 1
	}
}
