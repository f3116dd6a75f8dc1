package policy_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/runnerhub/runnerhub/topology"
	"github.com/runnerhub/runnerhub/topology/policy"
)

func spec(t *testing.T, text string) *topology.Spec {
	t.Helper()
	s, err := topology.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func parse(t *testing.T, text string) *policy.Policy {
	t.Helper()
	p, err := policy.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestCheckNamesTheRuleAndTheWayOut(t *testing.T) {
	t.Parallel()
	s := spec(t, `
image: golang:1.26
resources: {cpus: 2, memory: 1GiB, disk: 2GiB}
services:
  db: {image: postgres, resources: {memory: 512MiB, disk: 1GiB}, scale: 2}
  app: {image: registry.example:5000/team/app@sha256:`+strings.Repeat("a", 64)+`, cpus: 1.5}
`)
	for _, tt := range []struct {
		policy string
		want   []string
	}{
		{"", nil},
		{"images: [golang, postgres, 'registry.example:5000/**']\nnetworks: [open]\nceiling: {cpus: 3.5, memory: 2GiB}", nil},
		{"images: [golang, 'registry.example:5000/**']", []string{
			"the service db runs the image docker.io/library/postgres:latest, which is not among those that are allowed (rule images); runnerctl policy set images+=docker.io/library/postgres",
		}},
		{"images: [golang, postgres]\nceiling: {disk: 3GiB}", []string{
			"the service app runs the image registry.example:5000/team/app@sha256:" + strings.Repeat("a", 64) +
				", which is not among those that are allowed (rule images); runnerctl policy set images+=registry.example:5000/team/app",
			"the job asks for 4GiB of disk; the ceiling is 3GiB (rule ceiling.disk); runnerctl policy set ceiling.disk=4GiB",
		}},
		{"networks: [none, restricted]", []string{
			"the job asks for network: open; allowed is none, restricted (rule networks); runnerctl policy set networks+=open",
		}},
		{"ceiling: {cpus: 3, memory: 1GiB}", []string{
			"the job asks for 3.5 cores; the ceiling is 3 (rule ceiling.cpus); runnerctl policy set ceiling.cpus=3.5",
			"the job asks for 2GiB of memory; the ceiling is 1GiB (rule ceiling.memory); runnerctl policy set ceiling.memory=2GiB",
		}},
	} {
		var got []string
		for _, v := range policy.Check(parse(t, tt.policy), s, time.Time{}) {
			got = append(got, v.String()+"; "+v.Allow)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", tt.policy, diff)
		}
	}
	if got := policy.Check(nil, s, time.Now()); len(got) > 0 {
		t.Errorf("the default policy: %v", got)
	}
}

// Where a cloud's metadata service is in reach of open networks they are refused,
// by the hub too, which has the outline.
func TestOpenNetworkWithMetadataInReach(t *testing.T) {
	t.Parallel()
	for network, want := range map[string]string{
		"open":       "the job asks for network: open, in which this machine's cloud would hand it the machine's credentials (rule metadata_addresses)",
		"restricted": "",
		"none":       "",
	} {
		for allowed, want := range map[string]string{"metadata_addresses: false": want, "metadata_addresses: true": ""} {
			p := parse(t, allowed)
			p.OpenMetadata = true
			outlined, err := policy.ReadOutline(p.Outline())
			if err != nil {
				t.Fatal(err)
			}
			s := spec(t, "{image: busybox, network: "+network+"}")
			for _, p := range []*policy.Policy{p, outlined} {
				got := ""
				for _, v := range policy.Check(p, s, time.Time{}) {
					got += v.String()
				}
				if got != want {
					t.Errorf("%s, %s: %q, want %q", network, allowed, got, want)
				}
			}
		}
	}
}

// What a job needs beyond its own containers is refused unless it is allowed, and the
// command that a violation names allows exactly that.
func TestEveryRightIsRefusedUntilItsCommandIsRun(t *testing.T) {
	t.Parallel()
	for _, n := range []policy.Need{
		{Rule: policy.RulePrivileged, Container: "db"},
		{Rule: policy.RuleCapAdd, Container: "job", Value: "NET_ADMIN"},
		{Rule: policy.RuleHostModes, Container: "db", Value: "network"},
		{Rule: policy.RuleDevices, Container: "db", Value: "/dev/kvm"},
		{Rule: policy.RuleGPUs, Container: "db"},
		{Rule: policy.RuleDockerSocket, Container: "db"},
		{Rule: policy.RuleMounts, Container: "db", Value: "/srv/a b"},
		{Rule: policy.RuleMounts, Container: "db", Value: "/srv/data:ro"},
		{Rule: policy.RulePorts, Container: "db", Value: "8080"},
		{Rule: policy.RulePorts, Container: "db", Value: "auto"},
		{Rule: policy.RuleHostExecutor},
	} {
		before := policy.CheckNeeds(nil, []policy.Need{n})
		if len(before) != 1 || before[0].Rule != n.Rule || before[0].Container != n.Container || before[0].Message == "" {
			t.Errorf("%v: %v", n, before)
			continue
		}
		change := strings.Trim(strings.TrimPrefix(before[0].Allow, "runnerctl policy set "), "'")
		text, err := policy.Set(nil, change)
		if err != nil {
			t.Errorf("%s: %v", before[0].Allow, err)
			continue
		}
		p := parse(t, string(text))
		if after := policy.CheckNeeds(p, []policy.Need{n}); len(after) > 0 {
			t.Errorf("%s does not allow %v: %v", before[0].Allow, n, after)
		}
		outline, err := policy.ReadOutline(p.Outline())
		if err != nil || len(policy.CheckNeeds(outline, []policy.Need{n})) > 0 {
			t.Errorf("the outline %s refuses %v: %v", p.Outline(), n, err)
		}
		if strings.Contains(string(p.Outline()), "/srv") {
			t.Errorf("the outline tells of folders: %s", p.Outline())
		}
	}
}

// A job without an image asks for one thing, and whom it runs as is no business of the hub's.
func TestJobsOnTheMachineItself(t *testing.T) {
	t.Parallel()
	spec, err := topology.Parse([]byte("command: make\nresources: {cpus: 3}"))
	if err != nil {
		t.Fatal(err)
	}
	want := []policy.Need{
		{Rule: policy.RuleHostExecutor}, {Rule: policy.RuleNetworks, Value: "open"}, {Rule: policy.RuleCeilingCPUs, Value: "3"},
	}
	if diff := cmp.Diff(want, policy.Needs(spec)); diff != "" {
		t.Error(diff)
	}
	p := parse(t, "images: [postgres]\nhost_executor: true\nhost_user: builder\nnetworks: [none, restricted]\nceiling: {cpus: 2}")
	var rules []policy.Rule
	for _, v := range policy.Check(p, spec, time.Time{}) {
		rules = append(rules, v.Rule)
	}
	if diff := cmp.Diff([]policy.Rule{policy.RuleNetworks, policy.RuleCeilingCPUs}, rules); diff != "" {
		t.Error(diff)
	}
	if strings.Contains(string(p.Outline()), "builder") {
		t.Errorf("the outline tells of users: %s", p.Outline())
	}
}

func TestRulesHoldToTheLetter(t *testing.T) {
	t.Parallel()
	p := parse(t, `
mounts: [/srv/cache, "/srv/data:ro"]
devices: [/dev/dri/*]
cap_add: [cap_net_admin]
ports: [8000-8002, 9000]
`)
	for _, tt := range []struct {
		rule  policy.Rule
		value string
		ok    bool
	}{
		{policy.RuleMounts, "/srv/cache", true},
		{policy.RuleMounts, "/srv/cache/go/..", true},
		{policy.RuleMounts, "/srv/cache/go", false}, // a job may have made a link of it
		{policy.RuleMounts, "/srv/cache/go:ro", false},
		{policy.RuleMounts, "/srv/cache:ro", true},
		{policy.RuleMounts, "/srv/data/set:ro", true},
		{policy.RuleMounts, "/srv/cache/../secret", false},
		{policy.RuleMounts, "/srv/cached", false},
		{policy.RuleMounts, "/srv", false},
		{policy.RuleMounts, "/srv/data:ro", true},
		{policy.RuleMounts, "/srv/data", false},
		{policy.RuleDevices, "/dev/dri/card0", true},
		{policy.RuleDevices, "/dev/dri/../kvm", false},
		{policy.RuleCapAdd, "NET_ADMIN", true},
		{policy.RuleCapAdd, "SYS_ADMIN", false},
		{policy.RulePorts, "8000-8002", true},
		{policy.RulePorts, "8002-8003", false},
		{policy.RulePorts, "9000", true},
		{policy.RulePorts, "auto", false},
		{policy.RulePorts, "x", false},
	} {
		if got := len(policy.CheckNeeds(p, []policy.Need{{Rule: tt.rule, Value: tt.value}})) == 0; got != tt.ok {
			t.Errorf("%s %s: %v", tt.rule, tt.value, got)
		}
	}
	if v := policy.CheckNeeds(nil, []policy.Need{{Rule: "of a later release"}}); len(v) > 0 {
		t.Errorf("an unknown rule is held against a job: %v", v)
	}
}

// A folder that lies in one that jobs may write is no safer for being named as well.
func TestMountsWithinWritableOnes(t *testing.T) {
	t.Parallel()
	p := parse(t, "mounts: [/srv, '/srv/data:ro', /srv/cache]")
	for _, folder := range []string{"/srv/data:ro", "/srv/cache", "/srv/data/x:ro"} {
		found := policy.CheckNeeds(p, []policy.Need{{Rule: policy.RuleMounts, Value: folder}})
		if len(found) != 1 || !strings.Contains(found[0].String(), "mounts "+folder+" of the machine, which lies in /srv, where jobs may write") {
			t.Errorf("%s: %v", folder, found)
		}
	}
}

func TestMatchImage(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		patterns string
		image    string
		ok       bool
	}{
		{"postgres", "docker.io/library/postgres:16", true},
		{"postgres", "docker.io/acme/postgres:16", false},
		{"postgres:16*", "docker.io/library/postgres:16.2", true},
		{"postgres:16*", "docker.io/library/postgres:17", false},
		{"acme/*", "docker.io/acme/web:1", true},
		{"acme/*", "docker.io/acme/web/api:1", false},
		{"ghcr.io/acme/**", "ghcr.io/acme/web/api:1", true},
		{"ghcr.io/acme/**", "ghcr.io.evil/acme/web:1", false},
		{"localhost:5000/*", "localhost:5000/x:1", true},
		{"**", "quay.io/x/y:1", true},
		{"** !docker.io/**", "docker.io/library/a:1", false},
		{"** !docker.io/** postgres", "docker.io/library/postgres:1", true},
		{"!*:latest", "docker.io/library/a:latest", false},
		{"!*:latest", "docker.io/library/a:1", true},
		{"**/*@sha256:*", "quay.io/x/y@sha256:" + strings.Repeat("b", 64), true},
		{"**/*@sha256:*", "quay.io/x/y:1", false},
	} {
		if got := policy.MatchImage(strings.Fields(tt.patterns), tt.image); got != tt.ok {
			t.Errorf("%s of %s: %v", tt.patterns, tt.image, got)
		}
	}
}

func TestMatchRepository(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"https://github.com/acme/x.git": true, "git@github.com:acme/x": true, "ssh://git@GitHub.com/acme/team/x/": true,
		"https://user:pass@github.com/acme/x": true, "https://github.com/other/x": false, "https://github.com.evil/acme/x": false,
		"https://github.com@evil.example/acme/x": false, "git@github.com:other/acme/x": false,
	} {
		if got := policy.MatchRepository([]string{"github.com/acme/**"}, address); got != want {
			t.Errorf("%s: %v", address, got)
		}
	}
	if !policy.MatchRepository([]string{"/srv/git/**"}, "file:///srv/git/x.git") {
		t.Error("a repository of the machine's own")
	}
}

