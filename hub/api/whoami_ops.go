package api

import (
	"context"
	"fmt"
	"net/http"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/dispatch"
	"github.com/runnerhub/runnerhub/hub/enroll"
	"github.com/runnerhub/runnerhub/mcp"
)

// most is how far whoami counts.
const most = 100

func whoami(s Services) Operation {
	return define(Operation{
		Name: mcp.ToolWhoami, Title: "Who am I", Audience: People,
		Description: "Who the key belongs to, workspaces and roles, limits, how many of your own runners are online and jobs active " +
			"(each counted to 100). Call it first when you do not know what you may do.",
		Hints: Hints{ReadOnly: true, Idempotent: true},
		Route: Route{Method: http.MethodGet, Path: "/whoami"},
	}, func(ctx context.Context, p hub.Principal, _ none) (mcp.WhoamiResult, error) {
		members, err := s.Accounts.Memberships(ctx, p)
		if err != nil {
			return mcp.WhoamiResult{}, err
		}
		hubID, err := s.Jobs.HubID(ctx)
		if err != nil {
			return mcp.WhoamiResult{}, err
		}
		out := mcp.WhoamiResult{
			Principal: p.Actor(), Login: p.User.Login, Admin: p.User.Admin, Key: p.KeyName,
			ReadOnly: p.Scope.ReadOnly, Toolsets: p.Scope.Toolsets,
			Workspaces: make([]mcp.WorkspaceRole, len(members)), Limits: limitsView(s.Jobs.Policy()),
			ServerVersion: mcp.Version, Hub: hubID,
		}
		for i, m := range members {
			out.Workspaces[i] = mcp.WorkspaceRole{Slug: m.Workspace.Slug, Role: string(m.Role)}
		}
		if out.RunnersOnline, err = online(ctx, s, p); err != nil {
			return mcp.WhoamiResult{}, err
		}
		jobs, err := s.Jobs.List(ctx, p, dispatch.ListRequest{States: statesOf("active"), Limit: most})
		if err != nil {
			return mcp.WhoamiResult{}, err
		}
		out.JobsActive = len(jobs.Jobs)
		return out, nil
	}, func(out mcp.WhoamiResult) string {
		line := fmt.Sprintf("You are %s, in %s, with %s online and %s active.", out.Login,
			plural(len(out.Workspaces), "workspace"), plural(out.RunnersOnline, "runner"), plural(out.JobsActive, "job"))
		if out.ReadOnly {
			line += " Your key only reads."
		}
		if out.Toolsets != "" {
			line += " Your key is for " + out.Toolsets + " alone."
		}
		return line
	})
}

func online(ctx context.Context, s Services, p hub.Principal) (int, error) {
	entries, err := s.Roster.List(ctx, p, enroll.ListRequest{Limit: most})
	if err != nil {
		return 0, err
	}
	n := 0
	for _, r := range rosterView(s, entries) {
		if r.Status == string(hub.RunnerOnline) || r.Status == string(hub.RunnerBusy) {
			n++
		}
	}
	return n, nil
}

func plural(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// limitsView is the part of the policy that a caller can run into.
func limitsView(p hub.Policy) map[string]int64 {
	return map[string]int64{
		"max_queued":         int64(p.MaxQueued),
		"max_running":        int64(p.MaxRunning),
		"max_attempts":       int64(p.MaxAttempts),
		"max_spec_bytes":     p.MaxSpecBytes,
		"max_result_bytes":   p.MaxResultBytes,
		"max_log_bytes":      p.MaxLogBytes,
		"default_timeout_ms": ms(p.Timeout),
		"max_timeout_ms":     ms(p.MaxTimeout),
		"max_wait_ms":        mcp.MaxWait,
	}
}
