package topology

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var (
	volumeName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$`)
	octalMode  = regexp.MustCompile(`^(0o)?[0-7]{1,4}$`)
)

// mountWords are the options of a short mount that change nothing here: what they
// are about (labels of SELinux, caches of virtual machines) is another machine's.
var mountWords = []string{"rw", "z", "Z", "cached", "delegated", "consistent", "nocopy", "private", "rprivate"}

// mounts decodes a service's volumes into volumes, parts of the source, paths of the
// machine, and memory, which is added to the service's tmpfs.
func (d *decoder) mounts(v value, s *Service) {
	first := map[string]*node{}
	d.list(v, func(item value) {
		var m Mount
		var memory string
		var ok bool
		if item.kind == scalarNode {
			m, ok = d.shortMount(item)
		} else {
			m, memory, ok = d.longMount(item)
		}
		if !ok {
			return
		}
		if before := first[m.Target]; before != nil {
			d.report(item.node, item.path, ProblemDuplicate, quote(m.Target)+" is mounted twice, first on "+before.String(), "keep one of them")
		}
		first[m.Target] = item.node
		if memory != "" {
			s.Tmpfs = append(s.Tmpfs, memory)
			return
		}
		if m.Type == MountVolume && m.Source != "" {
			d.mentions = append(d.mentions, mention{"volumes", m.Source, item.node, item.path})
		}
		s.Volumes = append(s.Volumes, m)
	})
}

// shortMount reads SOURCE:TARGET[:OPTIONS], or TARGET alone for a volume of the
// container's own.
func (d *decoder) shortMount(v value) (m Mount, ok bool) {
	s, ok := d.text(v)
	if !ok {
		return m, false
	}
	parts := strings.Split(s, ":")
	switch {
	case len(parts) == 1:
		m = Mount{Type: MountVolume, Target: s}
	case len(parts) > 3:
		d.report(v.node, v.path, ProblemInvalid, "not a mount: "+quote(s), `for example "data:/var/lib/data" or "./config:/etc/app:ro"`)
		return m, false
	default:
		m = Mount{Type: MountVolume, Source: parts[0], Target: parts[1]}
		if strings.HasPrefix(m.Source, ".") || strings.HasPrefix(m.Source, "/") || strings.HasPrefix(m.Source, "~") {
			m.Type = MountBind
		}
	}
	if len(parts) == 3 {
		for _, word := range strings.Split(parts[2], ",") {
			if word == "ro" {
				m.ReadOnly = true
			} else if !slices.Contains(mountWords, word) {
				d.report(v.node, v.path, ProblemInvalid, "unknown option "+quote(word), `"ro" makes a mount read-only`)
				return m, false
			}
		}
	}
	return m, d.checkMount(v, &m)
}

// longMount reads a mapping. memory is the mount in the words of tmpfs, where it is one.
func (d *decoder) longMount(v value) (m Mount, memory string, ok bool) {
	options := ""
	sub := func(known fields) func(value) { return func(v value) { d.object(v, known, strangers{}) } }
	ignore := func(value) {}
	problems := len(d.problems)
	got := d.object(v, fields{
		"type":        func(v value) { m.Type = oneOf(d, v, MountVolume, MountBind, "tmpfs") },
		"source":      func(v value) { m.Source = d.required(v) },
		"target":      func(v value) { m.Target = d.required(v) },
		"read_only":   func(v value) { m.ReadOnly = d.boolean(v) },
		"consistency": ignore,
		"bind":        sub(fields{"propagation": ignore, "create_host_path": ignore, "selinux": ignore, "recursive": ignore}),
		"volume":      sub(fields{"nocopy": ignore, "labels": ignore}),
		"tmpfs": sub(fields{
			"size": func(v value) { options += ",size=" + strconv.FormatInt(d.size(v, 1, MaxMemory), 10) },
			"mode": func(v value) { options += ",mode=" + d.mode(v) },
		}),
	}, strangers{refused: map[string]string{"image": "mount a volume, or build the files into the service's image"}})
	for _, field := range []string{"type", "target"} {
		if v.kind == mappingNode && got.lacks(field) {
			d.report(v.key, join(v.path, field), ProblemMissing, "missing", `for example "type: volume" and "target: /var/lib/data"`)
		}
	}
	if len(d.problems) > problems {
		return m, "", false
	}
	if m.Type == "tmpfs" {
		memory = m.Target
		if options != "" {
			memory += ":" + options[1:]
		}
		m.Source = ""
	}
	return m, memory, d.checkMount(v, &m)
}

// checkMount checks the paths of a mount and makes them clean.
func (d *decoder) checkMount(v value, m *Mount) bool {
	if !path.IsAbs(m.Target) || path.Clean(m.Target) == "/" || len(m.Target) > maxPath {
		d.report(v.node, v.path, ProblemInvalid, "not a place to mount something: "+quote(m.Target), "an absolute path in the container")
		return false
	}
	m.Target = path.Clean(m.Target)
	switch {
	case m.Type == MountBind && path.IsAbs(m.Source):
		m.Source = path.Clean(m.Source)
		return true
	case m.Type == MountBind:
		source, ok := d.inSource(v, m.Source)
		m.Source = source
		return ok
	case m.Type == MountVolume && m.Source != "" && !volumeName.MatchString(m.Source):
		d.report(v.node, v.path, ProblemInvalid, "not the name of a volume: "+quote(m.Source), `a path begins with "./" (of the source) or "/" (of the machine)`)
		return false
	}
	return true
}

// partOfSource is a file or folder of the source.
func (d *decoder) partOfSource(v value) string {
	s, ok := d.text(v)
	if !ok {
		return s
	}
	s, _ = d.inSource(v, s)
	return s
}

// inSource makes a relative path clean and reports one that leaves the source.
func (d *decoder) inSource(v value, p string) (string, bool) {
	clean := path.Clean(p)
	wrong := ""
	switch {
	case p == "" || strings.TrimSpace(p) != p:
		wrong = "is no path"
	case strings.Contains(p, "://") || strings.HasPrefix(p, "git@"):
		wrong = "is an address; it must be a path inside the source"
	case path.IsAbs(p) || strings.HasPrefix(p, "~") || windowsRoot.MatchString(p):
		wrong = "must be relative to the source"
	case clean == ".." || strings.HasPrefix(clean, "../"):
		wrong = "leaves the source"
	case len(p) > maxPath:
		wrong = "is longer than 4096 characters"
	}
	if wrong != "" {
		d.report(v.node, v.path, ProblemInvalid, quote(p)+" "+wrong, `for example "./db/init.sql"`)
		return "", false
	}
	return clean, true
}

// mode reads a file's mode, octal with or without a zero in front, as 0640.
func (d *decoder) mode(v value) string {
	s, ok := d.text(v)
	if !ok {
		return ""
	}
	if !octalMode.MatchString(s) {
		d.report(v.node, v.path, ProblemInvalid, "not a file's mode: "+quote(s), `for example "0640"`)
		return ""
	}
	s = strings.TrimLeft(strings.TrimPrefix(s, "0o"), "0")
	return "0" + strings.Repeat("0", max(0, 3-len(s))) + s
}
