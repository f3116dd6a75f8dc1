package topology

import (
	"context"
	"io"
)

// Inside is the way into the containers of an attempt while they are there. A service is called by its name, the job's own
// container by "". Errors are of type *EngineError: KindNotFound for what is not there, KindNotRunning for a container that has
// ended or was not started.
type Inside interface {
	// Exec runs a process and waits for its end. Ending ctx kills it and what it has started, where the container has a shell
	// to do that with; the error is the cause of ctx then.
	Exec(ctx context.Context, service string, spec ExecSpec, out Output) (Exit, error)
	// CopyTo unpacks a tar stream into an absolute directory, and CopyFrom packs what is at an absolute path; see Engine.
	CopyTo(ctx context.Context, service, dir string, tar io.Reader) error
	CopyFrom(ctx context.Context, service, path string) (io.ReadCloser, error)
}

// standCommand holds a container open until it is killed. Nobody writes to its standard input.
const standCommand = `trap : HUP INT TERM; while :; do read -r _ || sleep 1; done`

// StandIn describes a container that stands in for a job's whose process has ended, to be looked at: the same image,
// environment, workspace and network, held open by shell.
func StandIn(job ContainerSpec, shell string) ContainerSpec {
	job.Beside = job.Name
	job.Name += "-held"
	job.Entrypoint, job.Command = []string{shell}, []string{"-c", standCommand}
	job.OpenStdin = true
	return job
}