func TestHours(t *testing.T) {
	t.Parallel()
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	at := func(text string) time.Time { // 2026-03-02 is a Monday
		tm, err := time.ParseInLocation("2006-01-02 15:04", text, zone)
		if err != nil {
			t.Fatal(err)
		}
		return tm
	}
	night := "hours: [mon-fri 18:00-08:00, sat-sun]"
	for _, tt := range []struct {
		policy, at string
		open       bool
		next       string
	}{
		{"", "2026-03-02 12:00", true, ""},
		{night, "2026-03-02 07:59", false, "2026-03-02 18:00"}, // no night began on Sunday
		{night, "2026-03-02 12:00", false, "2026-03-02 18:00"},
		{night, "2026-03-02 18:00", true, ""},
		{night, "2026-03-03 07:59", true, ""},
		{night, "2026-03-03 08:00", false, "2026-03-03 18:00"},
		{night, "2026-03-07 07:00", true, ""},
		{night, "2026-03-08 23:59", true, ""},
		{"hours: [fri-mon 09:00-17:00]", "2026-03-03 12:00", false, "2026-03-06 09:00"},
		{"hours: [fri-mon 09:00-17:00]", "2026-03-02 12:00", true, ""},
		{"hours: [daily 00:00-24:00]", "2026-03-02 23:59", true, ""},
		{"hours: [sun 02:30-04:00]", "2026-03-29 03:30", true, ""}, // the night without a 02:30
	} {
		open, next := parse(t, tt.policy).Open(at(tt.at))
		if open != tt.open || !next.IsZero() != (tt.next != "") || tt.next != "" && !next.Equal(at(tt.next)) {
			t.Errorf("%s at %s: %v, %v", tt.policy, tt.at, open, next)
		}
	}
	p := parse(t, "hours: [mon 10:00-11:00]")
	v := policy.Check(p, spec(t, "image: a"), at("2026-03-02 12:00"))
	if len(v) != 1 || v[0].Rule != policy.RuleHours {
		t.Errorf("outside hours: %v", v)
	}
	if v := policy.Check(p, spec(t, "image: a"), at("2026-03-02 10:30")); len(v) > 0 {
		t.Errorf("within hours: %v", v)
	}
}

