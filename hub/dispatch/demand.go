package dispatch

import (
	"context"
	"fmt"
	"sync"

	"github.com/runnerhub/runnerhub/hub"
	"github.com/runnerhub/runnerhub/topology/policy"
)

// demandOf is what a job asks of the machine that runs it, and of its owner.
func demandOf(p hub.JobPayload) hub.Demand {
	d := hub.Demand{Requires: p.Requires, Labels: p.Labels}
	if p.Needs == "" {
		return d
	}
	needs := sync.OnceValue(func() []policy.Need { return needsOf(p) })
	d.Denied = func(r hub.Runner) []hub.Reason {
		if r.Policy == "" {
			return nil
		}
		return refusals(r, needs())
	}
	return d
}

// denied lists what a runner's owner refuses a job for.
func denied(r hub.Runner, p hub.JobPayload) []hub.Reason {
	if r.Policy == "" || p.Needs == "" {
		return nil
	}
	return refusals(r, needsOf(p))
}

// needsOf reads what was stored with the job. What cannot be read is not held against it: the runner looks for itself.
func needsOf(p hub.JobPayload) []policy.Need {
	needs, err := policy.DecodeNeeds([]byte(p.Needs))
	if err != nil {
		return nil
	}
	return needs
}

// refusals compares needs with what a runner told of its owner's policy. One that cannot be read refuses nothing here.
func refusals(r hub.Runner, needs []policy.Need) []hub.Reason {
	allowed, err := policy.ReadOutline([]byte(r.Policy))
	if err != nil {
		return nil
	}
	var out []hub.Reason
	for _, v := range policy.CheckNeeds(allowed, needs) {
		out = append(out, hub.Reason{
			Code: hub.ReasonPolicy, Message: fmt.Sprintf("the owner of %s does not allow it: %s", r.Label, v), Hint: v.Allow, Lines: v.Lines(),
		})
	}
	return out
}

// heardPolicy keeps what a runner told of its owner's policy, when that is news, and puts it into the caller.
func (s *Service) heardPolicy(ctx context.Context, p *hub.Principal, told []byte) error {
	outline := ""
	if len(told) > 0 {
		allowed, err := policy.ReadOutline(told)
		if err != nil {
			return hub.Errorf(hub.InvalidArgument, "policy: %v", err).WithHint("send what runnerctl makes of the owner's policy, or nothing")
		}
		outline = string(allowed.Outline()) // in one form, whatever wrote it
	}
	if outline == p.Runner.Policy {
		return nil
	}
	err := s.store.SavePolicy(ctx, p.Runner.ID, outline, hub.Event{
		Time: s.clock.now(), Actor: p.Actor(), OnBehalfOf: string(p.Runner.Owner), Action: hub.ActRunnerPolicy, Address: p.Address,
		Owner: p.Runner.Owner, RunnerID: p.Runner.ID,
	})
	if err != nil {
		return err
	}
	p.Runner.Policy = outline
	return nil
}
