package doctor

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/docker/go-units"

	"github.com/runnerhub/runnerhub/runnerctl/keyring"
	"github.com/runnerhub/runnerhub/runnerctl/policyfile"
	"github.com/runnerhub/runnerhub/runnerctl/power"
	"github.com/runnerhub/runnerhub/topology/policy"
)

// Free space below which a person should know, and below which jobs fail.
const (
	littleSpace = 5 << 30
	noSpace     = 512 << 20
)

// disk looks at the room for logs and results.
func (x *examination) disk() {
	dir := x.o.F.StateDir
	for {
		if _, err := os.Stat(dir); err == nil || !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir) // it is made when it is needed
	}
	x.space("disk", dir, "free some space there")
}

func (x *examination) space(name, dir, mend string) {
	free, err := freeSpace(dir)
	switch {
	case err != nil:
		x.warn(name, "", "how much is free in %s cannot be told: %v", dir, err)
	case free < noSpace:
		x.fail(name, mend, "%s free in %s", units.BytesSize(float64(free)), dir)
	case free < littleSpace:
		x.warn(name, mend, "only %s free in %s", units.BytesSize(float64(free)), dir)
	default:
		x.ok(name, "%s free in %s", units.BytesSize(float64(free)), dir)
	}
}

func (x *examination) keyring() {
	if x.o.F.Keyring == nil {
		return
	}
	if file := x.o.F.Storage(keyring.File); x.inFile() {
		x.ok("keyring", "not used: credentials are kept in %s, as was chosen", file.Where())
		return
	}
	if err := keyring.Probe(x.o.F.Keyring); err != nil {
		x.warn("keyring", "runnerctl login --insecure-storage", "%v", err)
		return
	}
	x.ok("keyring", "%s keeps secrets", x.o.F.Keyring.Where())
}

// inFile says whether every credential of this person is in a file, so that no keyring matters.
func (x *examination) inFile() bool {
	c, err := x.o.F.Profiles().Load()
	if err != nil {
		return false // which is told of elsewhere
	}
	used := 0
	for _, p := range c.Profiles {
		if p.InUse() {
			if used++; p.Storage != keyring.File {
				return false
			}
		}
	}
	return used > 0
}

// policy says whether the owner's policy can be read, and what it lets jobs reach.
func (x *examination) policy() {
	f := policyfile.In(x.o.F.ConfigDir)
	p, err := f.Load()
	if err != nil {
		x.fail("policy", "runnerctl policy edit", "%v", err)
		return
	}
	if open, next := p.Open(x.o.F.Now()); !open {
		x.warn("policy", "runnerctl policy set hours=daily", "no jobs are taken now; again from %s", next.Format("Mon 15:04"))
	}
	if p.NotOnBattery {
		if on, err := power.OnBattery(); err != nil || on {
			x.warn("policy", "runnerctl policy set not_on_battery=", "no jobs are taken on battery (%v)", err)
		}
	}
	if text := mighty(p); text != "" {
		x.warn("policy", "runnerctl policy edit", "jobs can be root on this machine: %s is allowed", text)
		return
	}
	x.ok("policy", "%s", describe(f))
}

func describe(f *policyfile.File) string {
	if text, err := f.Text(); err == nil && text == nil {
		return "the default: any image, nothing of the machine"
	}
	return f.Path() + " is valid"
}

// mighty names what a policy allows that is as good as root.
func mighty(p *policy.Policy) string {
	switch {
	case p.Privileged:
		return string(policy.RulePrivileged)
	case p.DockerSocket:
		return string(policy.RuleDockerSocket)
	}
	return ""
}
