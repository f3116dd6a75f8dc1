package dispatch

import (
	"encoding/json"
	"fmt"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/topology"
)

// isSession says whether a job stays for callers who work in it. The payload is one with its spec.
func isSession(p hub.JobPayload) bool {
	var spec struct{ Kind topology.JobKind }
	return json.Unmarshal(p.Spec, &spec) == nil && spec.Kind == topology.JobSession
}

// noteOf is what ended a session, by the report of its attempt; "" for a job that is none.
func noteOf(result []byte) string {
	var r struct{ Note string }
	if json.Unmarshal(result, &r) != nil {
		return ""
	}
	return r.Note
}

// explainSession says what a session waits for.
func (e *Explanation) explainSession(label string) {
	j := e.Job
	if j.Progress == "" {
		e.Summary = fmt.Sprintf("%s sets the session up (%s).", label, phase(j))
		return
	}
	e.Summary = fmt.Sprintf("%s keeps the session open (%s).", label, j.Progress)
	e.Next = append(e.Next, "Work in it with exec_in_job, read_job_file and write_job_file; end_hold ends it, and keeps its artifacts.")
}
