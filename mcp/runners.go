package mcp

import "time"

// Runner is a paired machine as its owner and the members of its workspace see it. It never holds a token.
type Runner struct {
	ID           string        `json:"id"`
	Label        string        `json:"label"`  // unique among its owner's runners
	Labels       []string      `json:"labels"` // further words of the owner's
	Owner        string        `json:"owner"`
	Workspace    string        `json:"workspace,omitempty"` // slug, of a workspace runner
	Status       string        `json:"status"`              // online, busy, stale, offline, draining, paused, update_required or revoked
	Slots        int           `json:"slots"`
	BusySlots    int           `json:"busy_slots"`
	OS           string        `json:"os,omitempty"`
	Arch         string        `json:"arch,omitempty"`
	Hostname     string        `json:"hostname,omitempty"`
	Version      string        `json:"version,omitempty"`
	Capabilities []string      `json:"capabilities"`
	Message      *RunnerStatus `json:"message,omitempty"`
	PairedAt     time.Time     `json:"paired_at"`
	PairedBy     string        `json:"paired_by"`
	LastSeenAt   *time.Time    `json:"last_seen_at,omitempty"`
	RevokedAt    *time.Time    `json:"revoked_at,omitempty"`
}

// ListRunnersArgs pages the caller's own runners.
type ListRunnersArgs struct {
	IncludeRevoked bool   `json:"include_revoked,omitempty"`
	Limit          int    `json:"limit,omitempty"`
	Cursor         string `json:"cursor,omitempty"`
}

// ListWorkspaceRunnersArgs pages a workspace's runners; any member may.
type ListWorkspaceRunnersArgs struct {
	Workspace string `json:"workspace"`
	ListRunnersArgs
}

// ListRunnersResult is one page.
type ListRunnersResult struct {
	Runners    []Runner `json:"runners"`
	NextCursor string   `json:"next_cursor,omitempty"`
}

// PairRunnerArgs approves one machine ahead of its pairing.
type PairRunnerArgs struct {
	Label  string   `json:"label,omitempty" jsonschema:"name of the machine; default: its host name"`
	Labels []string `json:"labels,omitempty" jsonschema:"further words that jobs can ask for"`
}

// PairWorkspaceRunnerArgs is the same for a workspace; admins only.
type PairWorkspaceRunnerArgs struct {
	Workspace string `json:"workspace"`
	PairRunnerArgs
}

// PairRunnerResult carries a pair_ token: it pairs one machine, once, within ExpiresInMS, and is shown only here.
type PairRunnerResult struct {
	PairingToken string `json:"pairing_token"`
	ExpiresInMS  int64  `json:"expires_in_ms"`
	Command      string `json:"command"` // what to run on the machine
}

// RevokeRunnerArgs ends a runner's pairing. Its token is dead at the next call; its live attempts are lost.
type RevokeRunnerArgs struct {
	RunnerID string `json:"runner_id" jsonschema:"the runner's id, or its label"`
}

// RevokeWorkspaceRunnerArgs is the same for a workspace; admins only.
type RevokeWorkspaceRunnerArgs struct {
	Workspace string `json:"workspace"`
	RevokeRunnerArgs
}

// RevokeRunnerResult is the runner after the call.
type RevokeRunnerResult struct {
	Runner Runner `json:"runner"`
}

// WhoamiResult tells a caller what it is and may do.
type WhoamiResult struct {
	Principal     string           `json:"principal"` // user:ID
	Login         string           `json:"login"`
	Admin         bool             `json:"admin"` // of the whole hub
	Key           string           `json:"key,omitempty"`
	ReadOnly      bool             `json:"read_only,omitempty"` // the key changes nothing
	Toolsets      string           `json:"toolsets,omitempty"`  // that the key is for, with commas between them; absent: all
	Workspaces    []WorkspaceRole  `json:"workspaces"`
	Limits        map[string]int64 `json:"limits"`
	RunnersOnline int              `json:"runners_online"`
	JobsActive    int              `json:"jobs_active"`
	ServerVersion string           `json:"server_version"`
	Hub           string           `json:"hub_id"`
}

// WorkspaceRole is a workspace and the caller's role in it: admin or member.
type WorkspaceRole struct {
	Slug string `json:"slug"`
	Role string `json:"role"`
}

// UnpairRunnerResult is the runner after it ended its own pairing.
type UnpairRunnerResult struct {
	Runner Runner `json:"runner"`
}
