package policy

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/distribution/reference"
)

// MatchImage says whether a list of patterns admits an image, whose reference is
// written out (docker.io/library/postgres:16). The last pattern that matches
// decides; one that begins with ! excludes.
//
// A pattern is read as docker reads a name: postgres is docker.io/library/postgres, acme/* is
// docker.io/acme/*. * stands for a part of one element, ** for any number of them, and ** alone is
// every image. With a tag or a digest it is held against those too; without, any will do. **/*@sha256:*
// are all images that are named by their digests.
func MatchImage(patterns []string, image string) bool {
	name := imageName(image)
	return lastMatch(patterns, func(pattern string) bool {
		pattern = fullPattern(pattern)
		if hasTag(pattern) {
			return glob(pattern, image)
		}
		return glob(pattern, name)
	})
}

// lastMatch goes by the last pattern that matches. A list of exclusions alone admits the rest.
func lastMatch(patterns []string, match func(string) bool) bool {
	for _, pattern := range slices.Backward(patterns) {
		rest, not := strings.CutPrefix(pattern, "!")
		if match(rest) {
			return !not
		}
	}
	return !slices.ContainsFunc(patterns, func(p string) bool { return !strings.HasPrefix(p, "!") })
}

// fullPattern adds the registry that docker would take.
func fullPattern(pattern string) string {
	first, _, more := strings.Cut(pattern, "/")
	switch {
	case strings.HasPrefix(pattern, "**"), more && (strings.ContainsAny(first, ".:*") || first == "localhost"):
		return pattern
	case more:
		return "docker.io/" + pattern
	default:
		return "docker.io/library/" + pattern
	}
}

// hasTag says whether a pattern goes on after the name; a registry's port is no tag.
func hasTag(pattern string) bool {
	return strings.ContainsAny(path.Base(pattern), ":@") || strings.Contains(pattern, "@")
}

// imageName cuts the tag and the digest off.
func imageName(image string) string {
	named, err := reference.ParseNormalizedNamed(image)
	if err != nil {
		return image
	}
	return named.Name()
}

// MatchRepository says whether a list of patterns admits a repository, by the
// same rules as MatchImage. Both are written as HOST/PATH, without scheme, user and .git:
// github.com/acme/** admits https://github.com/acme/x.git and git@github.com:acme/x.
func MatchRepository(patterns []string, repository string) bool {
	name := plainRepository(repository)
	return lastMatch(patterns, func(pattern string) bool { return glob(plainRepository(pattern), name) })
}

// plainRepository is HOST/PATH of a repository's address.
func plainRepository(address string) string {
	rest := strings.TrimSuffix(strings.TrimSuffix(address, "/"), ".git")
	scheme, after, hasScheme := strings.Cut(rest, "://")
	if hasScheme && strings.EqualFold(scheme, "file") {
		return after
	}
	if hasScheme {
		rest = after
	}
	host, folder, _ := strings.Cut(rest, "/")
	if i := strings.LastIndexByte(host, '@'); i >= 0 {
		host = host[i+1:]
	}
	if before, after, scp := strings.Cut(host, ":"); scp && !hasScheme { // git@host:path
		if folder != "" {
			after += "/" + folder
		}
		host, folder = before, after
	}
	if folder == "" {
		return strings.ToLower(host)
	}
	return strings.ToLower(host) + "/" + strings.TrimPrefix(folder, "/")
}

// mountAllowed says whether PATH or PATH:ro is a folder that is allowed, or lies in one.
// A link in a folder leads the engine anywhere. So what lies in a folder that jobs may
// write is not allowed: they could have put a link there.
func mountAllowed(p *Policy, v string) bool {
	asked, readOnly := mountOf(v)
	if _, below := belowWritable(p, asked); below {
		return false
	}
	return slices.ContainsFunc(p.Mounts, func(m Mount) bool {
		return (m.Path == "" || within(m.Path, asked)) && (readOnly || !m.ReadOnly)
	})
}

// belowWritable finds the folder that jobs may write and that a path lies in.
func belowWritable(p *Policy, asked string) (string, bool) {
	for _, m := range p.Mounts {
		if m.Path != "" && !m.ReadOnly && m.Path != asked && within(m.Path, asked) {
			return m.Path, true
		}
	}
	return "", false
}

// mountAsked is what a job wants that mountAllowed refuses.
func mountAsked(p *Policy, v string) string {
	text := "mounts " + v + " of the machine"
	asked, _ := mountOf(v)
	if folder, below := belowWritable(p, asked); below {
		text += ", which lies in " + folder + ", where jobs may write: of such a folder only the whole can be mounted"
	}
	return text
}

func mountOf(v string) (folder string, readOnly bool) {
	folder, readOnly = strings.CutSuffix(v, ":ro")
	return path.Clean(folder), readOnly
}

// within says whether name is folder or below it.
func within(folder, name string) bool {
	return folder == name || strings.HasPrefix(name, strings.TrimSuffix(folder, "/")+"/")
}

// AutoPort stands for a published port that the engine chooses.
const AutoPort = "auto"

// portsAllowed says whether a port, or every port of a range, is in the list.
func portsAllowed(allowed []string, v string) bool {
	if v == AutoPort {
		return slices.Contains(allowed, AutoPort)
	}
	low, high, ok := portRange(v)
	if !ok {
		return false
	}
	for port := low; port <= high; port++ {
		if !slices.ContainsFunc(allowed, func(a string) bool {
			from, to, ok := portRange(a)
			return ok && from <= port && port <= to
		}) {
			return false
		}
	}
	return true
}

// portRange reads 8080 or 8000-8999.
func portRange(s string) (low, high int, ok bool) {
	from, to, isRange := strings.Cut(s, "-")
	if !isRange {
		to = from
	}
	low, err := strconv.Atoi(from)
	high, err2 := strconv.Atoi(to)
	return low, high, err == nil && err2 == nil && 1 <= low && low <= high && high <= 65535
}
