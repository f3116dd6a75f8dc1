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
	spec, err := specText(r.Spec)
	return dispatch.JobRequest{Spec: spec, Target: r.Target, Workspace: r.Workspace, Priority: r.Priority}, err
}

// specText is the text of a spec or of changes to one.
func specText(raw json.RawMessage) ([]byte, error) {
	if !bytes.HasPrefix(bytes.TrimSpace(raw), []byte(`"`)) {
		return raw, nil
	}
	var spec string
	if err := json.Unmarshal(raw, &spec); err != nil {
		return nil, hub.Errorf(hub.InvalidArgument, "spec cannot be read: %v", err)
	}
	return []byte(spec), nil
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
