package topology

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// The values of LabelRole.
const (
	RoleJob       = "job"
	RoleService   = "service"
	RoleNetwork   = "network"
	RoleWorkspace = "workspace"
	RoleVolume    = "volume" // of services
	RoleFiles     = "files"  // a container that never runs, through which volumes are filled
	RoleImage     = "image"
	RolePool      = "pool" // a ready network, of a runner but of no attempt
	RoleWarm      = "warm" // a service, or a volume of it, that stays between jobs
)

// Labels returns what a resource of the attempt's is labelled with.
func (id Identity) Labels(role string) map[string]string {
	return map[string]string{
		LabelHub: id.Hub, LabelRunner: id.Runner, LabelJob: id.Job,
		LabelAttempt: strconv.Itoa(id.Attempt), LabelEpoch: strconv.FormatInt(id.Epoch, 10),
		LabelRole: role,
	}
}

// Filter selects the resources of the attempt.
func (id Identity) Filter() Filter {
	return Filter{Hub: id.Hub, Runner: id.Runner, Job: id.Job, Attempt: id.Attempt, Epoch: id.Epoch}
}

// PoolLabels returns what a ready network of a runner is labelled with.
func PoolLabels(hub, runner string) map[string]string {
	return map[string]string{LabelHub: hub, LabelRunner: runner, LabelRole: RolePool}
}

// IdentityOf reads the labels of a resource. Missing and malformed ones come out
// zero, which is no live attempt's identity.
func IdentityOf(labels map[string]string) Identity {
	id := Identity{Hub: labels[LabelHub], Runner: labels[LabelRunner], Job: labels[LabelJob]}
	id.Attempt, _ = strconv.Atoi(labels[LabelAttempt])
	id.Epoch, _ = strconv.ParseInt(labels[LabelEpoch], 10, 64)
	return id
}

// prefix starts the names of the attempt's resources. tag keeps apart the
// executions of one attempt, which may overlap while the first is being removed.
func (id Identity) prefix(tag string) string {
	return fmt.Sprintf("rh-%s-%d-%s", nameSafe(id.Job), id.Attempt, tag)
}

// NewTag returns a short random word for names.
func NewTag() string {
	const alphabet = "0123456789abcdefghijklmnopqrstuvwxyz"
	tag := make([]byte, 8)
	for i := range tag {
		tag[i] = alphabet[rand.IntN(len(alphabet))]
	}
	return string(tag)
}

// nameSafe keeps what every engine allows in a name.
func nameSafe(s string) string {
	const limit = 48 // leaves room for the rest of a name
	s = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-', r == '.':
			return r
		}
		return '-'
	}, s)
	return s[:min(len(s), limit)]
}
