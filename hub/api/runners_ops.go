package api

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/hub/enroll"
	"github.com/runnerhub/runnerhub/mcp"
)

var (
	rosterLimits    = limits{"limit": pageLimit, "cursor": cursorLimit}
	pairLimits      = limits{"label": labelLimit, "labels": items(20, 64)}
	revokeLimits    = limits{"runner_id": idLimit}
	workspaceLimits = limits{"workspace": text(39)}
)

func listRunners(s Services) Operation {
	return define(Operation{
		Name: mcp.ToolListRunners, Title: "List your runners", Audience: People, Toolset: RunnerTools,
		Description: "Your own paired machines: status (online, busy, stale, offline, draining, paused, update_required, revoked), what they can do and what they run. " +
			"Jobs reach them with target self, or a runner's id or label. A workspace's are in list_workspace_runners.",
		Hints:  Hints{ReadOnly: true, Idempotent: true},
		Route:  Route{Method: http.MethodGet, Path: "/runners"},
		limits: rosterLimits,
	}, func(ctx context.Context, p hub.Principal, in mcp.ListRunnersArgs) (mcp.ListRunnersResult, error) {
		return roster(ctx, s, p, "", in)
	}, runnersText)
}

func listWorkspaceRunners(s Services) Operation {
	return define(Operation{
		Name: mcp.ToolListWorkspaceRunners, Title: "List a workspace's runners", Audience: People, Toolset: RunnerTools,
		Description: "The machines of a workspace that you are in (whoami lists them), as list_runners shows your own. Jobs reach them with target workspace.",
		Hints:       Hints{ReadOnly: true, Idempotent: true},
		Route:       Route{Method: http.MethodGet, Path: "/workspaces/{workspace}/runners"},
		limits:      rosterLimits.with(workspaceLimits),
	}, func(ctx context.Context, p hub.Principal, in mcp.ListWorkspaceRunnersArgs) (mcp.ListRunnersResult, error) {
		return roster(ctx, s, p, in.Workspace, in.ListRunnersArgs)
	}, runnersText)
}

func roster(ctx context.Context, s Services, p hub.Principal, workspace string, in mcp.ListRunnersArgs) (mcp.ListRunnersResult, error) {
	limit := in.Limit
	if limit == 0 {
		limit = 20
	}
	after, err := rosterCursor(in.Cursor)
	if err != nil {
		return mcp.ListRunnersResult{}, err
	}
	// One more than asked for tells whether there is another page.
	entries, err := s.Roster.List(ctx, p, enroll.ListRequest{Workspace: workspace, Revoked: in.IncludeRevoked, AfterID: after, Limit: limit + 1})
	if err != nil {
		return mcp.ListRunnersResult{}, err
	}
	out := mcp.ListRunnersResult{}
	if len(entries) > limit {
		entries = entries[:limit]
		out.NextCursor = base64.RawURLEncoding.EncodeToString([]byte(entries[limit-1].Runner.ID))
	}
	out.Runners = rosterView(s, entries)
	return out, nil
}

