package mcp

import (
	"net/url"
	"strconv"
	"strings"
)

// Templates (RFC 6570) of the URIs by which MCP clients read what belongs to a job. A log or an artifact without an
// attempt is the latest one's.
const (
	JobTemplate      = "runnerhub://jobs/{job_id}"
	LogTemplate      = "runnerhub://jobs/{job_id}/log{?attempt}"
	ArtifactTemplate = "runnerhub://jobs/{job_id}/artifacts/{+path}{?attempt}"
)

const jobURI = "runnerhub://jobs/"

// ResourceKind says what of a job a resource is.
type ResourceKind string

// The kinds of resources.
const (
	JobResource      ResourceKind = "job"
	LogResource      ResourceKind = "log"
	ArtifactResource ResourceKind = "artifact"
)

// ResourceRef names a resource.
type ResourceRef struct {
	Kind    ResourceKind
	JobID   string
	Path    string // of an artifact
	Attempt int    // of a log or an artifact; 0: the latest
}

// URI is the resource's address.
func (r ResourceRef) URI() string {
	uri := jobURI + url.PathEscape(r.JobID)
	switch r.Kind {
	case LogResource:
		uri += "/log"
	case ArtifactResource:
		uri += "/artifacts"
		for element := range strings.SplitSeq(r.Path, "/") {
			uri += "/" + url.PathEscape(element)
		}
	}
	if r.Attempt > 0 {
		uri += "?attempt=" + strconv.Itoa(r.Attempt)
	}
	return uri
}

// ParseResource reads an address; ok is false where it can be none of a resource.
func ParseResource(uri string) (r ResourceRef, ok bool) {
	rest, ok := strings.CutPrefix(uri, jobURI)
	if !ok {
		return r, false
	}
	rest, query, queried := strings.Cut(rest, "?")
	id, rest, below := strings.Cut(rest, "/")
	path, isArtifact := strings.CutPrefix(rest, "artifacts/")
	switch {
	case !below:
		r.Kind = JobResource
	case rest == "log":
		r.Kind, path = LogResource, ""
	case isArtifact && path != "":
		r.Kind = ArtifactResource
	default:
		return r, false
	}
	var err error
	if r.JobID, err = url.PathUnescape(id); err != nil || r.JobID == "" {
		return r, false
	}
	if r.Path, err = url.PathUnescape(path); err != nil {
		return r, false
	}
	if !queried {
		return r, true
	}
	number, named := strings.CutPrefix(query, "attempt=")
	if r.Attempt, err = strconv.Atoi(number); !named || err != nil || r.Attempt < 1 || r.Kind == JobResource {
		return r, false
	}
	return r, true
}

// Resource is what a list or a link says of a resource.
type Resource struct {
	URI         string
	Name        string // for programs
	Title       string // for people
	Description string
	MediaType   string
	Size        *int64 // bytes, where they are known
}
