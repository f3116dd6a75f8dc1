package api

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/mcp"
)

// Limits on what one resource holds.
const (
	recentJobs  = 20      // in the list of resources
	logLines    = 1000    // of a log, its last ones, as far as a call of read_job_log goes
	maxBlob     = 1 << 20 // bytes of a file that is no text
	maxListRefs = 20      // links to resources in one answer
)

// Library is what a client may look at besides calling tools: resources, and the words that complete an argument. All
// of it comes from operations, so that whoever may not call one, or has left it out of its view, finds nothing here.
type Library struct {
	jobs Jobs
	ops  map[string]*Operation
	log  *slog.Logger
}

// NewLibrary makes a library of the operations that s are behind.
func NewLibrary(s Services, ops []Operation, log *slog.Logger) *Library {
	l := &Library{jobs: s.Jobs, ops: map[string]*Operation{}, log: log}
	for i := range ops {
		l.ops[ops[i].Name] = &ops[i]
	}
	return l
}

// Sees says whether the caller may use an operation and has it in view.
func (l *Library) Sees(ctx context.Context, name string) bool {
	o := l.ops[name]
	if o == nil {
		return false
	}
	visible, _ := o.Visible(PrincipalFrom(ctx), ViewFrom(ctx))
	return visible
}

// ask calls an operation for the caller.
func ask[Out any](ctx context.Context, l *Library, name string, args any) (out Out, summary string, fault *mcp.Error) {
	raw, err := json.Marshal(args)
	if err != nil {
		return out, "", Report(ctx, l.log, err)
	}
	value, summary, fault := l.ops[name].Call(ctx, l.log, PrincipalFrom(ctx), raw)
	if fault != nil {
		return out, "", fault
	}
	return value.(Out), summary, nil
}

// reader is the tool that reads a kind of resource.
var reader = map[mcp.ResourceKind]string{
	mcp.JobResource: mcp.ToolGetJob, mcp.LogResource: mcp.ToolReadJobLog, mcp.ArtifactResource: mcp.ToolReadArtifact,
}

// Shows says whether the caller may read resources of a kind at all.
func (l *Library) Shows(ctx context.Context, kind mcp.ResourceKind) bool {
	return l.Sees(ctx, reader[kind])
}

// Recent lists the jobs that the caller may see, the newest first; none for whom no job is to be seen. Logs and artifacts
// are found from there.
func (l *Library) Recent(ctx context.Context) ([]mcp.Resource, *mcp.Error) {
	out := []mcp.Resource{}
	if !l.Sees(ctx, mcp.ToolListJobs) || !l.Shows(ctx, mcp.JobResource) {
		return out, nil
	}
	page, _, fault := ask[mcp.ListJobsResult](ctx, l, mcp.ToolListJobs, mcp.ListJobsArgs{Limit: recentJobs})
	if fault != nil {
		return nil, fault
	}
	for _, j := range page.Jobs {
		out = append(out, jobResource(j))
	}
	return out, nil
}

// Content is a part of what a resource holds: text, or bytes where Blob is not nil.
type Content struct {
	MediaType string
	Text      string
	Blob      []byte
}

// Read reads a resource. What does not exist, belongs to someone else or is outside of the caller's view is not found.
func (l *Library) Read(ctx context.Context, uri string) ([]Content, *mcp.Error) {
	r, ok := mcp.ParseResource(uri)
	if !ok || !l.Shows(ctx, r.Kind) {
		return nil, Fault(hub.Errorf(hub.NotFound, "there is no resource %q", Cut(uri, 120)).
			WithHint("resources are %s, %s and %s", mcp.JobTemplate, mcp.LogTemplate, mcp.ArtifactTemplate))
	}
	switch r.Kind {
	case mcp.JobResource:
		return l.readJob(ctx, r)
	case mcp.LogResource:
		return l.readLog(ctx, r)
	default:
		return l.readArtifact(ctx, r)
	}
}

func (l *Library) readJob(ctx context.Context, r mcp.ResourceRef) ([]Content, *mcp.Error) {
	got, _, fault := ask[mcp.GetJobResult](ctx, l, mcp.ToolGetJob, mcp.JobRef{JobID: r.JobID})
	if fault != nil {
		return nil, fault
	}
	raw, err := json.Marshal(got.Job)
	if err != nil {
		return nil, Report(ctx, l.log, err)
	}
	return []Content{{MediaType: jsonObject, Text: string(raw)}}, nil
}

