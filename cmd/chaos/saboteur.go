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
	Names   map[string]string `json:"names"`   // runner's id → name
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

// strike writes once by a lease of its loot: with the right token if the attempt has ended, or with that of the runner
// that holds the job now; while the attempt lives with another runner's token, or with a nonce of another lease.
func (s *saboteur) strike(ctx context.Context) error {
	if len(s.loot) == 0 {
		return nil
	}
	l := s.pick()
	got, err := s.people.GetJob(ctx, mcp.JobRef{JobID: l.lease.JobID})
	if err != nil {
		return err
	}
	state, holder := "", ""
	for _, a := range got.Job.Attempts {
		if a.Number == l.lease.Attempt {
			state = a.State
		}
		if a.State == "leased" || a.State == "running" {
			holder = s.cfg.Names[a.RunnerID]
		}
	}
	token := s.cfg.Tokens[l.owner]
	switch other := s.loot[s.rand.IntN(len(s.loot))].lease.LeaseToken; {
	case state == "":
		return nil
	case holder == "":
	case holder != l.owner || state == "lost" || state == "released" || state == "failed":
		token = s.cfg.Tokens[holder]
	case s.rand.IntN(2) == 0 && other != l.lease.LeaseToken:
		l.lease.LeaseToken = other
	default:
		token = s.cfg.Token
	}
	c, err := s.client(token)
	if err != nil {
		return err
	}
	s.replay(ctx, c, l, state)
	return nil
}

// pick draws mostly from the last leases, whose jobs are still about; every other time one that another has followed.
func (s *saboteur) pick() loot {
	from := s.loot
	if s.rand.IntN(2) == 0 {
		if over := s.followed(); len(over) > 0 {
			from = over
		}
	}
	back := int(s.rand.ExpFloat64() * 10)
	return from[max(0, len(from)-1-back)]
}

// followed lists the leases whose job was leased again since.
func (s *saboteur) followed() []loot {
	latest := map[string]int{}
	for _, l := range s.loot {
		latest[l.lease.JobID] = max(latest[l.lease.JobID], l.lease.Attempt)
	}
	var out []loot
	for _, l := range s.loot {
		if l.lease.Attempt < latest[l.lease.JobID] {
			out = append(out, l)
		}
	}
	return out
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
