package hub

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

// Prefixes of ids. An id is its prefix and a UUID v7, so that ids sort by time. A runner's has a hyphen,
// so that it cannot be mistaken for a token.
const (
	JobIDPrefix       = "job_"
	RunnerIDPrefix    = "rnr-"
	UserIDPrefix      = "usr_"
	WorkspaceIDPrefix = "wsp_"
	KeyIDPrefix       = "key_"
	PairingIDPrefix   = "prq_"
)

// JobIDsBefore is above the ids of all jobs that were made before t, in milliseconds, and at or below those of all others.
func JobIDsBefore(t time.Time) string {
	ms := max(0, t.UnixMilli())
	return fmt.Sprintf("%s%08x-%04x", JobIDPrefix, ms>>16, ms&0xffff)
}

var (
	slugPattern  = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,37}[a-z0-9])?$`)
	labelPattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9._-]{0,61}[a-z0-9])?$`)
	labelOther   = regexp.MustCompile(`[^a-z0-9._-]+`)
)

// CheckSlug says whether s can be a login or a workspace's slug.
func CheckSlug(what, s string) error {
	if !slugPattern.MatchString(s) {
		return Errorf(InvalidArgument, "%q cannot be a %s", s, what).
			WithHint("use 1 to 39 lower-case letters, digits and hyphens, with no hyphen at either end")
	}
	return nil
}

// CheckLabel says whether s can be a runner's label.
func CheckLabel(s string) error {
	if !labelPattern.MatchString(s) || s == "self" || s == "workspace" || strings.HasPrefix(s, RunnerIDPrefix) {
		return Errorf(InvalidArgument, "%q cannot be a runner's label", s).
			WithHint("use 1 to 63 lower-case letters, digits, dots, hyphens and underscores; self, workspace and rnr-… have meanings of their own")
	}
	return nil
}

// LabelFromHostname makes a label of a machine's host name: its first part, lower case, without what a label cannot hold.
func LabelFromHostname(hostname string) string {
	first, _, _ := strings.Cut(strings.ToLower(hostname), ".")
	s := strings.Trim(labelOther.ReplaceAllString(first, "-"), "-._")
	if len(s) > 40 {
		s = strings.Trim(s[:40], "-._")
	}
	if CheckLabel(s) != nil {
		return "machine"
	}
	return s
}
