package policy

import (
	"fmt"
	"math"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/docker/go-units"

	"github.com/runnerhub/runnerhub/topology"
)

// Limits of a policy's lists, so that its outline stays small: a runner sends it with every call.
const (
	maxEntries = 64
	maxEntry   = 200 // bytes
)

// fieldKind is how a field is written.
type fieldKind int

const (
	listField fieldKind = iota
	boolField
	scalarField
)

// Field is one setting of a policy, for help texts and documentation.
type Field struct {
	Name    string // as in the file and in `runnerctl policy set`; with a dot for a part of ceiling
	About   string // what it allows
	Default string // what holds where the file does not say
	Example string // a value as `policy set` takes it

	kind fieldKind
	// everything is the list that allows all, where that is also what holds without one.
	everything string
	// read takes the value of one scalar, or one item of the list.
	read func(p *Policy, text string) error
	// show lists the value's items, or the one value; nothing where it is the default.
	show func(p *Policy) []string
}

// Fields are all settings, in the order of the file that Text writes.
var Fields = []Field{
	{
		Name: "images", About: "images that may run, by pattern; the last that matches decides, ! excludes",
		Default: "any", Example: "ghcr.io/acme/**,postgres", everything: "**",
		read: func(p *Policy, s string) error { p.Images = append(p.Images, s); return checkPattern(s) },
		show: func(p *Policy) []string { return p.Images },
	},
	{
		Name: "repositories", About: "repositories that jobs may be fetched from, HOST/PATH by pattern",
		Default: "any", Example: "github.com/acme/**", everything: "**",
		read: func(p *Policy, s string) error { p.Repositories = append(p.Repositories, s); return checkPattern(s) },
		show: func(p *Policy) []string { return p.Repositories },
	},
	{
		Name: "networks", About: "network modes that jobs may ask for: none, restricted, open",
		Default: "any", Example: "none,restricted", everything: "none,restricted,open",
		read: func(p *Policy, s string) error {
			p.Networks = append(p.Networks, topology.NetworkMode(s))
			return among(s, "none", "restricted", "open")
		},
		show: func(p *Policy) []string { return words(p.Networks) },
	},
	{
		Name: "metadata_addresses", About: "containers may reach the addresses where clouds hand out a machine's credentials", Default: "false",
		Example: "true", kind: boolField,
		read: flag(func(p *Policy) *bool { return &p.MetadataAddresses }), show: shown(func(p *Policy) bool { return p.MetadataAddresses }),
	},
	{
		Name: "mounts", About: "folders of the machine that containers may see: PATH, as a whole, or PATH:ro, with what is below it",
		Default: "none", Example: "/srv/cache,/srv/data:ro",
		read: func(p *Policy, s string) error {
			folder, readOnly := strings.CutSuffix(s, ":ro")
			p.Mounts = append(p.Mounts, Mount{path.Clean(folder), readOnly})
			if !path.IsAbs(folder) {
				return fmt.Errorf("%q is no absolute path", folder)
			}
			return nil
		},
		show: func(p *Policy) []string {
			out := make([]string, len(p.Mounts))
			for i, m := range p.Mounts {
				if out[i] = m.Path; m.ReadOnly {
					out[i] += ":ro"
				}
			}
			return out
		},
	},
	{
		Name: "devices", About: "devices that containers may be given, by pattern", Default: "none", Example: "/dev/kvm",
		read: func(p *Policy, s string) error {
			p.Devices = append(p.Devices, s)
			if !strings.HasPrefix(s, "/dev/") {
				return fmt.Errorf("%q is not below /dev/", s)
			}
			return checkPattern(s)
		},
		show: func(p *Policy) []string { return p.Devices },
	},
	{
		Name: "gpus", About: "containers may be given GPUs", Default: "false", Example: "true", kind: boolField,
		read: flag(func(p *Policy) *bool { return &p.GPUs }), show: shown(func(p *Policy) bool { return p.GPUs }),
	},
	{
		Name: "privileged", About: "containers may be privileged, which is as good as root on the machine", Default: "false",
		Example: "true", kind: boolField,
		read: flag(func(p *Policy) *bool { return &p.Privileged }), show: shown(func(p *Policy) bool { return p.Privileged }),
	},
	{
		Name: "cap_add", About: "Linux capabilities that containers may be given, or ALL", Default: "none", Example: "NET_ADMIN",
		read: func(p *Policy, s string) error {
			name, hint, ok := topology.LinuxCapability(s)
			p.CapAdd = append(p.CapAdd, name)
			if !ok {
				return fmt.Errorf("%q is no capability of Linux; %s", s, hint)
			}
			return nil
		},
		show: func(p *Policy) []string { return p.CapAdd },
	},
	{
		Name: "host_modes", About: "namespaces that containers may share with the machine: network, pid, ipc, uts, userns, cgroup",
		Default: "none", Example: "network",
		read: func(p *Policy, s string) error {
			p.HostModes = append(p.HostModes, HostMode(s))
			return among(s, words(hostModes)...)
		},
		show: func(p *Policy) []string { return words(p.HostModes) },
	},
	{
		Name: "docker_socket", About: "containers may have the engine's socket, which is as good as root on the machine", Default: "false",
		Example: "true", kind: boolField,
		read: flag(func(p *Policy) *bool { return &p.DockerSocket }), show: shown(func(p *Policy) bool { return p.DockerSocket }),
	},
	{
		Name: "ports", About: "ports of the machine that may be published: 8080, 8000-8999, or auto for those that the engine chooses",
		Default: "none", Example: "8000-8999",
		read: func(p *Policy, s string) error {
			p.Ports = append(p.Ports, s)
			if _, _, ok := portRange(s); !ok && s != AutoPort {
				return fmt.Errorf("%q is no port: 8080, 8000-8999 or auto", s)
			}
			return nil
		},
		show: func(p *Policy) []string { return p.Ports },
	},
	{
		Name: "host_executor", About: "jobs without an image may run on the machine itself, with all rights of the runner's user", Default: "false",
		Example: "true", kind: boolField,
		read: flag(func(p *Policy) *bool { return &p.HostExecutor }), show: shown(func(p *Policy) bool { return p.HostExecutor }),
	},
	{
		Name: "host_user", About: "the user that such jobs run as, where the runner is root", Default: "none, and such jobs are refused", Example: "builder",
		kind: scalarField,
		read: func(p *Policy, s string) error {
			if p.HostUser = s; !userName.MatchString(s) {
				return fmt.Errorf("%q is no name of a user", s)
			}
			return nil
		},
		show: func(p *Policy) []string {
			if p.HostUser == "" {
				return nil
			}
			return []string{p.HostUser}
		},
	},
	{
		Name: "hours", About: "when jobs are taken, in the machine's time: DAYS or DAYS FROM-TO", Default: "always",
		Example: "mon-fri 18:00-08:00,sat-sun", everything: "daily",
		read: func(p *Policy, s string) error {
			p.Hours = append(p.Hours, Window(strings.ToLower(s)))
			_, err := Window(s).span()
			return err
		},
		show: func(p *Policy) []string { return words(p.Hours) },
	},
	{
		Name: "not_on_battery", About: "take no jobs while the machine runs on its battery", Default: "false", Example: "true", kind: boolField,
		read: flag(func(p *Policy) *bool { return &p.NotOnBattery }), show: shown(func(p *Policy) bool { return p.NotOnBattery }),
	},
	{
		Name: "ceiling.cpus", About: "cores that all containers of one job may use together", Default: "no ceiling", Example: "4", kind: scalarField,
		read: func(p *Policy, s string) (err error) {
			p.Ceiling.CPUs, err = strconv.ParseFloat(s, 64)
			if err != nil || math.IsNaN(p.Ceiling.CPUs) || p.Ceiling.CPUs < topology.MinCPUs || p.Ceiling.CPUs > topology.MaxCPUs {
				return fmt.Errorf("%q is no number of cores from 0.01 to 1024", s)
			}
			return nil
		},
		show: func(p *Policy) []string {
			if p.Ceiling.CPUs == 0 {
				return nil
			}
			return []string{strconv.FormatFloat(p.Ceiling.CPUs, 'g', -1, 64)}
		},
	},
	ceiling("ceiling.memory", "memory that all containers of one job may use together", "8GiB", func(p *Policy) *int64 { return &p.Ceiling.Memory }),
	ceiling("ceiling.disk", "disk that one job may use", "20GiB", func(p *Policy) *int64 { return &p.Ceiling.Disk }),
}

