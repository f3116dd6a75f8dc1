package topology

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var (
	shortPort  = regexp.MustCompile(`^(?:(\[[0-9A-Fa-f:.]+\]|[0-9]+(?:\.[0-9]+){3}):)?(?:([0-9]+(?:-[0-9]+)?)?:)?([0-9]+)(?:/(tcp|udp|sctp))?$`)
	hostPorts  = regexp.MustCompile(`^[0-9]+(-[0-9]+)?$`)
	signalName = regexp.MustCompile(`^(SIG)?[A-Z][A-Z0-9+-]{1,12}$`)
)

// powers adds the fields that reach beyond a container. They are read like any
// other: whether a machine does them is for its owner to say.
func (d *decoder) powers(known fields, p *Powers) {
	known["privileged"] = func(v value) { p.Privileged = d.boolean(v) }
	known["cap_add"] = func(v value) { p.CapAdd = d.words(v, d.capabilityOfLinux) }
	known["devices"] = func(v value) { p.Devices = d.devices(v) }
	known["gpus"] = func(v value) { p.GPUs = d.gpus(v) }
	known["network_mode"] = func(v value) { p.NetworkMode = d.namespace(v, modeNone) }
	known["pid"] = func(v value) { p.PID = d.namespace(v) }
	known["ipc"] = func(v value) { p.IPC = d.namespace(v, modeNone, "private", "shareable") }
	known["uts"] = func(v value) { p.UTS = d.namespace(v) }
	known["userns_mode"] = func(v value) { p.Userns = d.namespace(v) }
	known["cgroup"] = func(v value) { p.Cgroup = d.namespace(v, "private") }
	known["ports"] = func(v value) { p.Ports = d.ports(v) }
}

// namespace is host or one of the words; those that say what is so anyway are dropped.
func (d *decoder) namespace(v value, words ...string) string {
	s, ok := d.text(v)
	switch {
	case !ok, s == "", s == "default", s == "bridge":
		return ""
	case s == modeHost, slices.Contains(words, s):
		return s
	case strings.HasPrefix(s, "service:"), strings.HasPrefix(s, "container:"):
		d.report(v.node, v.path, ProblemUnsupported, "another container's namespace cannot be shared", hintNames)
	default:
		d.report(v.node, v.path, ProblemInvalid, "unknown value "+quote(s), "it is one of "+strings.Join(append([]string{modeHost}, words...), ", "))
	}
	return ""
}

func (d *decoder) capabilityOfLinux(v value) (string, bool) {
	s, ok := d.text(v)
	if !ok {
		return "", false
	}
	name, hint, ok := LinuxCapability(s)
	if !ok {
		d.report(v.node, v.path, ProblemInvalid, "not a capability of Linux: "+quote(s), hint)
	}
	return name, ok
}

func (d *decoder) securityOpt(v value) []string {
	var all []string
	for i, s := range d.texts(v) {
		name, setting, _ := strings.Cut(strings.Replace(s, "=", ":", 1), ":")
		switch {
		case name == "no-new-privileges" && (setting == "" || setting == "true"):
			all = []string{noNewPrivileges}
		case name == "no-new-privileges" && setting == "false": // as it is anyway
		default:
			d.report(v.items[i], v.path, ProblemUnsupported, quote(s)+" is not supported", hintPower)
		}
	}
	return all
}

// devices decodes PATH[:PATH[:rwm]], or a mapping, into PATH:PATH:rwm.
func (d *decoder) devices(v value) []string {
	var all []string
	d.list(v, func(item value) {
		parts := []string{"", "", "rwm"}
		if item.kind == mappingNode {
			d.object(item, fields{
				"source":      func(v value) { parts[0] = d.required(v) },
				"target":      func(v value) { parts[1] = d.required(v) },
				"permissions": func(v value) { parts[2] = d.required(v) },
			}, strangers{})
		} else if s, ok := d.text(item); ok {
			copy(parts, strings.SplitN(s, ":", 3))
		}
		if parts[1] == "" {
			parts[1] = parts[0]
		}
		if !path.IsAbs(parts[0]) || !path.IsAbs(parts[1]) || strings.Trim(parts[2], "rwm") != "" {
			d.report(item.node, item.path, ProblemInvalid, "not a device", `for example "/dev/kvm" or "/dev/ttyUSB0:/dev/tty:rw"`)
			return
		}
		all = append(all, path.Clean(parts[0])+":"+path.Clean(parts[1])+":"+parts[2])
	})
	return all
}

