package main

import (
	"context"
	"io"
	"log/slog"
	"math/rand/v2"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/mcp/mcpclient"
)

// saboteurConfig is where the saboteur steals.
type saboteurConfig struct {
	Hub     string            `json:"hub"`
	Seed    uint64            `json:"seed"`
	Key     string            `json:"key"`     // a person's, to see which attempts have ended
	Token   string            `json:"token"`   // of a runner of its own
	Ledgers string            `json:"ledgers"` // folder of the runners' ledgers, NAME.jsonl
	Tokens  map[string]string `json:"tokens"`  // runner's name → token
	Ledger  string            `json:"ledger"`
	Every   time.Duration     `json:"every"`
}

// saboteur writes by leases that it has no right to.
type saboteur struct {
	cfg     saboteurConfig
	rand    *rand.Rand
	ledger  *ledger
	log     *slog.Logger
	people  *mcpclient.Client
	offsets map[string]int64
	loot    []loot
	clients map[string]*mcpclient.Client // by token
}

// loot is a lease and the runner that was given it.
type loot struct {
	owner string
	lease mcp.Lease
}

// runSaboteur replays leases until SIGTERM. What it sends differs from every true report, so whatever the hub accepts
// is a stale write.
func runSaboteur(ctx context.Context, path string, out io.Writer) error {
	s := &saboteur{offsets: map[string]int64{}, clients: map[string]*mcpclient.Client{}, log: slog.New(slog.NewTextHandler(out, nil))}
	if err := readConfig(path, &s.cfg); err != nil {
		return err
	}
	var err error
	if s.ledger, err = openLedger(s.cfg.Ledger); err != nil {
		return err
	}
	s.rand = rand.New(rand.NewPCG(s.cfg.Seed, 0xbad))
	if s.people, err = s.client(s.cfg.Key); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM)
	defer stop()
	s.log.Info("saboteur started")
	for wait(ctx, s.cfg.Every) {
		if err := s.steal(); err != nil {
			return err
		}
		if err := s.strike(ctx); err != nil && ctx.Err() == nil {
			s.log.Warn("a strike came to nothing", "err", err)
		}
	}
	return nil
}

// steal reads on in the runners' ledgers.
func (s *saboteur) steal() error {
	for name := range s.cfg.Tokens {
		path := filepath.Join(s.cfg.Ledgers, name+".jsonl")
		found, next, err := readLedger(path, s.offsets[name])
		if err != nil {
			return err
		}
		s.offsets[name] = next
		for _, e := range found {
			if e.Lease != nil {
				s.loot = append(s.loot, loot{owner: name, lease: *e.Lease})
			}
		}
	}
	return nil
}

// strike writes once by a lease of its loot. One whose attempt lives is used with another runner's token, one whose
// attempt has ended with the right one.
func (s *saboteur) strike(ctx context.Context) error {
	if len(s.loot) == 0 {
		return nil
	}
	// Mostly of the last ones: their jobs are still about.
	back := int(s.rand.ExpFloat64() * 20)
	l := s.loot[max(0, len(s.loot)-1-back)]
	got, err := s.people.GetJob(ctx, mcp.JobRef{JobID: l.lease.JobID})
	if err != nil {
		return err
	}
	state := ""
	for _, a := range got.Job.Attempts {
		if a.Number == l.lease.Attempt {
			state = a.State
		}
	}
	token := s.cfg.Tokens[l.owner]
	switch state {
	case "":
		return nil
	case "leased", "running":
		token = s.cfg.Token
	}
	c, err := s.client(token)
	if err != nil {
		return err
	}
	s.replay(ctx, c, l, state)
	return nil
}

func (s *saboteur) client(token string) (*mcpclient.Client, error) {
	if c := s.clients[token]; c != nil {
		return c, nil
	}
	c, err := mcpclient.New(mcpclient.Config{URL: s.cfg.Hub, Token: func() string { return token }, Retry: mcpclient.NoRetry})
	if err == nil {
		s.clients[token] = c
	}
	return c, err
}

// replay makes one call and notes whether the hub took it. An answer that did not come, or that says nothing about the
// lease, is noted as a retry.
func (s *saboteur) replay(ctx context.Context, c *mcpclient.Client, l loot, state string) {
	p := mcp.LeaseProof{JobID: l.lease.JobID, Attempt: l.lease.Attempt, LeaseEpoch: l.lease.LeaseEpoch, LeaseToken: l.lease.LeaseToken}
	var (
		tool     string
		err      error
		accepted bool
	)
	switch s.rand.IntN(5) {
	case 0:
		tool = mcp.ToolHeartbeatJob
		var res mcp.HeartbeatJobResult
		res, err = c.HeartbeatJob(ctx, mcp.HeartbeatJobArgs{LeaseProof: p, Phase: "running"})
		accepted = err == nil && res.State != mcp.HeartbeatStale
	case 1:
		tool = mcp.ToolSubmitJobResult
		// Every plan's own result has output.
		_, err = c.SubmitJobResult(ctx, mcp.SubmitJobResultArgs{LeaseProof: p, Result: mcp.Result{Status: "succeeded", ExitCode: new(int)}})
		accepted = err == nil
	case 2:
		tool = mcp.ToolFailJob
		_, err = c.FailJob(ctx, mcp.FailJobArgs{LeaseProof: p, Class: "runner_lost", Message: "sabotage"})
		accepted = err == nil
	case 3:
		if state == "released" { // giving back twice is no write
			return
		}
		tool = mcp.ToolReleaseJob
		_, err = c.ReleaseJob(ctx, mcp.ReleaseJobArgs{LeaseProof: p, Reason: "sabotage"})
		accepted = err == nil
	default:
		if state != "lost" && state != "released" { // the URL itself is the right to write, and a log may come late
			return
		}
		tool = toolPutLog
		_, err = c.PutLog(ctx, l.lease.LogURL, 0, []byte(strings.Repeat("sabotage\n", 100)))
		accepted = err == nil
	}
	e := of(p, didReplay, tool)
	e.Status, e.Accepted, e.Code = state, accepted, codeOf(err)
	switch mcp.Code(e.Code) {
	case "", mcp.CodeStaleLease, mcp.CodeAlreadySettled, mcp.CodeConflict:
	default:
		e.Did = didRetry
	}
	if err == nil || e.Code != "" {
		s.ledger.note(e)
	}
}
