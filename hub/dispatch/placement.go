package dispatch

import (
	"context"
	"fmt"
	"slices"

	"github.com/runnerhub/runnerhub/hub"
)

// maxElsewhere is how many runners of other owners' are named.
const maxElsewhere = 10

// placement is what stands between a job and each runner that could be meant.
type placement struct {
	runners  []hub.Runner           // of its queue
	list     []RunnerReason         // of these, then of runners elsewhere that could take it
	blocks   []hub.Reason           // what holds for all of them
	eligible int                    // of its queue: could take it, though perhaps not now
	ready    int                    // of these: now
	denied   int                    // of its queue: their owners' policies are in the way
	online   int                    // of these: there and taking jobs, though perhaps busy
	codes    map[hub.ReasonCode]int // of the eligible ones
	more     []string               // what would help besides what the reasons say
	named    bool
}

// placement looks at a job as it waits or, without an id, as it would.
func (s *Service) placement(ctx context.Context, c caller, q hub.QueuedJob) (placement, error) {
	j := q.Job
	out := placement{codes: map[hub.ReasonCode]int{}, named: j.RunnerID != ""}
	var err error
	if out.runners, err = s.runnersOf(ctx, j.QueueKey()); err != nil {
		return out, err
	}
	busy, err := s.store.CountLive(ctx, j.Owner)
	if err != nil {
		return out, err
	}
	if err := s.blocks(ctx, &out, j, busy); err != nil {
		return out, err
	}
	now, demand := s.clock.now(), demandOf(q.Payload)
	for _, r := range out.runners {
		eligible, reasons := hub.Explain(r, demand, busy[r.ID], now, s.policy)
		if eligible {
			out.eligible++
			for _, x := range reasons {
				out.codes[x.Code]++
			}
			if reasons[0].Code == hub.ReasonReady && len(out.blocks) > 0 {
				reasons = out.blocks
			}
		}
		if slices.ContainsFunc(reasons, func(x hub.Reason) bool { return x.Code == hub.ReasonPolicy }) {
			out.denied++
		}
		out.list = append(out.list, RunnerReason{RunnerID: r.ID, Label: r.Label, Eligible: eligible, Reasons: reasons})
	}
	out.online = out.codes[hub.ReasonReady] + out.codes[hub.ReasonBusy]
	if len(out.blocks) == 0 {
		out.ready = out.codes[hub.ReasonReady]
	}
	if out.eligible == 0 {
		return out, s.elsewhere(ctx, &out, c, q)
	}
	return out, nil
}

// blocks finds what no runner of the queue can help: caps, and the concurrency group.
func (s *Service) blocks(ctx context.Context, p *placement, j hub.Job, busy map[string]int) error {
	add := func(c hub.ReasonCode, format string, args ...any) {
		p.blocks = append(p.blocks, hub.Reason{Code: c, Message: fmt.Sprintf(format, args...)})
	}
	running := 0
	for _, n := range busy {
		running += n
	}
	if s.policy.MaxRunning > 0 && running >= s.policy.MaxRunning {
		add(hub.ReasonCapReached, "%s already runs %s, the most that it may (%s)", payer(j.Owner), count(running, "job"), hub.CapRunning)
		p.more = append(p.more, fmt.Sprintf("It starts when one of the jobs that run (%d) ends; list_jobs with state=active shows them.", running))
	}
	if most := s.policy.MaxRunningPerWorkspace; most > 0 && j.ID != "" {
		live, err := s.liveShare(ctx, j)
		if err != nil {
			return err
		}
		if live >= most {
			add(hub.ReasonCapReached, "its workspace already runs %s on these runners, the most that it may (%s)", count(live, "job"), hub.CapWorkspace)
			p.more = append(p.more, "It starts when one of its workspace's jobs there ends; list_jobs with state=active shows them.")
		}
	}
	if j.Group == "" {
		return nil
	}
	holders, err := s.store.GroupHolders(ctx, []hub.Group{j.GroupKey()})
	if err != nil {
		return err
	}
	if id := holders[j.GroupKey()]; id != "" && id != j.ID {
		add(hub.ReasonGroupBusy, "it waits for the concurrency group %q behind %s, which runs", j.Group, id)
		p.more = append(p.more, fmt.Sprintf("It can start when %s ends: follow that with wait_job, or end it with cancel_job.", id))
	}
	return nil
}

