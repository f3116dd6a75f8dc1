package topology

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/distribution/reference"
)

const (
	maxTitle   = 128  // characters of the name of a job or a step
	maxEnvName = 256  // bytes
	maxPath    = 4096 // bytes, of a path in a container
	maxImage   = 512  // bytes of an image reference

	jobAlias = "job" // the job container's own name on the network
)

var (
	envName     = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*$`)
	dnsLabel    = regexp.MustCompile(`^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$`)
	composeName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)
	labelWord   = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,62})$`)
	userName    = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*(:[A-Za-z0-9_][A-Za-z0-9_.-]*)?$`)
	windowsRoot = regexp.MustCompile(`^[A-Za-z]:[\\/]`)
	mountOption = regexp.MustCompile(`^[a-z]+(=[A-Za-z0-9%]+)?$`)
)

// required is text that is not blank.
func (d *decoder) required(v value) string {
	s, ok := d.text(v)
	if ok && strings.TrimSpace(s) == "" {
		d.report(v.node, v.path, ProblemInvalid, "is empty", "")
	}
	return s
}

// title is the name of a job or a step: one line for people.
func (d *decoder) title(v value) string {
	s, ok := d.text(v)
	switch {
	case !ok:
	case strings.TrimSpace(s) == "":
		d.report(v.node, v.path, ProblemInvalid, "is empty", "leave it out or write a name")
	case strings.TrimSpace(s) != s:
		d.report(v.node, v.path, ProblemInvalid, "begins or ends with a space", "")
	case utf8.RuneCountInString(s) > maxTitle:
		d.report(v.node, v.path, ProblemOutOfRange, "is longer than 128 characters", "")
	case strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }):
		d.report(v.node, v.path, ProblemInvalid, "must be one line of printable characters", "")
	}
	return s
}

func (d *decoder) image(v value) string {
	s, ok := d.text(v)
	if !ok {
		return s
	}
	err := error(nil)
	if len(s) <= maxImage {
		_, err = reference.ParseNormalizedNamed(s)
	}
	switch {
	case len(s) > maxImage:
		d.report(v.node, v.path, ProblemOutOfRange, "is longer than 512 characters", "")
	case err == nil:
	case strings.Contains(s, "$"):
		d.report(v.node, v.path, ProblemInvalid, "not an image reference: "+quote(s), "variables are not expanded in a spec: write the tag out")
	case strings.ToLower(s) != s && !strings.ContainsAny(s, " \t"):
		d.report(v.node, v.path, ProblemInvalid, "not an image reference: "+quote(s), "repository names are lower case")
	default:
		d.report(v.node, v.path, ProblemInvalid, "not an image reference: "+quote(s), `for example "golang:1.26" or "registry.example/team/app@sha256:…"`)
	}
	return s
}

func (d *decoder) directory(v value) string {
	s, ok := d.text(v)
	switch {
	case !ok:
	case len(s) > maxPath:
		d.report(v.node, v.path, ProblemOutOfRange, "is longer than 4096 characters", "")
	case !path.IsAbs(s) && !windowsRoot.MatchString(s):
		d.report(v.node, v.path, ProblemInvalid, "must be an absolute path", `for example "/work"`)
	}
	return s
}

// workspace is the job's working directory: a volume is mounted there.
func (d *decoder) workspace(v value) string {
	s := d.directory(v)
	if s != "" && path.Clean(s) == "/" {
		d.report(v.node, v.path, ProblemInvalid, "the root cannot be the working directory of a job", `for example "/work"`)
	}
	return s
}

func (d *decoder) user(v value) string {
	s, ok := d.text(v)
	if ok && (len(s) > maxEnvName || !userName.MatchString(s)) {
		d.report(v.node, v.path, ProblemInvalid, "not a user: "+quote(s), `write a name or an id, with ":group" if needed`)
	}
	return s
}

// serviceName checks a service's key: it is a host name.
func (d *decoder) serviceName(f value) bool {
	name := f.key.text
	switch {
	case name == jobAlias || name == "localhost":
		d.report(f.key, f.path, ProblemInvalid, "this name is taken on the job's network", "name the service after what it is")
	case d.lenient && composeName.MatchString(name):
		return true
	case !dnsLabel.MatchString(name):
		hint := "lower-case letters, digits and hyphens, at most 63, beginning with a letter"
		if better := strings.ToLower(strings.ReplaceAll(name, "_", "-")); dnsLabel.MatchString(better) {
			hint = "use " + quote(better)
		}
		d.report(f.key, f.path, ProblemInvalid, "a service's name is its host name and must be a DNS label", hint)
	default:
		return true
	}
	return false
}

func (d *decoder) label(v value) (string, bool) {
	s, ok := d.text(v)
	if ok && !labelWord.MatchString(s) {
		d.report(v.node, v.path, ProblemInvalid, "not a label: "+quote(s), "letters, digits, dots, hyphens and underscores, at most 63")
		return "", false
	}
	return s, ok
}

// oneOf is a word out of a few.
func oneOf[T ~string](d *decoder, v value, words ...T) T {
	s, ok := d.text(v)
	if ok && !slices.Contains(words, T(s)) {
		known := make([]string, len(words))
		for i, w := range words {
			known[i] = string(w)
		}
		hint := didYouMean(s, known)
		if hint == "" {
			hint = "it is one of " + strings.Join(known, ", ")
		}
		d.report(v.node, v.path, ProblemInvalid, "unknown value "+quote(s), hint)
	}
	return T(s)
}

// tmpfs decodes one mount or a list of them.
func (d *decoder) tmpfs(v value) []string {
	var mounts []string
	first := map[string]*node{}
	mount := func(v value) {
		s, ok := d.text(v)
		if !ok {
			return
		}
		target, options, with := strings.Cut(s, ":")
		bad := with && slices.ContainsFunc(strings.Split(options, ","), func(o string) bool { return !mountOption.MatchString(o) })
		if bad || len(s) > maxPath || !path.IsAbs(target) || path.Clean(target) == "/" {
			d.report(v.node, v.path, ProblemInvalid, "not a tmpfs mount: "+quote(s), `for example "/tmp" or "/tmp:size=64m,mode=1777"`)
		} else if before := first[path.Clean(target)]; before != nil {
			d.report(v.node, v.path, ProblemDuplicate, quote(target)+" is mounted twice, first on "+before.String(), "keep one of them")
		}
		first[path.Clean(target)] = v.node
		mounts = append(mounts, s)
	}
	if v.kind == scalarNode {
		mount(v)
	} else {
		d.list(v, mount)
	}
	return mounts
}
