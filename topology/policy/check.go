package policy

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/docker/go-units"

	"github.com/runnerhub/runnerhub/topology"
)

// Violation is one rule that a job breaks.
type Violation struct {
	Rule      Rule
	Container string // "job" or a service's name, where one is to blame
	Message   string // a clause: what the job asks for and may not have
	Allow     string // how the owner could allow it: a command, or "" where waiting is all
}

// String is the violation as one sentence for a person.
func (v Violation) String() string {
	return fmt.Sprintf("%s (rule %s)", v.Message, v.Rule)
}

// Lines is the violation as a line for a person and one with the command that would allow it, for a list of several.
func (v Violation) Lines() string {
	out := fmt.Sprintf("%s: %s", v.Rule, v.Message)
	if v.Allow != "" {
		out += "\n  allow it: " + v.Allow
	}
	return out
}

// Check compares a job with a policy and returns every rule that it breaks, in a
// fixed order; none says that the job may run. A nil policy is the default one.
// when is the machine's own time, for Hours; the zero time leaves hours out.
func Check(p *Policy, spec *topology.Spec, when time.Time) []Violation {
	found := CheckNeeds(p, Needs(spec))
	if p != nil && !when.IsZero() {
		if open, _ := p.Open(when); !open {
			found = append(found, p.closed())
		}
	}
	return found
}

// CheckNeeds is Check for needs that were told by Needs. A rule that this release
// does not know is not held against a job: the runner knows its own rules.
func CheckNeeds(p *Policy, needs []Need) []Violation {
	if p == nil {
		p = &Policy{}
	}
	var found []Violation
	for _, n := range needs {
		if n.Rule == RuleNetworks && topology.NetworkMode(n.Value) == topology.NetworkOpen && p.OpenMetadata && !p.MetadataAddresses {
			found = append(found, openMetadata)
		}
		rule, ok := rules[n.Rule]
		if !ok || rule.allows(p, n.Value) {
			continue
		}
		found = append(found, Violation{
			Rule: n.Rule, Container: n.Container,
			Message: who(n.Container) + rule.asks(p, n.Value),
			Allow:   "runnerctl policy set " + shellWord(rule.set(n.Value)),
		})
	}
	slices.SortStableFunc(found, func(a, b Violation) int { return slices.Index(order, a.Rule) - slices.Index(order, b.Rule) })
	return found
}

// openMetadata is an open network on a machine whose cloud's metadata service cannot be kept from it.
var openMetadata = Violation{
	Rule: RuleMetadata, Message: "the job asks for network: open, in which this machine's cloud would hand it the machine's credentials",
	Allow: "runnerctl policy set " + string(RuleMetadata) + "=true",
}

// order is the order of violations.
var order = []Rule{
	RuleHostExecutor, RuleImages, RuleRepositories, RuleNetworks, RuleMetadata, RulePrivileged, RuleCapAdd, RuleHostModes, RuleDevices,
	RuleGPUs, RuleDockerSocket, RuleMounts, RulePorts, RuleCeilingCPUs, RuleCeilingMemory, RuleCeilingDisk,
}

func who(container string) string {
	switch container {
	case "":
		return "the job "
	case jobContainer:
		return "the job's container "
	default:
		return "the service " + container + " "
	}
}

// rule says what one rule allows, what a job wants that it does not, and what the
// owner would have to set.
type rule struct {
	allows func(p *Policy, value string) bool
	asks   func(p *Policy, value string) string
	set    func(value string) string
}