// liveShare counts the live jobs of a queued job's workspace on its owner's runners.
func (s *Service) liveShare(ctx context.Context, j hub.Job) (int, error) {
	shares, err := s.store.Shares(ctx, j.QueueKey())
	for _, x := range shares {
		if x.WorkspaceID == j.WorkspaceID {
			return x.Live, err
		}
	}
	return 0, err
}

// elsewhere finds runners of the caller's other owners that could take a job which no runner of its own queue can.
func (s *Service) elsewhere(ctx context.Context, p *placement, c caller, q hub.QueuedJob) error {
	type owner struct {
		of     hub.Owner
		whose  string // of the runner
		target string // how a job is sent there
	}
	others := []owner{{c.self, "you", "target self (`--target self`)"}}
	for _, m := range c.members {
		o := owner{hub.WorkspaceOwner(m.Workspace.ID), "the workspace " + m.Workspace.Slug, "target workspace (`--target workspace`)"}
		if m.Workspace.ID != q.Job.WorkspaceID {
			o.target = fmt.Sprintf("target workspace and workspace %s (`--target workspace --workspace %[1]s`)", m.Workspace.Slug)
		}
		others = append(others, o)
	}
	found, demand := 0, demandOf(q.Payload)
	for _, o := range others {
		if o.of == q.Job.Owner || found >= maxElsewhere {
			continue
		}
		runners, err := s.store.ListRunners(ctx, o.of, false, "", page)
		if err != nil {
			return err
		}
		fits := 0
		for _, r := range s.Fresh(runners...) {
			if r.Presence.SeenAt.IsZero() || found >= maxElsewhere { // what it can do is not known
				continue
			}
			if !r.Suits(demand) {
				continue
			}
			found++
			fits++
			p.list = append(p.list, RunnerReason{RunnerID: r.ID, Label: r.Label, Reasons: []hub.Reason{{
				Code:    hub.ReasonOwnerDiffers,
				Message: fmt.Sprintf("%s could take it and belongs to %s; the job is for runners of %s", r.Label, o.whose, s.ownerName(c, q.Job.Owner)),
			}}})
		}
		if fits > 0 {
			p.more = append(p.more, fmt.Sprintf("%s of %s could take it: submit it with %s.", count(fits, "runner"), o.whose, o.target))
		}
	}
	return nil
}

// ownerName is what the caller calls an owner.
func (*Service) ownerName(c caller, o hub.Owner) string {
	if o == c.self {
		return "yours"
	}
	for _, m := range c.members {
		if o == hub.WorkspaceOwner(m.Workspace.ID) {
			return "the workspace " + m.Workspace.Slug
		}
	}
	return "another owner"
}

// runnersOf lists the runners that serve a queue: one, or all of its owner's.
func (s *Service) runnersOf(ctx context.Context, k hub.QueueKey) ([]hub.Runner, error) {
	o, id := k.Split()
	if id != "" {
		r, err := s.store.GetRunner(ctx, id)
		if hub.CodeOf(err) == hub.NotFound {
			return nil, nil
		}
		return s.Fresh(r), err
	}
	var all []hub.Runner
	for after := ""; ; {
		rs, err := s.store.ListRunners(ctx, o, false, after, page)
		if err != nil {
			return nil, err
		}
		all = append(all, rs...)
		if len(rs) < page {
			return s.Fresh(all...), nil
		}
		after = rs[len(rs)-1].ID
	}
}
