package policy

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/distribution/reference"

	"github.com/runnerhub/runnerhub/topology"
)

// Rule names a part of a policy, as the file does.
type Rule string

// The rules, in the order in which violations are listed.
const (
	RuleHostExecutor  Rule = "host_executor"
	RuleImages        Rule = "images"
	RuleRepositories  Rule = "repositories"
	RuleNetworks      Rule = "networks"
	RuleMetadata      Rule = "metadata_addresses"
	RulePrivileged    Rule = "privileged"
	RuleCapAdd        Rule = "cap_add"
	RuleHostModes     Rule = "host_modes"
	RuleDevices       Rule = "devices"
	RuleGPUs          Rule = "gpus"
	RuleDockerSocket  Rule = "docker_socket"
	RuleMounts        Rule = "mounts"
	RulePorts         Rule = "ports"
	RuleCeilingCPUs   Rule = "ceiling.cpus"
	RuleCeilingMemory Rule = "ceiling.memory"
	RuleCeilingDisk   Rule = "ceiling.disk"
	RuleHours         Rule = "hours"
	RuleBattery       Rule = "not_on_battery"
)

// Need is one thing that a job asks of the machine's owner.
type Need struct {
	Rule      Rule   `json:"rule"`
	Container string `json:"of,omitempty"` // "job" or a service's name; empty where it is the whole job
	// Value is what is asked for, in the words of the rule: an image reference ("" for one that is built), a
	// network mode, PATH or PATH:ro of a mount, a capability, a port, a number of
	// cores or bytes. Empty where the rule is yes or no.
	Value string `json:"value,omitempty"`
}

// jobContainer is what the job's own container is called in needs and failures.
const jobContainer = "job"

// Needs lists what a spec asks of a machine's owner. What is only known on the
// runner (a Compose file in the job's source) is in it once the spec is filled in.
func Needs(spec *topology.Spec) []Need {
	n := &needs{}
	if spec.OnHost() {
		n.add(RuleHostExecutor, "", "")
	} else {
		n.add(RuleImages, jobContainer, fullImage(spec.Image))
	}
	n.add(RuleNetworks, "", string(spec.Network))
	if spec.Source != nil && spec.Source.Repository != "" {
		r := spec.Source.Repository
		n.add(RuleRepositories, "", plainRepository(r))
	}
	total := spec.Resources
	for _, name := range slices.Sorted(maps.Keys(spec.Services)) {
		s := spec.Services[name]
		n.service(name, s)
		total.CPUs += s.Resources.CPUs * float64(max(s.Scale, 1))
		total.Memory += s.Resources.Memory * int64(max(s.Scale, 1))
		total.Disk += s.Resources.Disk * int64(max(s.Scale, 1))
	}
	for _, d := range spec.Demands() {
		n.add(Rule(d.Power), d.Service, d.Value)
	}
	n.limits(total)
	return n.all
}

type needs struct{ all []Need }

func (n *needs) add(r Rule, container, value string) {
	n.all = append(n.all, Need{r, container, value})
}

// service adds what one service asks for.
func (n *needs) service(name string, s topology.Service) {
	if s.Build != nil { // image is a name for others
		n.add(RuleImages, name, "")
		return
	}
	n.add(RuleImages, name, fullImage(s.Image))
}

// limits adds the resources that all containers ask for together.
func (n *needs) limits(r topology.Resources) {
	if r.CPUs > 0 {
		n.add(RuleCeilingCPUs, "", strconv.FormatFloat(r.CPUs, 'g', -1, 64))
	}
	if r.Memory > 0 {
		n.add(RuleCeilingMemory, "", strconv.FormatInt(r.Memory, 10))
	}
	if r.Disk > 0 {
		n.add(RuleCeilingDisk, "", strconv.FormatInt(r.Disk, 10))
	}
}

// fullImage writes an image reference out: postgres is docker.io/library/postgres:latest.
func fullImage(ref string) string {
	named, err := reference.ParseNormalizedNamed(ref)
	if err != nil {
		return ref // Parse has refused it; it matches no pattern but **
	}
	return reference.TagNameOnly(named).String()
}

// EncodeNeeds writes needs as one line of JSON, which DecodeNeeds reads.
func EncodeNeeds(needs []Need) []byte {
	b, err := json.Marshal(needs)
	if err != nil { // of texts there is none
		panic(err)
	}
	return b
}

// DecodeNeeds reads what EncodeNeeds wrote, of another release as well; nothing is no needs.
func DecodeNeeds(data []byte) (needs []Need, err error) {
	if len(data) == 0 {
		return nil, nil
	}
	err = json.Unmarshal(data, &needs)
	return needs, err
}
