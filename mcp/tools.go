package mcp

// Names of the runner's tools. Only an rnr_ token sees them.
const (
	ToolLeaseJob        = "lease_job"
	ToolHeartbeatJob    = "heartbeat_job"
	ToolSubmitJobResult = "submit_job_result"
	ToolFailJob         = "fail_job"
	ToolReleaseJob      = "release_job"
	ToolUploadArtifact  = "upload_artifact"
	ToolUnpairRunner    = "unpair_runner" // ends the calling runner's own pairing
)

// Names of the tools of agents and people. An rnr_ token never sees them.
const (
	ToolSubmitJob             = "submit_job"
	ToolSubmitJobs            = "submit_jobs"
	ToolWaitJobs              = "wait_jobs"
	ToolCancelJobs            = "cancel_jobs"
	ToolCheckJob              = "check_job"
	ToolWaitJob               = "wait_job"
	ToolGetJob                = "get_job"
	ToolListJobs              = "list_jobs"
	ToolCancelJob             = "cancel_job"
	ToolRetryJob              = "retry_job"
	ToolExecInJob             = "exec_in_job"
	ToolWaitExec              = "wait_exec"
	ToolStopExec              = "stop_exec"
	ToolEndHold               = "end_hold"
	ToolReadJobFile           = "read_job_file"
	ToolWriteJobFile          = "write_job_file"
	ToolExplainJob            = "explain_job"
	ToolReadJobLog            = "read_job_log"
	ToolListArtifacts         = "list_artifacts"
	ToolReadArtifact          = "read_artifact"
	ToolListRunners           = "list_runners"
	ToolPairRunner            = "pair_runner"
	ToolRevokeRunner          = "revoke_runner"
	ToolListWorkspaceRunners  = "list_workspace_runners"
	ToolPairWorkspaceRunner   = "pair_workspace_runner"
	ToolRevokeWorkspaceRunner = "revoke_workspace_runner"
	ToolWhoami                = "whoami"
)
