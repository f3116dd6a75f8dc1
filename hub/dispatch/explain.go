package dispatch

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/runnerhub/runnerhub/hub"
)

// explainTail is how many lines of a failed job's log an explanation ends with.
const explainTail = 20

// Check does what Submit would and stores nothing. A faulty spec is a result and no error.
func (s *Service) Check(ctx context.Context, p hub.Principal, r JobRequest) (CheckResult, error) {
	c, err := s.person(ctx, p)
	if err != nil {
		return CheckResult{}, err
	}
	if err := checkSubmit(r, ""); err != nil {
		return CheckResult{}, err
	}
	pl, problems, err := s.parse(r.Spec)
	if err != nil {
		return CheckResult{}, err
	}
	if len(problems) > 0 {
		return CheckResult{Problems: problems, Summary: fmt.Sprintf("The spec has %s: %s.", count(len(problems), "problem"), problems[0].Message)}, nil
	}
	to, err := s.place(ctx, c, r.Target, r.Workspace)
	if err != nil {
		return CheckResult{}, err
	}
	reasons, err := s.placement(ctx, to.owner, to.runnerID, pl.payload)
	if err != nil {
		return CheckResult{}, err
	}
	out := CheckResult{Valid: true, Runners: reasons.list}
	switch {
	case reasons.ready > 0:
		out.Summary = fmt.Sprintf("The spec is valid and %s could start it now.", count(reasons.ready, "runner"))
	default:
		out.Summary = "The spec is valid, but " + reasons.why() + "."
	}
	return out, nil
}

// placement is what stands between a job and each runner of its queue.
type placement struct {
	runners  []hub.Runner
	list     []RunnerReason
	eligible int
	ready    int
	codes    map[hub.ReasonCode]int // of the eligible ones
	named    bool
}

func (s *Service) placement(ctx context.Context, o hub.Owner, runnerID string, payload hub.JobPayload) (placement, error) {
	out := placement{codes: map[hub.ReasonCode]int{}, named: runnerID != ""}
	runners, err := s.runnersOf(ctx, hub.NewQueueKey(o, runnerID))
	if err != nil {
		return out, err
	}
	out.runners = runners
	busy, err := s.store.CountLive(ctx, o)
	if err != nil {
		return out, err
	}
	now := s.clock.now()
	for _, r := range runners {
		eligible, reasons := hub.Explain(r, payload.Requires, payload.Labels, busy[r.ID], now, s.policy)
		out.list = append(out.list, RunnerReason{RunnerID: r.ID, Label: r.Label, Eligible: eligible, Reasons: reasons})
		if !eligible {
			continue
		}
		out.eligible++
		for _, x := range reasons {
			out.codes[x.Code]++
			if x.Code == hub.ReasonReady {
				out.ready++
			}
		}
	}
	return out, nil
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

// why says in a clause why no runner starts the job now.
func (p placement) why() string {
	switch {
	case len(p.list) == 0 && p.named:
		return "the runner that it is for does not exist any more"
	case len(p.list) == 0:
		return "no runner is paired that it could run on"
	case p.eligible == 0 && len(p.list) == 1:
		return sentence(p.list[0].Reasons)
	case p.eligible == 0:
		return fmt.Sprintf("none of the %d runners has what it requires", len(p.list))
	case p.codes[hub.ReasonBusy] > 0:
		return fmt.Sprintf("%s that could run it %s busy", count(p.codes[hub.ReasonBusy], "runner"), are(p.codes[hub.ReasonBusy]))
	case p.codes[hub.ReasonDraining] > 0:
		return fmt.Sprintf("%s that could run it %s no new jobs", count(p.codes[hub.ReasonDraining], "runner"), take(p.codes[hub.ReasonDraining]))
	case p.codes[hub.ReasonUpdateRequired] > 0:
		return fmt.Sprintf("%s that could run it must be updated first", count(p.codes[hub.ReasonUpdateRequired], "runner"))
	case p.eligible == 1:
		i := slices.IndexFunc(p.list, func(r RunnerReason) bool { return r.Eligible })
		return sentence(p.list[i].Reasons)
	default:
		return fmt.Sprintf("none of the %d runners that could run it is online", p.eligible)
	}
}

func sentence(reasons []hub.Reason) string {
	out := make([]string, len(reasons))
	for i, r := range reasons {
		out[i] = r.Message
	}
	return strings.Join(out, " and ")
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func are(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

func take(n int) string {
	if n == 1 {
		return "takes"
	}
	return "take"
}

// steps says what would let the job start, most useful first.
func (p placement) steps() []string {
	if p.ready > 0 {
		return nil
	}
	var out []string
	if len(p.list) == 0 {
		return []string{"Pair a machine: run `runnerctl pair` on it, then `runnerctl run`."}
	}
	for _, r := range p.list {
		for _, x := range r.Reasons {
			switch x.Code {
			case hub.ReasonOffline, hub.ReasonStale:
				if r.Eligible {
					out = append(out, fmt.Sprintf("Start %s: `runnerctl run` on that machine.", r.Label))
				}
			case hub.ReasonUpdateRequired:
				out = append(out, fmt.Sprintf("Update runnerctl on %s.", r.Label))
			case hub.ReasonMissingCapability:
				out = append(out, fmt.Sprintf("%s; drop it from `requires`, or choose another target.", x.Message))
			case hub.ReasonMissingLabel:
				out = append(out, fmt.Sprintf("%s; drop it from `labels`, or pair a machine that carries it.", x.Message))
			case hub.ReasonBusy:
				if r.Eligible {
					out = append(out, fmt.Sprintf("Wait for a slot on %s, or raise its `--slots`.", r.Label))
				}
			}
		}
	}
	slices.Sort(out)
	out = slices.Compact(out)
	return out[:min(len(out), 8)]
}
