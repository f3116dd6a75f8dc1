// Package run is `runnerctl run`.
package run

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/mcp/mcpclient"
	"github.com/runnerhub/runnerhub/runnerctl/agent"
	"github.com/runnerhub/runnerhub/runnerctl/cloud"
	"github.com/runnerhub/runnerhub/runnerctl/cmdutil"
	"github.com/runnerhub/runnerhub/runnerctl/policyfile"
	"github.com/runnerhub/runnerhub/runnerctl/power"
	"github.com/runnerhub/runnerhub/runnerctl/source"
	"github.com/runnerhub/runnerhub/topology"
)

// closeWithin bounds the removal of the last topologies at the end.
const closeWithin = time.Minute

// maxSlots is the most that the hub lets a runner have.
const maxSlots = 256

// Options is what the command line says.
type Options struct {
	F            *cmdutil.Factory
	Slots        int
	Once         bool
	DrainTimeout time.Duration
	Subnets      string
	WarmFor      time.Duration
	ReadyPod     bool
	MaxHold      time.Duration
	CacheSize    string
	LogLevel     string
	LogFormat    string
	Mirrors      []string
}

// New makes the command; run replaces its body in tests.
func New(f *cmdutil.Factory, run func(context.Context, *Options) error) *cobra.Command {
	if run == nil {
		run = start
	}
	o := &Options{F: f}
	c := &cobra.Command{
		Use:   "run",
		Short: "Take jobs and run them until told to stop",
		Long: "Take jobs and run them until told to stop. The first SIGTERM or SIGINT drains: no new jobs, the running ones finish or,\n" +
			"after --drain-timeout, go back to the queue. A second one stops them at once and gives them back. A third one ends the\n" +
			"program as it stands.\n\n" +
			"A program that was killed takes up the jobs that it ran when it is started again while their leases hold, and removes what\n" +
			"else it left. Results and log bytes that the hub has not confirmed are kept on disk and sent when it is in reach\n" +
			"again, also after a restart of this program.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			switch {
			case o.Slots < 1 || o.Slots > maxSlots:
				return cmdutil.Usagef("--slots takes 1 to %d", maxSlots)
			case o.Once && c.Flags().Changed("slots"):
				return cmdutil.Usagef("--once runs one job, so --slots has no effect with it")
			case o.DrainTimeout < 0:
				return cmdutil.Usagef("--drain-timeout must not be negative")
			case o.WarmFor < 0:
				return cmdutil.Usagef("--warm-for must not be negative; 0 keeps no services between jobs")
			case o.ReadyPod && o.WarmFor == 0:
				return cmdutil.Usagef("--ready-pod has no effect with --warm-for 0")
			case o.MaxHold < 0:
				return cmdutil.Usagef("--max-hold must not be negative")
			}
			if _, err := openCache(o, ""); err != nil {
				return err
			}
			subnets, err := parseSubnets(o.Subnets)
			if err != nil {
				return err
			}
			o.F.Engine = cmdutil.EngineOptions{Slots: o.Slots, Subnets: subnets, WarmFor: o.WarmFor, ReadyPod: o.ReadyPod}
			return run(c.Context(), o)
		},
	}
	c.Flags().IntVar(&o.Slots, "slots", 1, "how many jobs to run at once, 1 to 256")
	c.Flags().BoolVar(&o.Once, "once", false, "exit after one job")
	c.Flags().DurationVar(&o.DrainTimeout, "drain-timeout", 0, "how long a drain waits for running jobs before it gives them back (default: until they end)")
	c.Flags().StringVar(&o.Subnets, "subnets", "", "ranges that networks get their addresses from, `CIDR[,CIDR]`, or \"engine\" for Docker's own (default: 10.231.0.0/16,192.168.224.0/19)")
	c.Flags().DurationVar(&o.WarmFor, "warm-for", 10*time.Minute, "how long services with reuse, and a ready pod, stay for the next job; 0 is not at all")
	c.Flags().BoolVar(&o.ReadyPod, "ready-pod", false, "while no job runs, hold a network open for the next one without services, which starts sooner for it")
	c.Flags().DurationVar(&o.MaxHold, "max-hold", time.Hour, "the longest that a failed job is held for its submitter to look into; 0 is never")
	c.Flags().StringVar(&o.CacheSize, "cache-size", "10GiB", "how much disk the cache of jobs' folders may take; 0 keeps none, and removes what is kept")
	c.Flags().StringVar(&o.LogLevel, "log-level", "info", "debug, info, warn or error")
	c.Flags().StringVar(&o.LogFormat, "log-format", "text", "text or json")
	c.Flags().StringArrayVar(&o.Mirrors, "git-mirror", nil, "URL-PREFIX=LOCATION: fetch repositories whose URLs begin with the prefix from there first, a folder or a URL; may be repeated")
	cmdutil.Complete(c, "log-level", "debug", "info", "warn", "error")
	cmdutil.Complete(c, "log-format", "text", "json")
	cmdutil.HandlesSignals(c)
	return c
}

