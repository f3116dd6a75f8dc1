package topology

import (
	"net/netip"
	"regexp"
	"slices"
	"strings"
)

var hostText = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,251}[A-Za-z0-9])?$`)

// hostGateway stands for the machine's address, as the engine knows it.
const hostGateway = "host-gateway"

func (d *decoder) hostname(v value) string {
	s, ok := d.text(v)
	if ok && (len(s) > 63 || !hostText.MatchString(s)) {
		d.report(v.node, v.path, ProblemInvalid, "not a host name: "+quote(s), "letters, digits, dots and hyphens, at most 63")
		return ""
	}
	return s
}

// alias is a further host name of a service.
func (d *decoder) alias(v value) (string, bool) {
	s, ok := d.text(v)
	if ok && (!hostText.MatchString(s) || s == jobAlias || s == "localhost") {
		d.report(v.node, v.path, ProblemInvalid, "not a host name, or taken: "+quote(s), "")
		return "", false
	}
	return s, ok
}

// extraHosts decodes names with addresses, as a mapping or as a list of NAME=ADDRESS
// and NAME:ADDRESS, into a sorted list of NAME=ADDRESS.
func (d *decoder) extraHosts(v value) []string {
	var all []string
	add := func(at value, name, address string) {
		address = strings.Trim(address, "[]")
		if _, err := netip.ParseAddr(address); (err != nil && address != hostGateway) || !hostText.MatchString(name) {
			d.report(at.node, at.path, ProblemInvalid, "not a name with an address: "+quote(name+"="+address), `for example "api.example=10.0.0.7"`)
			return
		}
		all = append(all, name+"="+address)
	}
	if v.kind == mappingNode {
		d.each(v, func(f value) {
			if f.kind == listNode {
				for _, address := range d.texts(f) {
					add(f, f.key.text, address)
				}
			} else if address, ok := d.text(f); ok {
				add(f, f.key.text, address)
			}
		})
	} else {
		d.list(v, func(item value) {
			s, ok := d.text(item)
			if !ok {
				return
			}
			name, address, found := strings.Cut(s, "=")
			if !found {
				name, address, _ = strings.Cut(s, ":")
			}
			add(item, name, address)
		})
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (d *decoder) pullPolicy(v value) PullPolicy {
	s, _ := d.text(v)
	switch s {
	case "build": // what has a build is built anyway
		return ""
	case "if_not_present":
		return PullMissing
	}
	return oneOf(d, v, PullMissing, PullAlways, PullNever)
}
