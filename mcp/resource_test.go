package mcp_test

import (
	"testing"

	"github.com/runnerhub/runnerhub/mcp"
)

func TestResourceAddresses(t *testing.T) {
	t.Parallel()
	for uri, want := range map[string]mcp.ResourceRef{
		"runnerhub://jobs/job_1":                            {Kind: mcp.JobResource, JobID: "job_1"},
		"runnerhub://jobs/job_1/log":                        {Kind: mcp.LogResource, JobID: "job_1"},
		"runnerhub://jobs/job_1/log?attempt=2":              {Kind: mcp.LogResource, JobID: "job_1", Attempt: 2},
		"runnerhub://jobs/job_1/artifacts/out/a%20b%3F.xml": {Kind: mcp.ArtifactResource, JobID: "job_1", Path: "out/a b?.xml"},
		"runnerhub://jobs/job_1/artifacts/log?attempt=1":    {Kind: mcp.ArtifactResource, JobID: "job_1", Path: "log", Attempt: 1},
	} {
		got, ok := mcp.ParseResource(uri)
		if !ok || got != want {
			t.Errorf("%s is %+v, %v", uri, got, ok)
		}
		if back := want.URI(); back != uri {
			t.Errorf("%+v is at %s, want %s", want, back, uri)
		}
	}
	for _, uri := range []string{
		"", "runnerhub://jobs/", "runnerhub://jobs/job_1/", "runnerhub://jobs/job_1/logs", "runnerhub://jobs/job_1/artifacts/", "runnerhub://jobs/job_1?attempt=1",
		"runnerhub://jobs/job_1/log?attempt=0", "runnerhub://jobs/job_1/log?attempt=1&x=2", "runnerhub://jobs/job_1/log?step=1", "runnerhub://jobs/%zz",
		"https://jobs/job_1", "runnerhub://runners/rnr-1",
	} {
		if got, ok := mcp.ParseResource(uri); ok {
			t.Errorf("%q is taken for %+v", uri, got)
		}
	}
}