func TestBoundSharesWhatIsLeft(t *testing.T) {
	t.Parallel()
	s := spec(t, `
image: a
services:
  db: {image: b, mem_limit: 1g, cpus: 1}
  app: {image: c, scale: 2}
`)
	got, v := policy.Bound(parse(t, "ceiling: {cpus: 4, memory: 4GiB, disk: 8GiB}"), s)
	if v != nil {
		t.Fatal(v)
	}
	want := topology.Resources{CPUs: 1, Memory: 1 << 30, Disk: 2 << 30}
	if got.Resources != want || got.Services["app"].Resources != want || got.Services["db"].Resources != want {
		t.Errorf("job %+v, services %+v", got.Resources, got.Services)
	}
	if s.Resources != (topology.Resources{}) || s.Services["app"].Resources != (topology.Resources{}) {
		t.Error("the spec was changed")
	}
	if len(policy.Check(parse(t, "ceiling: {cpus: 4, memory: 4GiB, disk: 8GiB}"), got, time.Time{})) > 0 {
		t.Error("what Bound made is over the ceiling")
	}
	if _, v := policy.Bound(parse(t, "ceiling: {memory: 1GiB}"), s); v == nil || v.Rule != policy.RuleCeilingMemory {
		t.Errorf("nothing is left for two containers: %v", v)
	}
	if same, v := policy.Bound(nil, s); same != s || v != nil {
		t.Error("no ceiling changes nothing")
	}
}

