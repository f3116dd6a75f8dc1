package dispatch

import (
	"time"

	"github.com/runnerhub/runnerhub/hub"
)

// Bounds of requests to reach into a job.
const (
	MaxExecTimeout     = time.Hour
	DefaultExecTimeout = time.Minute
	CopyTimeout        = 10 * time.Minute
	MaxExecStdin       = 1 << 20
	MaxExecChunk       = 32 << 10  // of a command's output, in one call
	MaxCopyChunk       = 256 << 10 // of an archive, in one call

	DefaultExecPage = 32 << 10
	MaxExecPage     = 256 << 10

	maxOpenExecs = 4        // of one job
	maxCommand   = 64 << 10 // of command and environment, in bytes
	maxAuditArgv = 1 << 10  // of a command in an event, in bytes
)

// ExecRequest runs a command in a container of a job.
type ExecRequest struct {
	JobID      string
	Service    string // "" is the job's own container
	Command    []string
	Env        map[string]string
	User       string
	WorkingDir string
	Stdin      []byte         // at most MaxExecStdin
	Timeout    time.Duration  // at most MaxExecTimeout; 0 is DefaultExecTimeout
	Wait       time.Duration  // for its end, at most MaxWait
	MaxBytes   int64          // of each output in the answer, about
	Progress   func(hub.Exec) // see SubmitRequest
}

// CopyRequest moves a tar archive between a caller and a container of a job.
type CopyRequest struct {
	JobID   string
	Service string
	Path    string
	Put     bool
	Bytes   int64 // of the archive that is put
}

// WaitExecRequest waits for more of a request.
type WaitExecRequest struct {
	JobID      string
	ExecID     string
	StdoutFrom int64
	StderrFrom int64
	Wait       time.Duration
	MaxBytes   int64
	Progress   func(hub.Exec) // see SubmitRequest
}

// ExecPage is a request and a part of its output.
type ExecPage struct {
	Exec                   hub.Exec
	Stdout, Stderr         []byte
	StdoutNext, StderrNext int64
	Done                   bool
}

// ExecOrder is a request on its way to the runner.
type ExecOrder struct {
	hub.Exec
	Stop bool // it has begun: end it
}
