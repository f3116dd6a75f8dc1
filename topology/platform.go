package topology

import (
	"regexp"
	"slices"
	"strings"
)

var platformText = regexp.MustCompile(`^[a-z0-9]+/[a-z0-9_]+(/v[0-9]+)?$`)

// platformArchs are the architectures that images are published for.
var platformArchs = map[string][]string{
	"linux":   {"386", "amd64", "arm", "arm64", "loong64", "mips64le", "ppc64le", "riscv64", "s390x"},
	"windows": {"amd64", "arm64"},
}

// platform reads os/arch or os/arch/variant, as container engines write it.
func (d *decoder) platform(v value) string {
	s, ok := d.text(v)
	if !ok {
		return s
	}
	if len(s) > maxQuoted || !platformText.MatchString(s) {
		d.report(v.node, v.path, ProblemInvalid, "not a platform: "+quote(s), `for example "linux/amd64" or "linux/arm/v7"`)
		return s
	}
	parts := strings.Split(s, "/")
	archs := platformArchs[parts[0]]
	switch {
	case archs == nil:
		d.report(v.node, v.path, ProblemInvalid, "unknown operating system "+quote(parts[0]), "images are for linux or windows")
	case !slices.Contains(archs, parts[1]):
		hint := "the architectures are " + strings.Join(archs, ", ")
		if word := capabilityWords[parts[1]]; slices.Contains(archs, word) {
			hint = "did you mean " + quote(parts[0]+"/"+word) + "?"
		}
		d.report(v.node, v.path, ProblemInvalid, "unknown architecture "+quote(parts[1]), hint)
	}
	return s
}