func rosterCursor(cursor string) (after string, err error) {
	if cursor == "" {
		return "", nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || !strings.HasPrefix(string(raw), hub.RunnerIDPrefix) {
		return "", hub.Errorf(hub.InvalidArgument, "cursor is none that this list has given out").
			WithHint("leave it out to start at the first page")
	}
	return string(raw), nil
}

func pairRunner(s Services) Operation {
	return define(Operation{
		Name: mcp.ToolPairRunner, Title: "Pair a machine as your runner", Audience: People, Toolset: RunnerTools,
		Description: "Approve one machine ahead: answers a single-use pair_ token, shown only here and valid for minutes, and the command to run on that machine. " +
			"Next: list_runners shows it once it runs.",
		Route:  Route{Method: http.MethodPost, Path: "/runners"},
		limits: pairLimits,
	}, func(ctx context.Context, p hub.Principal, in mcp.PairRunnerArgs) (mcp.PairRunnerResult, error) {
		return invite(ctx, s, p, "", in)
	}, invitedLine)
}

func pairWorkspaceRunner(s Services) Operation {
	return define(Operation{
		Name: mcp.ToolPairWorkspaceRunner, Title: "Pair a machine as a workspace's runner", Audience: People, Toolset: AdminTools,
		Description: "What pair_runner does, for a workspace: every member may then run jobs on the machine. Only the workspace's admins may.",
		Route:       Route{Method: http.MethodPost, Path: "/workspaces/{workspace}/runners"},
		limits:      pairLimits.with(workspaceLimits),
	}, func(ctx context.Context, p hub.Principal, in mcp.PairWorkspaceRunnerArgs) (mcp.PairRunnerResult, error) {
		return invite(ctx, s, p, in.Workspace, in.PairRunnerArgs)
	}, invitedLine)
}

func invite(ctx context.Context, s Services, p hub.Principal, workspace string, in mcp.PairRunnerArgs) (mcp.PairRunnerResult, error) {
	got, err := s.Roster.Invite(ctx, p, workspace, in.Label, in.Labels)
	if err != nil {
		return mcp.PairRunnerResult{}, err
	}
	return mcp.PairRunnerResult{
		PairingToken: got.Token,
		ExpiresInMS:  ms(got.Pairing.ExpiresAt.Sub(s.Jobs.Now())),
		Command:      pairCommand(baseURL(ctx)),
	}, nil
}

// pairCommand leaves the token to standard input, so that it ends up neither in
// a shell's history nor in the list of processes.
func pairCommand(base string) string {
	if base == "" {
		base = "URL"
	}
	return fmt.Sprintf("runnerctl pair --hub %s --token-stdin", base)
}

func invitedLine(out mcp.PairRunnerResult) string {
	return "One machine may pair. Run there, with the token on standard input: " + out.Command
}

func revokeRunner(s Services) Operation {
	return define(Operation{
		Name: mcp.ToolRevokeRunner, Title: "Unpair one of your runners", Audience: People, Toolset: RunnerTools,
		Description: "End the pairing of one of your machines. The jobs that it runs are lost or run elsewhere. " +
			"It cannot be undone; the machine can be paired again.",
		Hints:  Hints{Destructive: true, Idempotent: true},
		Route:  Route{Method: http.MethodDelete, Path: "/runners/{runner_id}"},
		limits: revokeLimits,
	}, func(ctx context.Context, p hub.Principal, in mcp.RevokeRunnerArgs) (mcp.RevokeRunnerResult, error) {
		return revoke(ctx, s, p, "", in.RunnerID)
	}, revokedLine)
}

func revokeWorkspaceRunner(s Services) Operation {
	return define(Operation{
		Name: mcp.ToolRevokeWorkspaceRunner, Title: "Unpair a workspace's runner", Audience: People, Toolset: AdminTools,
		Description: "What revoke_runner does, for a workspace's machine. Only the workspace's admins may.",
		Hints:       Hints{Destructive: true, Idempotent: true},
		Route:       Route{Method: http.MethodDelete, Path: "/workspaces/{workspace}/runners/{runner_id}"},
		limits:      revokeLimits.with(workspaceLimits),
	}, func(ctx context.Context, p hub.Principal, in mcp.RevokeWorkspaceRunnerArgs) (mcp.RevokeRunnerResult, error) {
		return revoke(ctx, s, p, in.Workspace, in.RunnerID)
	}, revokedLine)
}

func revoke(ctx context.Context, s Services, p hub.Principal, workspace, idOrLabel string) (mcp.RevokeRunnerResult, error) {
	got, err := s.Roster.Revoke(ctx, p, workspace, idOrLabel)
	if err != nil {
		return mcp.RevokeRunnerResult{}, err
	}
	s.Jobs.RunnerRevoked(ctx, got.Runner)
	return mcp.RevokeRunnerResult{Runner: runnerView(got.Runner, got.Workspace, hub.RunnerRevoked, 0)}, nil
}

func revokedLine(out mcp.RevokeRunnerResult) string { return unpairedLine(out.Runner) }

func unpairedLine(r mcp.Runner) string { return fmt.Sprintf("%s (%s) is unpaired.", r.Label, r.ID) }
