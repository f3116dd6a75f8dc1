package api

import (
	"context"
	"slices"
	"strings"

	"github.com/runnerhub/runnerhub/mcp"
)

// Words is what an argument may be completed with.
type Words string

// The kinds of words.
const (
	JobWords      Words = "job"        // ids of jobs, the newest first
	FailedWords   Words = "failed_job" // those of jobs that failed, or are held since they have
	ArtifactWords Words = "artifact"   // paths of what a job left
	TargetWords   Words = "target"     // where a job may be sent
)

// Limits on one completion.
const (
	maxCompletions  = 100 // MCP's own
	completionPages = 3   // of 100 jobs that are looked through for a word
)

// Completion is words that begin as what was typed does.
type Completion struct {
	Values []string
	More   bool // there are others, or there may be
}

// Complete finds words of a kind for what was typed. known are the arguments that are filled in already.
func (l *Library) Complete(ctx context.Context, kind Words, typed string, known map[string]string) (Completion, *mcp.Error) {
	switch kind {
	case JobWords, FailedWords:
		return l.completeJob(ctx, kind == FailedWords, typed)
	case ArtifactWords:
		return l.completeArtifact(ctx, typed, known["job_id"])
	case TargetWords:
		return l.completeTarget(ctx, typed)
	}
	return Completion{}, nil
}

// completeJob finds jobs by their id, or by their name, which nobody has to look up.
func (l *Library) completeJob(ctx context.Context, failed bool, typed string) (out Completion, fault *mcp.Error) {
	if !l.Sees(ctx, mcp.ToolListJobs) {
		return out, nil
	}
	fault = out.fill(func(cursor string) (words []string, next string, fault *mcp.Error) {
		page, _, fault := ask[mcp.ListJobsResult](ctx, l, mcp.ToolListJobs, mcp.ListJobsArgs{Limit: 100, Cursor: cursor})
		for _, j := range page.Jobs {
			if (!failed || wentWrong(j)) && (begins(j.ID, typed) || begins(j.Name, typed)) {
				words = append(words, j.ID)
			}
		}
		return words, page.NextCursor, fault
	})
	return out, fault
}

// wentWrong says whether there is a failure to look into.
func wentWrong(j mcp.Job) bool {
	return j.Held != nil || slices.Contains([]string{"failed", "timed_out", "rejected"}, j.State)
}

func (l *Library) completeArtifact(ctx context.Context, typed, jobID string) (out Completion, fault *mcp.Error) {
	if jobID == "" || !l.Sees(ctx, mcp.ToolListArtifacts) {
		return out, nil
	}
	fault = out.fill(func(cursor string) (words []string, next string, fault *mcp.Error) {
		page, _, fault := ask[mcp.ListArtifactsResult](ctx, l, mcp.ToolListArtifacts, mcp.ListArtifactsArgs{JobID: jobID, Limit: 100, Cursor: cursor})
		if fault != nil && fault.Code == mcp.CodeNotFound {
			return nil, "", nil // half an id, perhaps
		}
		for _, a := range page.Artifacts {
			if begins(a.Path, typed) {
				words = append(words, a.Path)
			}
		}
		return words, page.NextCursor, fault
	})
	return out, fault
}

// completeTarget finds the words for groups of machines, and the caller's own machines by label and id.
func (l *Library) completeTarget(ctx context.Context, typed string) (out Completion, fault *mcp.Error) {
	if !l.Sees(ctx, mcp.ToolSubmitJob) {
		return out, nil
	}
	for _, word := range []string{"self", "workspace"} {
		if begins(word, typed) {
			out.add(word)
		}
	}
	if !l.Sees(ctx, mcp.ToolListRunners) {
		return out, nil
	}
	page, _, fault := ask[mcp.ListRunnersResult](ctx, l, mcp.ToolListRunners, mcp.ListRunnersArgs{Limit: 100})
	if fault != nil {
		return Completion{}, fault
	}
	for _, r := range page.Runners {
		for _, word := range []string{r.Label, r.ID} {
			if begins(word, typed) && !out.add(word) {
				return out, nil
			}
		}
	}
	out.More = page.NextCursor != ""
	return out, nil
}

// fill takes the words of one page after the other, as long as there are more of both.
func (c *Completion) fill(page func(cursor string) (words []string, next string, fault *mcp.Error)) *mcp.Error {
	cursor := ""
	for range completionPages {
		words, next, fault := page(cursor)
		if fault != nil {
			*c = Completion{}
			return fault
		}
		for _, w := range words {
			if !c.add(w) {
				return nil
			}
		}
		if next == "" {
			return nil
		}
		cursor = next
	}
	c.More = true
	return nil
}

// add takes a word unless there are as many as may be told.
func (c *Completion) add(word string) bool {
	if len(c.Values) == maxCompletions {
		c.More = true
		return false
	}
	c.Values = append(c.Values, word)
	return true
}

// begins compares without case.
func begins(word, typed string) bool {
	return len(word) >= len(typed) && strings.EqualFold(word[:len(typed)], typed)
}
