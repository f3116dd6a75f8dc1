package api

import (
	"bytes"
	"encoding/json"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/dispatch"
	"github.com/runnerhub/runnerhub/mcp"
)

// requestOf reads a job request. A spec may come as text, YAML or JSON, or as a
// JSON object, which is JSON text as it stands.
func requestOf(r mcp.JobRequest) (dispatch.JobRequest, error) {
	out := dispatch.JobRequest{Spec: r.Spec, Target: r.Target, Workspace: r.Workspace, Priority: r.Priority}
	if bytes.HasPrefix(bytes.TrimSpace(r.Spec), []byte(`"`)) {
		var spec string
		if err := json.Unmarshal(r.Spec, &spec); err != nil {
			return out, hub.Errorf(hub.InvalidArgument, "spec cannot be read: %v", err)
		}
		out.Spec = []byte(spec)
	}
	return out, nil
}

// stateGroups are words that stand for several states.
var stateGroups = map[string][]hub.JobState{
	"active": {hub.JobQueued, hub.JobLeased, hub.JobRunning},
	"ended":  {hub.JobSucceeded, hub.JobFailed, hub.JobCanceled, hub.JobTimedOut, hub.JobRejected},
}

func stateWords() []string {
	var words []string
	for _, group := range []string{"active", "ended"} {
		words = append(words, group)
		for _, s := range stateGroups[group] {
			words = append(words, string(s))
		}
	}
	return words
}

func statesOf(word string) []hub.JobState {
	if word == "" {
		return nil
	}
	if group, ok := stateGroups[word]; ok {
		return group
	}
	return []hub.JobState{hub.JobState(word)}
}

func failureOf(f *mcp.Failure) *hub.Failure {
	if f == nil {
		return nil
	}
	return &hub.Failure{Class: hub.Class(f.Class), Message: f.Message, Hint: f.Hint, Container: f.Container}
}
