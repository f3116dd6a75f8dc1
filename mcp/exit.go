package mcp

// Exit codes of runnerctl. Commands that follow a job (submit --follow) mirror
// its end: 0 for succeeded, the job's own exit code where it has one, else one
// of the job codes below.
const (
	ExitOK          = 0
	ExitFailure     = 1  // any failure without a code of its own; a job that failed without an exit code
	ExitUsage       = 2  // wrong flags, arguments or job spec
	ExitAuth        = 3  // not signed in, or not allowed
	ExitNotFound    = 4  // no such job, runner or workspace
	ExitConflict    = 5  // the state of things does not allow it
	ExitUnavailable = 6  // the hub or the engine cannot be reached, or a limit is reached; try again
	ExitInternal    = 70 // a fault of the program's or the hub's (sysexits EX_SOFTWARE)
	ExitRejected    = 121
	ExitJobCanceled = 122
	ExitJobTimedOut = 124 // as timeout(1)
	ExitInterrupted = 130 // SIGINT
)
