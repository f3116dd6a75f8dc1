package agent

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/policy"
)

// Client is the part of a hub that a runner talks to. *mcpclient.Client is one.
// Errors of the hub's and of the network's are *mcp.Error. A call ends when its context ends.
//
// The runner repeats calls itself, forever where that is right, so a client of
// its own should not (mcpclient.NoRetry).
type Client interface {
	LeaseJob(ctx context.Context, args mcp.LeaseJobArgs) (mcp.LeaseJobResult, error)
	HeartbeatJob(ctx context.Context, args mcp.HeartbeatJobArgs) (mcp.HeartbeatJobResult, error)
	SubmitJobResult(ctx context.Context, args mcp.SubmitJobResultArgs) (mcp.ReportResult, error)
	FailJob(ctx context.Context, args mcp.FailJobArgs) (mcp.SettleResult, error)
	ReleaseJob(ctx context.Context, args mcp.ReleaseJobArgs) (mcp.ReleaseJobResult, error)
	// UploadArtifact announces a file that an attempt left, and Upload sends what the answer asks for of it.
	UploadArtifact(ctx context.Context, args mcp.UploadArtifactArgs) (mcp.UploadTicket, error)
	Upload(ctx context.Context, t mcp.UploadTicket, from io.ReaderAt, size int64, sent func(int64)) error
	PutLog(ctx context.Context, logURL string, offset int64, chunk []byte) (mcp.PutLogResult, error)
}

// Config is what a runner needs to know. Client, Executor, RunnerID and SpoolDir
// are required; everything else has a default.
type Config struct {
	Client   Client
	Executor topology.Executor

	// RunnerID is the id that the machine got when it was paired. It becomes a
	// label of every container.
	RunnerID string
	// HubID is the hub's id, where it is known. Else the runner asks the hub, and
	// remembers it in the spool.
	HubID string
	// SpoolDir is where unsent results and log bytes live, on a local disk. One
	// process at a time uses it; a second one is told ErrLocked. It is made if absent.
	SpoolDir string

	// Sources gets the trees that jobs start with; without it such jobs fail here.
	Sources Sources

	// Caches keeps folders of jobs between them; nil keeps none.
	Caches Caches

	// Slots is how many jobs run at once; default 1.
	Slots int
	// Once ends the runner after one job.
	Once bool
	// MaxHold is the most that a failed job is held for, whatever its spec asks; default an hour, negative for never.
	MaxHold time.Duration
	// Execs moves what callers ask of jobs' containers; nil lets nobody in.
	Execs ExecClient
	// DrainTimeout is how long a drain waits for the running jobs before it gives
	// their leases back; 0 waits for as long as they take.
	DrainTimeout time.Duration
	// SpoolLimit bounds the unsent log bytes of one attempt on disk. Beyond it the job waits for
	// the log to be sent; while the hub is away its middle is dropped instead. Default 64 MiB.
	SpoolLimit int64
	// FlushEvery is how long log bytes may wait for more before they are sent; default 200 ms.
	FlushEvery time.Duration

	// Compose reads the Compose files of jobs; without it jobs that have any fail.
	Compose Compose
	// Policy, where set, is what the machine's owner allows, asked every few seconds. While
	// it fails no jobs are taken. Default is the default policy.
	Policy func() (*policy.Policy, error)
	// OpenMetadata says that the metadata service of this machine's cloud is in reach of
	// open networks, which are then refused unless the policy allows that.
	OpenMetadata bool
	// OnBattery, where set, says whether the machine runs on its battery.
	OnBattery func() (bool, error)

	// Logger default none. It never gets a lease's secrets.
	Logger *slog.Logger
	// StatusFn, where set, is called with every change of the runner's status, one
	// call at a time. It must be quick.
	StatusFn func(Status)

	// spoolWrite is os.File.Write, except in tests of a full disk.
	spoolWrite func(f *os.File, b []byte) (int, error)
}

// ErrLocked means that another process uses the spool: one runner per profile.
var ErrLocked = errors.New("another runner is running with this profile")

func (c Config) withDefaults() (Config, error) {
	switch {
	case c.Client == nil:
		return c, errors.New("agent: Config.Client is missing")
	case c.Executor == nil:
		return c, errors.New("agent: Config.Executor is missing")
	case c.RunnerID == "":
		return c, errors.New("agent: Config.RunnerID is missing")
	case c.SpoolDir == "":
		return c, errors.New("agent: Config.SpoolDir is missing")
	}
	if c.Slots <= 0 || c.Once {
		c.Slots = 1
	}
	if c.MaxHold == 0 {
		c.MaxHold = time.Hour
	}
	if c.SpoolLimit <= 0 {
		c.SpoolLimit = 64 << 20
	}
	if c.FlushEvery <= 0 {
		c.FlushEvery = 200 * time.Millisecond
	}
	if c.spoolWrite == nil {
		c.spoolWrite = (*os.File).Write
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c, nil
}