// gpus decodes "all", a list of requests, or our own form.
func (d *decoder) gpus(v value) *GPUs {
	switch v.kind {
	case listNode:
		return d.gpuRequests(v)
	case mappingNode:
		g := d.gpuRequest(v)
		return &g
	}
	if s, ok := d.text(v); ok && s != "all" {
		d.report(v.node, v.path, ProblemInvalid, "unknown value "+quote(s), `write "all", or a list with count or device_ids`)
	}
	return &GPUs{Count: -1}
}

// gpuRequests decodes a list of requests for devices, of which there can be one.
func (d *decoder) gpuRequests(v value) *GPUs {
	var g *GPUs
	d.list(v, func(item value) {
		if g != nil {
			d.report(item.node, item.path, ProblemUnsupported, "more than one request for GPUs", "name all of them in one")
		}
		one := d.gpuRequest(item)
		g = &one
	})
	return g
}

func (d *decoder) gpuRequest(v value) (g GPUs) {
	d.object(v, fields{
		"count": func(v value) {
			if s, ok := d.text(v); ok && s == "all" {
				g.Count = -1
			} else {
				g.Count = int(d.integer(v, -1, 64))
			}
		},
		"device_ids": func(v value) { g.IDs = d.texts(v) },
		"driver": func(v value) {
			if s, ok := d.text(v); ok && s != "nvidia" && s != "" {
				d.report(v.node, v.path, ProblemUnsupported, "the driver "+quote(s)+" is not supported", "GPUs are nvidia's")
			}
		},
		"capabilities": func(v value) {
			if words := d.texts(v); !slices.Contains(words, "gpu") {
				d.report(v.node, v.path, ProblemUnsupported, "only GPUs can be asked for", `capabilities: [gpu]`)
			}
		},
		"options": func(v value) {
			d.report(v.key, v.path, ProblemUnsupported, "not supported", hintNone)
		},
	}, strangers{})
	if g.Count == 0 && len(g.IDs) == 0 {
		g.Count = -1
	}
	if len(g.IDs) > 0 {
		g.Count = 0
	}
	return g
}

// ports decodes published ports into [ADDRESS:][PORT]:PORT/PROTOCOL.
func (d *decoder) ports(v value) []string {
	var all []string
	d.list(v, func(item value) {
		address, published, target, protocol := "", "", "", ""
		if item.kind == mappingNode {
			ignore := func(value) {}
			d.object(item, fields{
				"target":       func(v value) { target = strconv.FormatInt(d.integer(v, 1, 65535), 10) },
				"published":    func(v value) { published, _ = d.text(v) },
				"host_ip":      func(v value) { address = d.required(v) },
				"protocol":     func(v value) { protocol = oneOf(d, v, "tcp", "udp", "sctp") },
				"name":         ignore,
				"mode":         ignore,
				"app_protocol": ignore,
			}, strangers{})
			if strings.Contains(address, ":") {
				address = "[" + strings.Trim(address, "[]") + "]"
			}
		} else if s, ok := d.text(item); ok {
			if m := shortPort.FindStringSubmatch(s); m != nil {
				address, published, target, protocol = m[1], m[2], m[3], m[4]
			}
		}
		if n, err := strconv.Atoi(target); err != nil || n < 1 || n > 65535 || published != "" && !hostPorts.MatchString(published) {
			d.report(item.node, item.path, ProblemInvalid, "not a port", `for example "8080:80", one port for each entry`)
			return
		}
		if address != "" {
			address += ":"
		}
		if protocol == "" {
			protocol = "tcp"
		}
		all = append(all, address+published+":"+target+"/"+protocol)
	})
	return all
}

// signal is the name of a signal, SIGTERM, or its number.
func (d *decoder) signal(v value) string {
	s, ok := d.text(v)
	if !ok {
		return ""
	}
	if n, err := strconv.Atoi(s); err == nil && n > 0 && n < 65 {
		return s
	}
	if !signalName.MatchString(s) {
		d.report(v.node, v.path, ProblemInvalid, "not a signal: "+quote(s), `for example "SIGINT"`)
		return ""
	}
	if !strings.HasPrefix(s, "SIG") {
		s = "SIG" + s
	}
	return s
}