func start(ctx context.Context, o *Options) error {
	log, err := logger(o)
	if err != nil {
		return err
	}
	var sources source.Fetcher
	for _, text := range o.Mirrors {
		m, err := source.ParseMirror(text)
		if err != nil {
			return cmdutil.Usagef("--git-mirror: %w", err)
		}
		sources.Mirrors = append(sources.Mirrors, m)
	}
	name, p, err := o.F.Profile()
	if err != nil {
		return err
	}
	token, err := o.F.Token(name, p)
	if err != nil {
		return err
	}
	client, err := mcpclient.New(mcpclient.Config{
		URL: p.Hub, Token: func() string { return token }, Logger: log, Retry: mcpclient.NoRetry,
		Connections: 2*o.Slots + 2, // a held heartbeat and what is reported for each slot, the lease and the log
	})
	if err != nil {
		return err
	}
	defer client.Close() // nothing is under way any more
	sources.Open = opener(client)
	caches, err := openCache(o, name)
	if err != nil {
		return err
	}
	executor, err := o.F.NewExecutor(ctx)
	if err != nil {
		return noEngine(err)
	}
	if o.MaxHold == 0 {
		o.MaxHold = -1
	}
	a := agent.New(agent.Config{
		Execs: client, MaxHold: o.MaxHold,
		Client: client, Executor: executor, RunnerID: p.RunnerID, SpoolDir: o.F.SpoolDir(name), Sources: &sources, Compose: o.F.Compose, Caches: caches,
		Slots: o.Slots, Once: o.Once, DrainTimeout: o.DrainTimeout, Logger: log,
		Policy: policyfile.In(o.F.ConfigDir).Load, OnBattery: power.OnBattery, OpenMetadata: cloud.OpenMetadata(),
	})
	log.Info("runner started", "label", p.Label, "runner", p.RunnerID, "hub", p.Hub, "slots", o.Slots)
	err = serve(ctx, o, a, log)

	// Removal goes on in the background after a result is reported; it must be over before the process is.
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeWithin)
	defer cancel()
	if closeErr := executor.Close(closing); closeErr != nil {
		log.Warn("not everything was removed; the next start sweeps it", "error", closeErr)
	}
	if errors.Is(err, agent.ErrLocked) {
		return &mcp.Error{
			Code: mcp.CodeConflict, Message: "another `runnerctl run` is running with the profile " + name,
			Hint: "raise its --slots, or pair a second runner under --profile NAME",
		}
	}
	if err == nil {
		log.Info("runner stopped")
	}
	return err
}

// opener opens source archives. What the hub refuses it refuses again.
func opener(client *mcpclient.Client) func(context.Context, string) (io.ReadCloser, error) {
	return func(ctx context.Context, url string) (io.ReadCloser, error) {
		body, err := client.OpenSource(ctx, url)
		if e, ok := errors.AsType[*mcp.Error](err); ok && !e.Retryable {
			return nil, &source.Refused{Err: err}
		}
		return body, err
	}
}

func noEngine(err error) error {
	if e, ok := errors.AsType[*topology.EngineError](err); !ok || e.Kind != topology.KindUnavailable {
		return err
	}
	return &mcp.Error{
		Code: mcp.CodeUnavailable, Message: "no container engine: " + err.Error(),
		Hint: "start Docker, or say where it is with DOCKER_HOST; `runnerctl status` shows whether it is found",
	}
}

func logger(o *Options) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(o.LogLevel)); err != nil {
		return nil, cmdutil.Usagef("--log-level %q is not debug, info, warn or error", o.LogLevel)
	}
	opts := &slog.HandlerOptions{Level: level}
	switch o.LogFormat {
	case "text":
		return slog.New(slog.NewTextHandler(o.F.IO.Err, opts)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(o.F.IO.Err, opts)), nil
	}
	return nil, cmdutil.Usagef("--log-format %q is not text or json", o.LogFormat)
}
