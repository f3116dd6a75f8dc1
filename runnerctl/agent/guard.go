package agent

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/policy"
)

// guardEvery is how soon a change of the policy's file, an hour that strikes and a
// plug that is pulled count.
const guardEvery = 5 * time.Second

// guard holds the machine's owner's word: whether jobs are asked for now, and what
// a job may do.
type guard struct {
	load    func() (*policy.Policy, error)
	battery func() (bool, error)
	exposed bool // Config.OpenMetadata
	logger  *slog.Logger
	board   *board

	mu      sync.Mutex
	policy  *policy.Policy
	outline []byte
	closed  string        // why no jobs are asked for; "" while they are
	changed chan struct{} // closed at every change of what is above
	// deaf is the release of a hub that knows of no policies. It refuses calls that tell of one.
	deaf string
}

func newGuard(c Config, b *board) *guard {
	first := &policy.Policy{OpenMetadata: c.OpenMetadata}
	return &guard{
		load: c.Policy, battery: c.OnBattery, exposed: c.OpenMetadata, logger: c.Logger, board: b,
		policy: first, outline: first.Outline(), changed: make(chan struct{}),
	}
}

// run looks from time to time until ctx ends.
func (g *guard) run(ctx context.Context) {
	for sleep(ctx, guardEvery) {
		g.look(time.Now())
	}
}

// look asks the owner's policy, the clock and the battery.
func (g *guard) look(now time.Time) {
	p, why, level := g.ask(now)
	g.mu.Lock()
	if p == nil {
		p = g.policy // what jobs that run were started under; no new one is
	}
	outline := p.Outline()
	news := why != g.closed
	if news || !bytes.Equal(outline, g.outline) {
		close(g.changed)
		g.changed = make(chan struct{})
	}
	g.policy, g.outline, g.closed = p, outline, why
	g.mu.Unlock()
	if !news {
		return
	}
	if why != "" {
		g.logger.Warn("no jobs are taken", "why", why)
	} else {
		g.logger.Info("jobs are taken again")
	}
	g.board.change(func(b *board) { b.closed, b.closedLevel = why, level })
}

// ask returns the policy, nil where nobody knows it, and why no jobs are taken by it.
func (g *guard) ask(now time.Time) (p *policy.Policy, why, level string) {
	p = &policy.Policy{}
	if g.load != nil {
		var err error
		if p, err = g.load(); err != nil {
			return nil, err.Error(), "error"
		}
	}
	if g.exposed {
		own := *p
		own.OpenMetadata, p = true, &own
	}
	if open, next := p.Open(now); !open {
		why = "it is outside its owner's hours (" + hours(p) + ")"
		if !next.IsZero() {
			why += "; again from " + next.Format("Mon 15:04 MST")
		}
		return p, why, "warning"
	}
	if p.NotOnBattery && g.battery != nil {
		switch on, err := g.battery(); {
		case err != nil:
			return p, "its owner wants none on battery, and it cannot be told what the machine runs on: " + err.Error(), "error"
		case on:
			return p, "the machine runs on its battery", "warning"
		}
	}
	return p, "", ""
}

func hours(p *policy.Policy) string {
	out := make([]string, len(p.Hours))
	for i, w := range p.Hours {
		out[i] = string(w)
	}
	return strings.Join(out, ", ")
}

// state says whether jobs are asked for, and returns a channel that is closed when the policy changes.
func (g *guard) state() (open bool, changed <-chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.closed == "", g.changed
}

// lease calls lease_job with an outline of the policy, and without one where the
// hub does not know what that is.
func (a *Agent) lease(ctx context.Context, args mcp.LeaseJobArgs) (mcp.LeaseJobResult, error) {
	g := a.guard
	g.mu.Lock()
	args.Policy = bytes.Clone(g.outline)
	deaf := g.deaf
	g.mu.Unlock()
	if deaf == "" {
		res, err := a.client.LeaseJob(ctx, args)
		if codeOf(err) != mcp.CodeInvalidArgument {
			return res, err
		}
	}
	args.Policy = nil
	res, err := a.client.LeaseJob(ctx, args)
	if err == nil {
		g.mu.Lock()
		if g.deaf == "" || g.deaf == res.ServerVersion {
			g.deaf = res.ServerVersion
		} else {
			g.deaf = "" // the hub was replaced: tell it
		}
		g.mu.Unlock()
	}
	return res, err
}

// owner is what the machine's owner allows now.
func (g *guard) owner() *policy.Policy {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.policy
}

// admit is admit for an attempt: one that an earlier process began was allowed then, and goes on.
func (t *attempt) admit(p *policy.Policy, spec *topology.Spec) (*topology.Spec, *topology.Failure) {
	if !t.begun {
		return admit(p, spec)
	}
	if bounded, v := policy.Bound(p, spec); v == nil {
		return bounded, nil
	}
	return spec, nil
}

// admit holds a job against the owner's policy. It returns the spec to run, with
// the policy's ceiling as limits where the job names none, or why there is none.
func admit(p *policy.Policy, spec *topology.Spec) (*topology.Spec, *topology.Failure) {
	// Hours say when jobs are asked for. One that was leased within them may begin a moment after.
	found := policy.Check(p, spec, time.Time{})
	if len(found) == 0 {
		bounded, v := policy.Bound(p, spec)
		if v == nil {
			return bounded, nil
		}
		found = []policy.Violation{*v}
	}
	f := &topology.Failure{
		Class: topology.ClassPolicyDenied, Container: found[0].Container,
		Message: "The owner of this runner does not allow it:", Hint: "Change the job, or ask the machine's owner, who can allow it there.",
	}
	if len(found) == 1 {
		f.Message += " " + found[0].String() + "."
		f.Hint = fmt.Sprintf("Change the job, or ask the machine's owner, who can allow it there with `%s`.", found[0].Allow)
		return nil, f
	}
	for _, v := range found {
		f.Message += "\n" + v.Lines()
	}
	return nil, f
}
