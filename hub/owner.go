// Package hub is the domain of the control plane: jobs, attempts, leases,
// runners, owners and principals; the pure machine that decides what happens to
// a job; and the interfaces of what persists those decisions. It imports
// no other package of this project, does no input or output, and never asks for the time:
// time is always an argument.
package hub

import "strings"

// Owner is whoever a runner belongs to and whoever pays for what runs on it:
// "user:<id>" or "ws:<id>".
type Owner string

// UserOwner is the owner that a person is.
func UserOwner(userID string) Owner { return Owner("user:" + userID) }

// WorkspaceOwner is the owner that a workspace is.
func WorkspaceOwner(workspaceID string) Owner { return Owner("ws:" + workspaceID) }

// User returns the user's id when o is a person.
func (o Owner) User() (id string, ok bool) { return strings.CutPrefix(string(o), "user:") }

// Workspace returns the workspace's id when o is a workspace.
func (o Owner) Workspace() (id string, ok bool) { return strings.CutPrefix(string(o), "ws:") }

// QueueKey names a queue: an owner and a selector, which is one runner's id or
// Pool. The tenant of a job is not in it: one runner drains the
// jobs of all its owner's workspaces.
type QueueKey string

// Pool is the selector of the queue that any runner of an owner serves.
const Pool = "*"

// NewQueueKey joins an owner and a selector; an empty runner id is the pool.
func NewQueueKey(o Owner, runnerID string) QueueKey {
	if runnerID == "" {
		runnerID = Pool
	}
	return QueueKey(string(o) + "/" + runnerID)
}

// Split returns the owner, and the runner's id or "" for the pool.
func (k QueueKey) Split() (o Owner, runnerID string) {
	owner, sel, _ := strings.Cut(string(k), "/")
	if sel == Pool {
		sel = ""
	}
	return Owner(owner), sel
}