func TestARepositoryMustBeAmongThoseAllowed(t *testing.T) {
	t.Parallel()
	s := spec(t, "image: a\nsource: {repository: 'https://github.com/acme/x.git', commit: "+strings.Repeat("a", 40)+"}")
	v := policy.Check(parse(t, "repositories: [example.com/**]"), s, time.Time{})
	if len(v) != 1 || v[0].Allow != "runnerctl policy set repositories+=github.com/acme/x" {
		t.Errorf("%+v", v)
	}
	if v := policy.Check(parse(t, "repositories: [github.com/acme/*]"), s, time.Time{}); len(v) > 0 {
		t.Errorf("%+v", v)
	}
}

func TestNeedsTravel(t *testing.T) {
	t.Parallel()
	needs := policy.Needs(spec(t, "image: a\nservices: {db: {image: b}}"))
	back, err := policy.DecodeNeeds(policy.EncodeNeeds(needs))
	if err != nil || !slices.Equal(needs, back) || len(needs) != 3 {
		t.Errorf("%v, %v, %v", needs, back, err)
	}
	if none, err := policy.DecodeNeeds(nil); none != nil || err != nil {
		t.Errorf("%v, %v", none, err)
	}
}

// What an image is built from nobody can hold against a list.
func TestABuildNeedsLeaveForAnyImage(t *testing.T) {
	t.Parallel()
	s := spec(t, "image: a")
	s.Services = map[string]topology.Service{"b": {Build: &topology.Build{Context: "."}}}
	for text, allowed := range map[string]bool{"": true, "images: [a]": false, "images: [a, '**']": true} {
		found := policy.Check(parse(t, text), s, time.Time{})
		if (len(found) == 0) != allowed {
			t.Errorf("%q: %v", text, found)
		}
		if !allowed && (found[0].Rule != policy.RuleImages || found[0].Allow != "runnerctl policy set 'images+=**'") {
			t.Errorf("%+v", found[0])
		}
	}
}
