package dispatch

import (
	"fmt"
	"slices"
	"strings"

	"github.com/runnerhub/runnerhub/hub"
)

// maxSteps is how many pieces of advice an answer has.
const maxSteps = 8

// why says in a clause why no runner starts the job now. whole asks for a list where there is one, for an answer that
// does not tell each runner's reasons besides.
func (p placement) why(whole bool) string {
	own := p.list[:len(p.runners)]
	one := func(c hub.ReasonCode, verb, verbs string) string {
		n := p.codes[c]
		if n == 1 {
			return "1 runner that could run it " + verb
		}
		return fmt.Sprintf("%d runners that could run it %s", n, verbs)
	}
	switch {
	case len(own) == 0 && p.named:
		return "the runner that it is for does not exist any more"
	case len(own) == 0:
		return "no runner is paired that it could run on"
	case p.eligible == 0 && len(own) > 1 && p.denied == len(own):
		return fmt.Sprintf("the owners of all %d runners do not allow it: %s", len(own), sentence(own[0].Reasons[:1]))
	case p.eligible == 0 && len(own) == 1 && whole:
		return hub.Refusals(own[0].Label, own[0].Reasons)
	case p.eligible == 0 && len(own) == 1 && p.denied == 1 && len(own[0].Reasons) > 1:
		return fmt.Sprintf("the owner of %s does not allow it, for %d reasons", own[0].Label, len(own[0].Reasons))
	case p.eligible == 0 && len(own) == 1:
		return sentence(own[0].Reasons)
	case p.eligible == 0:
		return fmt.Sprintf("none of the %d runners has what it requires", len(own))
	case len(p.blocks) > 0:
		return sentence(p.blocks)
	case p.codes[hub.ReasonBusy] > 0:
		return one(hub.ReasonBusy, "is busy", "are busy")
	case p.codes[hub.ReasonPaused] > 0 && p.eligible > 1:
		return one(hub.ReasonPaused, "takes no jobs now", "take no jobs now")
	case p.codes[hub.ReasonDraining] > 0:
		return one(hub.ReasonDraining, "takes no new jobs", "take no new jobs")
	case p.codes[hub.ReasonUpdateRequired] > 0:
		return one(hub.ReasonUpdateRequired, "must be updated first", "must be updated first")
	case p.eligible == 1:
		i := slices.IndexFunc(own, func(r RunnerReason) bool { return r.Eligible })
		return sentence(own[i].Reasons)
	default:
		return fmt.Sprintf("none of the %d runners that could run it is online", p.eligible)
	}
}

// steps says what would let the job start, most useful first.
func (p placement) steps() []string {
	if p.ready > 0 {
		return nil
	}
	out := slices.Clone(p.more)
	if len(p.runners) == 0 {
		return append(out, "Pair a machine: run `runnerctl pair` on it, then `runnerctl run`.")
	}
	var each []string
	for _, r := range p.list {
		if step := allowance(r); step != "" {
			each = append(each, step)
		}
		for _, x := range r.Reasons {
			if step := advice(r, x); step != "" {
				each = append(each, step)
			}
		}
	}
	slices.Sort(each)
	out = append(out, slices.Compact(each)...)
	return out[:min(len(out), maxSteps)]
}

// allowance is what helps against what a runner's owner does not allow; "" where that is nothing.
func allowance(r RunnerReason) string {
	var commands []string
	for _, x := range r.Reasons {
		if x.Code == hub.ReasonPolicy && x.Hint != "" {
			commands = append(commands, "`"+x.Hint+"`")
		}
	}
	if len(commands) == 0 {
		return ""
	}
	return fmt.Sprintf("Change the job, choose another target, or allow it on %s: %s.", r.Label, strings.Join(commands, ", "))
}

// advice is what helps against one reason; "" where it needs none of its own.
func advice(r RunnerReason, x hub.Reason) string {
	switch x.Code {
	case hub.ReasonOffline, hub.ReasonStale, hub.ReasonDraining:
		if r.Eligible {
			return fmt.Sprintf("Start %s: `runnerctl run` on that machine.", r.Label)
		}
	case hub.ReasonUpdateRequired:
		return fmt.Sprintf("Update runnerctl on %s.", r.Label)
	case hub.ReasonMissingCapability:
		if strings.Contains(x.Message, `"host"`) { // nobody writes that one into requires
			return fmt.Sprintf("Name an `image`: without one a job runs on the machine itself, and %s.", x.Message)
		}
		return fmt.Sprintf("Choose another target, or drop it from `requires`: %s.", x.Message)
	case hub.ReasonMissingLabel:
		return fmt.Sprintf("Pair a machine that carries it, or drop it from `labels`: %s.", x.Message)
	case hub.ReasonBusy:
		if r.Eligible {
			return fmt.Sprintf("Wait for a slot on %s, or raise its `--slots`.", r.Label)
		}
	}
	return ""
}

func sentence(reasons []hub.Reason) string {
	out := make([]string, len(reasons))
	for i, r := range reasons {
		out[i] = r.Message
	}
	return strings.Join(out, " and ")
}

// fullStop ends a text that may have an end already. One of several lines ends in a program's words, or in a command.
func fullStop(text string) string {
	text = strings.TrimRight(text, " \n")
	if text == "" || strings.Contains(text, "\n") || strings.HasSuffix(text, "!") || strings.HasSuffix(text, "?") {
		return text
	}
	return strings.TrimRight(text, ".") + "."
}

func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}