// userName is what names of users look like; a number would be read as one of its own.
var userName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$`)

// checkPattern refuses patterns that can match nothing.
func checkPattern(s string) error {
	s = strings.TrimPrefix(s, "!")
	if s == "" || strings.ContainsAny(s, " \t") || !doublestar.ValidatePattern(s) {
		return fmt.Errorf("%q is no pattern; * stands for a part of one element, ** for any number of them", s)
	}
	return nil
}

func among(s string, known ...string) error {
	if slices.Contains(known, s) {
		return nil
	}
	return fmt.Errorf("%q is not one of %s", s, strings.Join(known, ", "))
}

func words[T ~string](list []T) []string {
	out := make([]string, len(list))
	for i, w := range list {
		out[i] = string(w)
	}
	return out
}

// flag reads true or false.
func flag(of func(*Policy) *bool) func(*Policy, string) error {
	return func(p *Policy, s string) error {
		*of(p) = s == "true"
		return among(s, "true", "false")
	}
}

func shown(of func(*Policy) bool) func(*Policy) []string {
	return func(p *Policy) []string {
		if !of(p) {
			return nil
		}
		return []string{"true"}
	}
}

func ceiling(name, about, example string, of func(*Policy) *int64) Field {
	return Field{
		Name: name, About: about, Default: "no ceiling", Example: example, kind: scalarField,
		read: func(p *Policy, s string) (err error) {
			*of(p), err = units.RAMInBytes(s)
			if err != nil || *of(p) < topology.MinMemory || *of(p) > topology.MaxMemory {
				return fmt.Errorf("%q is no size from 6MiB to 1PiB", s)
			}
			return nil
		},
		show: func(p *Policy) []string {
			if *of(p) == 0 {
				return nil
			}
			return []string{bytesText(*of(p))}
		},
	}
}

// fieldNamed finds a field; nil for none.
func fieldNamed(name string) *Field {
	i := slices.IndexFunc(Fields, func(f Field) bool { return f.Name == name })
	if i < 0 {
		return nil
	}
	return &Fields[i]
}
