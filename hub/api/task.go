package api

import (
	"context"
	"slices"
	"time"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/mcp"
)

// TaskStatus is how far a task is, in the words of MCP's tasks extension.
type TaskStatus string

// The statuses that a job can be in. One that failed is completed: the call that stored it has a result, which says so.
const (
	TaskWorking   TaskStatus = "working"
	TaskCompleted TaskStatus = "completed"
	TaskCancelled TaskStatus = "cancelled"
)

// Limits on how often a client is asked to look at a task: a tenth of its age.
const (
	minTaskPoll = time.Second
	maxTaskPoll = 10 * time.Second
)

// Task is a stored job as the rest of the call that stored it. Nothing is kept of it but the job.
type Task struct {
	ID        string // the job's
	Status    TaskStatus
	Message   string
	CreatedAt time.Time
	UpdatedAt time.Time
	TTL       time.Duration // from its creation, as far as can be said now; 0: without end
	Poll      time.Duration
	// Of a completed one: what the call answers when it waits for as long as this.
	Result *mcp.SubmitJobResult
	Text   string
	Links  []mcp.Resource
}

// Task finds the task that a job of the caller's is. Others' are not found.
func (l *Library) Task(ctx context.Context, id string) (Task, *mcp.Error) {
	if !l.Sees(ctx, mcp.ToolGetJob) {
		return Task{}, noTask(id)
	}
	got, line, fault := ask[mcp.GetJobResult](ctx, l, mcp.ToolGetJob, mcp.JobRef{JobID: id})
	if fault != nil {
		if fault.Code == mcp.CodeNotFound || fault.Code == mcp.CodeInvalidArgument {
			return Task{}, noTask(id)
		}
		return Task{}, fault
	}
	return l.task(got.Job, line), nil
}

func noTask(id string) *mcp.Error {
	return Fault(hub.Errorf(hub.NotFound, "there is no task %q", Cut(id, 120)).WithHint("a task is forgotten with its job; list_jobs shows the jobs that you may see"))
}

// TaskOf is the task that a job is, which a call has just stored; ok is false where its answer is the whole answer already,
// since the job has ended or is held.
func (l *Library) TaskOf(out mcp.SubmitJobResult) (t Task, ok bool) {
	if out.Job.FinishedAt != nil || out.Job.Held != nil {
		return Task{}, false
	}
	return l.task(out.Job, submittedLine(out)), true
}

func (l *Library) task(j mcp.Job, line string) Task {
	now := l.jobs.Now()
	t := Task{ID: j.ID, Status: TaskWorking, Message: line, CreatedAt: j.CreatedAt, UpdatedAt: j.CreatedAt}
	t.Poll = min(max(now.Sub(j.CreatedAt)/10, minTaskPoll), maxTaskPoll).Round(time.Second)
	for _, at := range []*time.Time{j.StartedAt, j.FinishedAt} {
		if at != nil && at.After(t.UpdatedAt) {
			t.UpdatedAt = *at
		}
	}
	if kept := l.jobs.Policy().Retention; kept > 0 { // counted from the end, which is now at the earliest
		until := now
		if j.FinishedAt != nil {
			until = *j.FinishedAt
		}
		t.TTL = until.Add(kept).Sub(j.CreatedAt)
	}
	switch {
	case j.State == "canceled":
		t.Status = TaskCancelled
	case slices.Contains([]string{"succeeded", "failed", "timed_out", "rejected"}, j.State):
		j.Spec = nil // the call's answer has none
		out := mcp.SubmitJobResult{Job: j}
		t.Status, t.Result, t.Text, t.Links = TaskCompleted, &out, submittedLine(out), submittedLinks(out)
	}
	return t
}

// CancelTask cancels a task's job. One that has ended stays as it is.
func (l *Library) CancelTask(ctx context.Context, id string) *mcp.Error {
	if _, fault := l.Task(ctx, id); fault != nil {
		return fault
	}
	if o := l.ops[mcp.ToolCancelJob]; !l.Sees(ctx, o.Name) {
		_, why := o.Visible(PrincipalFrom(ctx), ViewFrom(ctx))
		return Fault(hub.Errorf(hub.PermissionDenied, "a task cannot be canceled here: %s", why))
	}
	_, _, fault := ask[mcp.CancelJobResult](ctx, l, mcp.ToolCancelJob, mcp.CancelJobArgs{JobID: id, Reason: "its task was canceled"})
	if fault != nil && fault.Code == mcp.CodeAlreadySettled {
		return nil
	}
	return fault
}
