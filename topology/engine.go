package topology

import (
	"context"
	"io"
	"time"
)

// Engine is what an execution needs of a container engine, in the words of the
// domain. topology/docker and topologytest.Fake implement it and pass the suite
// of topologytest.TestEngine.
//
// The life of a container: CreateContainer makes it from an image that is
// present, on a network and with volumes that exist; it runs nothing yet and can
// be given files. Start runs it, once, and returns the Process that is its main
// process. While that lives, Exec runs further processes in it and Signal
// reaches the main process. When the main process has ended the container is
// still there, to be looked at by Observe, until RemoveContainer, which also
// ends whatever still runs. A network and a volume can be removed only when no
// container uses them.
//
// Resources are called by the name that their creator chose; names are unique
// on an engine. Every method may be called from several goroutines. Those with
// a context return soon after it ends. Errors are of type *EngineError, so that
// KindOf says what to do about them. An engine does only what it is told: which
// operation follows from what is a Plan's matter.
type Engine interface {
	// Info describes the engine.
	Info(ctx context.Context) (EngineInfo, error)
	// Ping says whether the engine still answers. It costs next to nothing.
	Ping(ctx context.Context) error
	// Close frees the connection to the engine and leaves its resources alone.
	Close() error

	// Image describes an image that is present; KindNotFound when it is not.
	Image(ctx context.Context, ref string) (Image, error)
	// Pull fetches an image for platform ("" is the engine's own) from its registry.
	// progress, called from one goroutine at a time, may be nil.
	Pull(ctx context.Context, ref, platform string, progress func(PullProgress)) error

	// Build makes an image of a context, a tar stream. out, which hears what is said
	// meanwhile, is called from one goroutine; the error's kind is KindBuild when a
	// step of the build failed, and KindPull when an image that it begins with is not
	// to be had. What a failed build leaves is removed.
	Build(ctx context.Context, spec BuildSpec, tar io.Reader, out Output) error

	CreateNetwork(ctx context.Context, spec NetworkSpec) error
	CreateVolume(ctx context.Context, spec VolumeSpec) error
	CreateContainer(ctx context.Context, spec ContainerSpec) error
	// OpenDir lets every user of a created container write to an absolute directory
	// in it, which is made if need be.
	OpenDir(ctx context.Context, container, dir string) error
	// CopyTo unpacks a tar stream into an absolute directory of a container that was
	// created and perhaps started. Owners and modes are those of the stream; those of
	// the directory itself stay. Only ctx bounds how long the stream may take.
	// KindNotFound when the container or the directory is not there.
	CopyTo(ctx context.Context, container, dir string, tar io.Reader) error
	// CopyFrom returns the file or folder at an absolute path of a container, running
	// or not, as a tar stream; its entries begin with the path's last element and a
	// symbolic link comes as one. The caller closes it. KindNotFound when the
	// container or the path is not there.
	CopyFrom(ctx context.Context, container, path string) (io.ReadCloser, error)

	// Start runs a created container. It is heard from its first byte on: output
	// and exit are listened for before the process exists. out is called from one
	// goroutine; while it blocks the container's own writes come to block too.
	Start(ctx context.Context, container string, out Output) (Process, error)
	// Attach is Start for a container that was started already, be it by another
	// process: out receives its output from the places in from on, with what it wrote
	// while nobody listened. An engine keeps some tens of megabytes of output; where
	// from lies before that, out is told so on System. KindNotRunning when the
	// container was never started.
	Attach(ctx context.Context, container string, from Offsets, out Output) (Process, error)
	// Exec runs a process in a started container and waits for its end. Ending ctx
	// abandons the process but does not end it.
	Exec(ctx context.Context, container string, spec ExecSpec, out Output) (Exit, error)
	// Signal sends a signal ("SIGTERM") to a container's main process; KindNotFound
	// or KindNotRunning when there is none.
	Signal(ctx context.Context, container, signal string) error
	// SignalAll sends a signal to every process of the container except its main
	// process. shell is an interpreter of sh that the image has.
	SignalAll(ctx context.Context, container, shell, signal string) error
	// OutOfMemory says whether a process of a running container was killed for want of
	// memory since it was last asked. shell is an interpreter of sh that the image has.
	OutOfMemory(ctx context.Context, container, shell string) bool
	// WatchMemory calls killed with the name of each container, anybody's, of which a process was killed
	// for its limit on memory since then, the main process or another, as soon as that happens and until
	// ctx ends; its error is never nil. What happened before the call is told as far as the engine
	// remembers, and nothing by one that does not listen to that.
	WatchMemory(ctx context.Context, since time.Time, killed func(container string)) error
	// Usage is what a running container has consumed so far.
	Usage(ctx context.Context, container string) (Usage, error)
	// DiskUsage is what each of the containers, running or not, has written into its own
	// file system and the volumes that it mounts, in bytes. One that is not there is left
	// out. An engine may have to walk through all these files.
	DiskUsage(ctx context.Context, containers []string) (map[string]int64, error)
	// DiskFree is the room left on the disk that containers and volumes are on, in bytes;
	// -1 where that cannot be known.
	DiskFree(ctx context.Context) (int64, error)

	// Observe lists the resources that match, running or not.
	Observe(ctx context.Context, filter Filter) (Snapshot, error)
	// NetworkInUse says whether a container is attached to a network.
	NetworkInUse(ctx context.Context, network string) (bool, error)
	// The removals answer KindNotFound for what is not there (any more), and KindBusy
	// for what is in use or being removed already.
	RemoveContainer(ctx context.Context, name string) error
	RemoveNetwork(ctx context.Context, name string) error
	RemoveVolume(ctx context.Context, name string) error
	// RemoveImage removes an image that was built, with what it alone was made of.
	RemoveImage(ctx context.Context, name string) error
}

// Output receives what a process writes; the bytes are lent for the call.
type Output func(stream Stream, data []byte)

// Process is the main process of a started container.
type Process interface {
	// Wait returns how the process ended, after out has received all of its output.
	// A second Wait returns the same.
	Wait(ctx context.Context) (Exit, error)
	// Write writes to the standard input of a container with OpenStdin, which stays
	// open when the last one who writes to it has gone.
	Write(p []byte) (int, error)
	// Close stops listening; the process goes on. It must be called once, in the end.
	Close()
}
