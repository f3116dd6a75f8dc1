package api

import (
	"fmt"
	"strings"

	"github.com/docker/go-units"

	"github.com/runnerhub/runnerhub/mcp"
)

// This file is what a model reads of a list, where it is given text and no structure: a line for each entry, with what the next
// call needs.

func jobsText(out mcp.ListJobsResult) string {
	var b strings.Builder
	b.WriteString(countLine(len(out.Jobs), "job", out.NextCursor))
	for _, j := range out.Jobs {
		b.WriteString("\n" + j.ID)
		if j.Name != "" {
			fmt.Fprintf(&b, " %q", j.Name)
		}
		b.WriteString(" " + j.State)
		if j.RunnerLabel != "" {
			b.WriteString(" on " + j.RunnerLabel)
		}
		if j.Failure != nil {
			fmt.Fprintf(&b, ": %s: %s", j.Failure.Class, firstOf(j.Failure.Message))
		}
	}
	return b.String()
}

func artifactsText(out mcp.ListArtifactsResult) string {
	var b strings.Builder
	b.WriteString(fmt.Sprintf("%s of attempt %d.", plural(len(out.Artifacts), "artifact"), out.Attempt))
	if out.NextCursor != "" {
		b.WriteString(" There are more: pass next_cursor as cursor.")
	}
	if out.Note != "" {
		b.WriteString(" " + out.Note)
	}
	for _, a := range out.Artifacts {
		fmt.Fprintf(&b, "\n%s %s", a.Path, units.BytesSize(float64(a.Size)))
	}
	if len(out.Artifacts) > 0 {
		b.WriteString("\nNext: read_artifact with a path.")
	}
	return b.String()
}

func runnersText(out mcp.ListRunnersResult) string {
	var b strings.Builder
	b.WriteString(countLine(len(out.Runners), "runner", out.NextCursor))
	for _, r := range out.Runners {
		fmt.Fprintf(&b, "\n%s %s %s, %d of %d slots busy", r.Label, r.ID, r.Status, r.BusySlots, r.Slots)
		if len(r.Capabilities) > 0 {
			b.WriteString(", can " + strings.Join(r.Capabilities, " "))
		}
		if len(r.Labels) > 0 {
			b.WriteString(", labels " + strings.Join(r.Labels, " "))
		}
		if r.Message != nil && r.Message.Text != "" {
			b.WriteString(": " + firstOf(r.Message.Text))
		}
	}
	return b.String()
}

// checkText is the sentence, each fault, and what would let the job start.
func checkText(out mcp.CheckJobResult) string {
	var b strings.Builder
	b.WriteString(out.Summary)
	for _, p := range out.Problems {
		b.WriteString("\n- ")
		if p.Line > 0 {
			fmt.Fprintf(&b, "line %d: ", p.Line)
		}
		if p.Field != "" {
			b.WriteString(p.Field + ": ")
		}
		b.WriteString(p.Message)
		if p.Hint != "" {
			b.WriteString("; " + p.Hint)
		}
	}
	for _, n := range out.Next {
		b.WriteString("\n- " + n)
	}
	if out.Valid && len(out.Next) == 0 {
		b.WriteString(" Next: submit_job with the same arguments.")
	}
	return b.String()
}