var rules = map[Rule]rule{
	RuleImages: {
		func(p *Policy, v string) bool {
			if v == "" {
				return len(p.Images) == 0 || slices.Contains(p.Images, "**")
			}
			return len(p.Images) == 0 || MatchImage(p.Images, v)
		},
		func(_ *Policy, v string) string {
			if v == "" {
				return "is built here, from images that cannot be held against those that are allowed"
			}
			return fmt.Sprintf("runs the image %s, which is not among those that are allowed", v)
		},
		more(RuleImages, func(v string) string {
			if v == "" {
				return "**"
			}
			return imageName(v)
		}),
	},
	RuleRepositories: {
		func(p *Policy, v string) bool { return len(p.Repositories) == 0 || MatchRepository(p.Repositories, v) },
		says("comes from the repository %s, which is not among those that are allowed"),
		more(RuleRepositories, plainRepository),
	},
	RuleNetworks: {
		func(p *Policy, v string) bool {
			return len(p.Networks) == 0 || slices.Contains(p.Networks, topology.NetworkMode(v))
		},
		func(p *Policy, v string) string {
			return fmt.Sprintf("asks for network: %s; allowed is %s", v, joined(p.Networks))
		},
		more(RuleNetworks, same),
	},
	RuleHostExecutor: yes(func(p *Policy) bool { return p.HostExecutor },
		"names no image and asks to run on the machine itself", RuleHostExecutor),
	RulePrivileged: yes(func(p *Policy) bool { return p.Privileged }, "asks to be privileged", RulePrivileged),
	RuleCapAdd: {
		func(p *Policy, v string) bool {
			return slices.Contains(p.CapAdd, "ALL") || slices.Contains(p.CapAdd, v)
		},
		says("asks for the capability %s"), more(RuleCapAdd, same),
	},
	RuleHostModes: {
		func(p *Policy, v string) bool { return slices.Contains(p.HostModes, HostMode(v)) },
		says("asks to share the machine's %s namespace"), more(RuleHostModes, same),
	},
	RuleDevices: {
		func(p *Policy, v string) bool {
			return slices.ContainsFunc(p.Devices, func(d string) bool { return glob(d, path.Clean(v)) })
		},
		says("asks for the device %s"), more(RuleDevices, same),
	},
	RuleGPUs:         yes(func(p *Policy) bool { return p.GPUs }, "asks for GPUs", RuleGPUs),
	RuleDockerSocket: yes(func(p *Policy) bool { return p.DockerSocket }, "asks for the container engine's socket", RuleDockerSocket),
	RuleMounts:       {mountAllowed, mountAsked, more(RuleMounts, same)},
	RulePorts: {
		func(p *Policy, v string) bool { return portsAllowed(p.Ports, v) },
		func(_ *Policy, v string) string {
			if v == AutoPort {
				return "publishes a port that the engine chooses"
			}
			return "publishes the machine's port " + v + ", which jobs and services do not need to reach each other"
		},
		more(RulePorts, same),
	},
	RuleCeilingCPUs: {
		func(p *Policy, v string) bool {
			f, err := strconv.ParseFloat(v, 64)
			return p.Ceiling.CPUs == 0 || err == nil && f <= p.Ceiling.CPUs
		},
		func(p *Policy, v string) string {
			return fmt.Sprintf("asks for %s cores; the ceiling is %g", v, p.Ceiling.CPUs)
		},
		func(v string) string { return string(RuleCeilingCPUs) + "=" + v },
	},
	RuleCeilingMemory: size("memory", RuleCeilingMemory, func(p *Policy) int64 { return p.Ceiling.Memory }),
	RuleCeilingDisk:   size("disk", RuleCeilingDisk, func(p *Policy) int64 { return p.Ceiling.Disk }),
}

// yes is a rule that is on or off.
func yes(on func(*Policy) bool, asks string, r Rule) rule {
	return rule{
		func(p *Policy, _ string) bool { return on(p) },
		func(*Policy, string) string { return asks },
		func(string) string { return string(r) + "=true" },
	}
}

// size is a ceiling in bytes.
func size(of string, r Rule, most func(*Policy) int64) rule {
	return rule{
		func(p *Policy, v string) bool {
			n, err := strconv.ParseInt(v, 10, 64)
			return most(p) == 0 || err == nil && n <= most(p)
		},
		func(p *Policy, v string) string {
			n, _ := strconv.ParseInt(v, 10, 64)
			return fmt.Sprintf("asks for %s of %s; the ceiling is %s", bytesText(n), of, bytesText(most(p)))
		},
		func(v string) string {
			n, _ := strconv.ParseInt(v, 10, 64)
			return string(r) + "=" + bytesText(n)
		},
	}
}

func says(format string) func(*Policy, string) string {
	return func(_ *Policy, v string) string { return fmt.Sprintf(format, v) }
}

// more is what adds to a list.
func more(r Rule, word func(string) string) func(string) string {
	return func(v string) string { return string(r) + "+=" + word(v) }
}

func same(v string) string { return v }

// bytesText writes a size so that it is read back to the same one.
func bytesText(n int64) string {
	if text := units.BytesSize(float64(n)); n > 0 {
		if back, err := units.RAMInBytes(text); err == nil && back == n {
			return text
		}
	}
	return strconv.FormatInt(n, 10)
}

func joined[T ~string](words []T) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = string(w)
	}
	return strings.Join(out, ", ")
}

// glob matches a pattern of paths, in which ** stands for any number of elements.
func glob(pattern, name string) bool {
	ok, err := doublestar.Match(pattern, name)
	return ok && err == nil
}

// shellWord quotes a word for a shell where it needs that.
func shellWord(s string) string {
	if strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=+@,%") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