// JobLine is how a job stands in one line.
func (l *Library) JobLine(ctx context.Context, jobID string) (string, *mcp.Error) {
	got, _, fault := ask[mcp.GetJobResult](ctx, l, mcp.ToolGetJob, mcp.JobRef{JobID: jobID})
	if fault != nil {
		return "", fault
	}
	return jobLine(got.Job), nil
}

// readLog is the log's end as read_job_log gives it, marked as what programs wrote.
func (l *Library) readLog(ctx context.Context, r mcp.ResourceRef) ([]Content, *mcp.Error) {
	got, _, fault := ask[mcp.ReadJobLogResult](ctx, l, mcp.ToolReadJobLog, mcp.ReadJobLogArgs{JobID: r.JobID, Attempt: r.Attempt, Lines: logLines})
	if fault != nil {
		return nil, fault
	}
	text := "Log of " + got.JobID + "."
	if got.Note != "" {
		text += " " + got.Note + " (These are arguments of read_job_log.)"
	}
	return []Content{{MediaType: plainText, Text: text + allQuoted(got.Lines)}}, nil
}

func (l *Library) readArtifact(ctx context.Context, r mcp.ResourceRef) ([]Content, *mcp.Error) {
	got, _, fault := ask[mcp.ReadArtifactResult](ctx, l, mcp.ToolReadArtifact, mcp.ReadArtifactArgs{JobID: r.JobID, Path: r.Path, Attempt: r.Attempt})
	if fault != nil {
		return nil, fault
	}
	file := got.Artifact
	switch {
	case file.Size > 0 && got.Text == "":
		return l.readBytes(ctx, r, file)
	case got.NextOffset > 0:
		note := fmt.Sprintf("The text above is cut. %s (That is an argument of read_artifact.) All of it is at %s for an API key.", got.Note, file.URL)
		return []Content{{MediaType: mediaType(r.Path, plainText), Text: got.Text}, {MediaType: plainText, Text: note}}, nil
	}
	return []Content{{MediaType: mediaType(r.Path, plainText), Text: got.Text}}, nil
}

// readBytes reads a file that is no text.
func (l *Library) readBytes(ctx context.Context, r mcp.ResourceRef, file mcp.Artifact) ([]Content, *mcp.Error) {
	if file.Size > maxBlob {
		return nil, Fault(hub.Errorf(hub.TooLarge, "%s has %d bytes, and a resource that is no text may have %d", Cut(r.Path, 120), file.Size, maxBlob).
			WithHint("download it from %s with an API key, or with `runnerctl download`", file.URL))
	}
	a, err := l.jobs.Artifact(ctx, PrincipalFrom(ctx), r.JobID, r.Attempt, r.Path)
	if err != nil {
		return nil, Report(ctx, l.log, err)
	}
	body, err := l.jobs.OpenArtifact(ctx, a, 0, -1)
	if err != nil {
		return nil, Report(ctx, l.log, err)
	}
	defer body.Close()
	data, err := io.ReadAll(io.LimitReader(body, maxBlob))
	if err != nil {
		return nil, Report(ctx, l.log, err)
	}
	return []Content{{MediaType: mediaType(r.Path, someBytes), Blob: data}}, nil
}

func jobResource(j mcp.Job) mcp.Resource {
	title := j.Name
	if title == "" {
		title = "Job of " + j.CreatedAt.Format("2 January 15:04")
	}
	return mcp.Resource{
		URI: mcp.ResourceRef{Kind: mcp.JobResource, JobID: j.ID}.URI(), Name: j.ID, Title: title, Description: jobLine(j), MediaType: jsonObject,
	}
}

// endedResource is jobResource of what wait_job tells.
func endedResource(out mcp.WaitJobResult) mcp.Resource {
	return jobResource(mcp.Job{ID: out.JobID, Name: "Job " + out.JobID, State: out.State, Failure: out.Failure})
}

func logResource(jobID string) mcp.Resource {
	return mcp.Resource{
		URI: mcp.ResourceRef{Kind: mcp.LogResource, JobID: jobID}.URI(), Name: jobID + "/log", Title: "Log of " + jobID,
		Description: "The end of what the job and its services wrote.", MediaType: plainText,
	}
}

func artifactResource(jobID string, attempt int, a mcp.Artifact) mcp.Resource {
	return mcp.Resource{
		URI:  mcp.ResourceRef{Kind: mcp.ArtifactResource, JobID: jobID, Attempt: attempt, Path: a.Path}.URI(),
		Name: a.Path, Title: a.Path, Description: "Artifact " + a.Name + " of " + jobID + ".", MediaType: mediaType(a.Path, someBytes), Size: &a.Size,
	}
}
