package main

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/runnerhub/runnerhub/mcp/mcpclient"
	"github.com/runnerhub/runnerhub/runnerctl/agent"
)

// runnerConfig is one paired runner.
type runnerConfig struct {
	Hub      string        `json:"hub"`
	RunnerID string        `json:"runner_id"`
	Token    string        `json:"token"`
	Spool    string        `json:"spool"`
	Ledger   string        `json:"ledger"`
	Slots    int           `json:"slots"`
	Skew     time.Duration `json:"skew"` // how far this process's calendar is ahead; .ci/lib/chaos.sh builds the program that has one
}

// runRunner is runnerctl's runner as it is, but for its engine: it runs plans. SIGTERM drains it, a second one gives
// back what it runs.
func runRunner(ctx context.Context, path string, out io.Writer) error {
	var cfg runnerConfig
	if err := readConfig(path, &cfg); err != nil {
		return err
	}
	l, err := openLedger(cfg.Ledger)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: slog.LevelDebug}))
	client, err := mcpclient.New(mcpclient.Config{
		URL: cfg.Hub, Token: func() string { return cfg.Token }, Logger: log, Retry: mcpclient.NoRetry, Connections: 2*cfg.Slots + 2,
	})
	if err != nil {
		return err
	}
	defer client.Close()
	a := agent.New(agent.Config{
		Client: &noted{Client: client, ledger: l, skew: cfg.Skew}, Executor: engine(l),
		RunnerID: cfg.RunnerID, SpoolDir: cfg.Spool, Slots: cfg.Slots, Logger: log,
	})
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM)
	go func() { // ends with the process
		<-signals
		a.Drain()
		<-signals
		cancel()
	}()
	log.Info("runner started", "runner", cfg.RunnerID, "skew", cfg.Skew)
	return a.Run(ctx)
}

func readConfig(path string, into any) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, into)
}
