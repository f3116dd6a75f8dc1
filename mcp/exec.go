package mcp

import "time"

// Held tells of a job whose attempt has failed and whose topology stays up: it is running in phase held.
type Held struct {
	Until    time.Time `json:"until"`
	LeftMS   int64     `json:"left_ms"`
	Status   string    `json:"status"` // failed or timed_out: what the attempt ends as
	ExitCode *int      `json:"exit_code,omitempty"`
}

// ExecInJobArgs runs a command in a container of a job that is held, or that runs and whose spec says exec: true. Nothing
// runs it twice: a call whose answer was lost is looked for with wait_exec, not repeated.
type ExecInJobArgs struct {
	JobID       string            `json:"job_id"`
	Service     string            `json:"service,omitempty" jsonschema:"default: the job container"`
	Command     []string          `json:"command" jsonschema:"program and arguments; no shell runs it: for a script send [sh, -c, SCRIPT]"`
	Env         map[string]string `json:"env,omitempty"` // added to the container's
	User        string            `json:"user,omitempty" jsonschema:"USER or USER:GROUP"`
	WorkingDir  string            `json:"working_dir,omitempty"` // absolute
	Stdin       string            `json:"stdin,omitempty" jsonschema:"at most 1 MiB"`
	StdinBase64 string            `json:"stdin_base64,omitempty"` // instead of stdin
	TimeoutMS   int64             `json:"timeout_ms,omitempty" jsonschema:"it is killed then"`
	WaitMS      int64             `json:"wait_ms,omitempty" jsonschema:"how long to wait for its end"`
	MaxBytes    int64             `json:"max_bytes,omitempty" jsonschema:"of each output in the answer"`
}

// WaitExecArgs waits for more output of a command, or for its end.
type WaitExecArgs struct {
	JobID      string `json:"job_id"`
	ExecID     string `json:"exec_id"`
	StdoutFrom int64  `json:"stdout_from,omitempty" jsonschema:"next_offset of an earlier answer"`
	StderrFrom int64  `json:"stderr_from,omitempty"`
	WaitMS     int64  `json:"wait_ms,omitempty" jsonschema:"how long to wait for output or the end"`
	MaxBytes   int64  `json:"max_bytes,omitempty" jsonschema:"of each output in the answer"`
}

// ExecRef names a request.
type ExecRef struct {
	JobID  string `json:"job_id"`
	ExecID string `json:"exec_id"`
}

// CopyArgs asks for a copy between a job and the caller: a tar archive that is unpacked at Path, or one of what is there.
type CopyArgs struct {
	JobID   string `json:"job_id"`
	Service string `json:"service,omitempty"`
	Path    string `json:"path"` // absolute, or relative to the job's working directory
	Put     bool   `json:"put,omitempty"`
	Bytes   int64  `json:"bytes,omitempty"` // of the archive that is put
}

// ExecResult is a request and what is new of it.
type ExecResult struct {
	JobID     string     `json:"job_id"`
	ExecID    string     `json:"exec_id"`
	State     string     `json:"state"`            // filling, parked, running or ended
	Status    string     `json:"status,omitempty"` // of an ended one: exited, failed, timed_out, stopped or lost
	ExitCode  *int       `json:"exit_code,omitempty"`
	Message   string     `json:"message,omitempty"` // why it did not exit by itself
	Stdout    ExecOutput `json:"stdout"`
	Stderr    ExecOutput `json:"stderr"`
	Truncated bool       `json:"truncated,omitempty"` // there was more output than is kept
	Done      bool       `json:"done"`                // it has ended and all of its output was given
}

// ExecOutput is a piece of what a command wrote. Bytes that are not UTF-8 are replaced in Text; Base64 then has them as they
// were.
type ExecOutput struct {
	Text       string `json:"text"`
	Base64     string `json:"base64,omitempty"`
	NextOffset int64  `json:"next_offset"`
}

// EndHoldResult is the job after the call; its runner removes what was kept and reports it.
type EndHoldResult struct {
	Job Job `json:"job"`
}

// Kinds of ExecOrder.
const (
	ExecRun     = "run"
	ExecPut     = "put"
	ExecGet     = "get"
	ExecRelease = "release"
	ExecFinish  = "finish"
)

// ExecOrder is a request as its runner gets it, with the answers to its heartbeats until it has begun. Begin it with
// POST log_url/execs/ID/begin: only who is told to go on carries it out.
type ExecOrder struct {
	ExecID      string            `json:"exec_id"`
	Kind        string            `json:"kind"` // run, put, get, release or finish
	Service     string            `json:"service,omitempty"`
	Command     []string          `json:"command,omitempty"`
	Env         map[string]string `json:"env,omitempty"`
	User        string            `json:"user,omitempty"`
	WorkingDir  string            `json:"working_dir,omitempty"`
	Path        string            `json:"path,omitempty"`
	TimeoutMS   int64             `json:"timeout_ms,omitempty"`
	InputBytes  int64             `json:"input_bytes,omitempty"`
	OutputLimit int64             `json:"output_limit,omitempty"` // of both streams together, in bytes
	Stop        bool              `json:"stop,omitempty"`         // it has begun: end it
}

// BeginExecArgs carries a word of the runner's own choice, fresh for each request. The same word again is told to go on again.
type BeginExecArgs struct {
	Claim string `json:"claim"`
}

// EndExecArgs is what a request came to. The same call again is accepted.
type EndExecArgs struct {
	Claim     string `json:"claim"`
	Status    string `json:"status"` // exited, failed, timed_out or stopped
	ExitCode  *int   `json:"exit_code,omitempty"`
	Message   string `json:"message,omitempty"`
	Truncated bool   `json:"truncated,omitempty"`
}

// PutExecResult answers PUT log_url/execs/ID/output?stream=stdout&offset=N and PUT …/execs/ID/input?offset=N.
type PutExecResult struct {
	NextOffset int64 `json:"next_offset"`
}

// Bounds of what is moved at once, in bytes.
const (
	MaxExecChunk = 32 << 10  // of a command's output
	MaxCopyChunk = 256 << 10 // of an archive, either way
	MaxExecStdin = 1 << 20
)
