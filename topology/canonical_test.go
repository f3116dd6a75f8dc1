package topology_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"
	"pgregory.net/rapid"

	"github.com/runnerhub/runnerhub/topology"
)

// Any valid spec survives its canonical form, and YAML that says the same.
func TestCanonicalReadsBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		spec := drawSpec(t)
		canonical, err := spec.Canonical()
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := topology.Parse(canonical)
		if err != nil {
			t.Fatalf("%v\n%s", err, canonical)
		}
		if diff := cmp.Diff(spec, parsed); diff != "" {
			t.Fatalf("from JSON (-drawn +parsed):\n%s", diff)
		}
		checkRoundTrip(t, parsed)

		var plain any
		if err := json.Unmarshal(canonical, &plain); err != nil {
			t.Fatal(err)
		}
		text, err := yaml.Dump(plain)
		if err != nil {
			t.Fatal(err)
		}
		if parsed, err = topology.Parse(text); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if diff := cmp.Diff(spec, parsed); diff != "" {
			t.Fatalf("from YAML (-drawn +parsed):\n%s\n%s", diff, text)
		}
	})
}

func drawSpec(t *rapid.T) *topology.Spec {
	s := &topology.Spec{
		Name:        maybe(t, rapid.StringMatching(`[A-Za-zäß0-9]([ -~äß]{0,100}[!-~])?`), "name"),
		Image:       drawImage(t),
		Env:         drawEnv(t, "env"),
		WorkingDir:  maybe(t, rapid.StringMatching(`/[a-z][a-z0-9/_ -]{0,20}`), "working_dir"),
		User:        maybe(t, rapid.StringMatching(`[a-z0-9_][a-z0-9_.-]{0,8}(:[0-9]{1,5})?`), "user"),
		Requires:    drawWords(t, rapid.SampledFrom(topology.Capabilities), "requires"),
		Labels:      drawWords(t, rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9._-]{0,62}`), "labels"),
		Platform:    maybe(t, rapid.SampledFrom([]string{"linux/amd64", "linux/arm/v7", "windows/amd64"}), "platform"),
		Pull:        rapid.SampledFrom([]topology.PullPolicy{topology.PullMissing, topology.PullAlways, topology.PullNever}).Draw(t, "pull"),
		Resources:   drawResources(t),
		Ulimits:     drawUlimits(t),
		Network:     rapid.SampledFrom([]topology.NetworkMode{topology.NetworkRestricted, topology.NetworkOpen}).Draw(t, "network"),
		Timeout:     maybe(t, drawDuration(topology.MinTimeout, topology.MaxTimeout), "timeout"),
		IdleTimeout: maybe(t, drawDuration(topology.MinTimeout, topology.MaxTimeout), "idle_timeout"),
		Grace:       drawDuration(1, topology.MaxGrace).Draw(t, "grace"),
		Retry: topology.Retry{
			MaxAttempts: rapid.IntRange(0, topology.MaxRetryAttempts).Draw(t, "max_attempts"),
			On:          drawWords(t, rapid.SampledFrom(topology.RetryClasses), "on"),
		},
		Concurrency: drawConcurrency(t),
		Artifacts:   drawArtifacts(t),
		Reports:     topology.Reports{JUnit: drawPatterns(t), GoTest: drawPatterns(t), TAP: drawPatterns(t), Any: drawPatterns(t)},
		Collect:     rapid.SampledFrom([]topology.Collected{"", topology.CollectPatch}).Draw(t, "collect"),
		Cache:       drawCaches(t),
		Source:      drawSource(t),
	}
	if rapid.Bool().Draw(t, "steps") {
		for i := range rapid.IntRange(1, 5).Draw(t, "n") {
			s.Steps = append(s.Steps, topology.Step{
				Name:   "step " + strconv.Itoa(i+1),
				Run:    "x" + drawText().Draw(t, "run"),
				Always: rapid.Bool().Draw(t, "always"),
				Env:    drawEnv(t, "step env"),
			})
		}
		s.Shell = append([]string{"sh"}, drawArgv(t, "shell")...)
	} else {
		s.Command = drawArgv(t, "command")
	}
	if s.Command == nil && rapid.IntRange(0, 4).Draw(t, "session") == 0 {
		s.Kind, s.Exec = topology.JobSession, true
		s.IdleTimeout, s.Retry.MaxAttempts = max(s.IdleTimeout, topology.Duration(topology.MinTimeout)), max(s.Retry.MaxAttempts, 1)
		if s.Shell == nil {
			s.Shell = []string{"sh"}
		}
	} else if (s.Steps != nil || s.Command != nil) && rapid.IntRange(0, 4).Draw(t, "host") == 0 {
		s.Image, s.WorkingDir, s.User, s.Platform, s.Pull, s.Network = "", "", "", "", "", topology.NetworkOpen
		s.Cache = nil
		return s
	}
	var before []string
	for i := range rapid.IntRange(0, 4).Draw(t, "services") {
		if s.Services == nil {
			s.Services = map[string]topology.Service{}
		}
		name := rapid.StringMatching(`[a-z][a-z0-9-]{0,10}[a-z0-9]`).Draw(t, "service") + strconv.Itoa(i)
		s.Services[name] = drawService(t, before)
		before = append(before, name)
	}
	return s
}

func drawArtifacts(t *rapid.T) (all []topology.Artifact) {
	for i, p := range drawPatterns(t) {
		all = append(all, topology.Artifact{Name: "n" + strconv.Itoa(i), Path: p, Optional: rapid.Bool().Draw(t, "optional")})
	}
	return all
}

func drawCaches(t *rapid.T) (all []topology.CacheSpec) {
	word := rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9._+@:/-]{0,20}`)
	for i := range rapid.IntRange(0, 3).Draw(t, "caches") {
		c := topology.CacheSpec{
			Key:      topology.CacheKey{Prefix: word.Draw(t, "prefix"), Files: drawPatterns(t)},
			ReadOnly: rapid.Bool().Draw(t, "read_only"),
		}
		for range rapid.IntRange(0, 2).Draw(t, "restore") {
			c.Restore = append(c.Restore, word.Draw(t, "beginning"))
		}
		for j := range rapid.IntRange(1, 3).Draw(t, "paths") {
			at := rapid.SampledFrom([]string{"/srv/", "~/", "~/.cache/", "", "größe x/", "a/b/"}).Draw(t, "at")
			c.Paths = append(c.Paths, at+"p"+strconv.Itoa(i)+"-"+strconv.Itoa(j))
		}
		all = append(all, c)
	}
	return all
}

func drawPatterns(t *rapid.T) (all []string) {
	for range rapid.IntRange(0, 3).Draw(t, "patterns") {
		all = append(all, rapid.SampledFrom([]string{"out/*.xml", "dist", "**", "a b/{c,d}/[e-g]?.txt", "größe/**/x"}).Draw(t, "pattern"))
	}
	return all
}

func drawConcurrency(t *rapid.T) (c topology.Concurrency) {
	if c.Group = maybe(t, rapid.StringMatching(`[A-Za-zäß0-9]([ -~äß]{0,100}[!-~])?`), "group"); c.Group != "" {
		c.CancelRunning = rapid.Bool().Draw(t, "cancel_running")
	}
	return c
}

// drawService depends on services drawn before only, so that there is no cycle.
func drawService(t *rapid.T, before []string) topology.Service {
	s := topology.Service{
		Image:       drawImage(t),
		Command:     drawArgv(t, "command"),
		Entrypoint:  drawArgv(t, "entrypoint"),
		Environment: drawEnv(t, "environment"),
		WorkingDir:  maybe(t, rapid.Just("/srv"), "working_dir"),
		User:        maybe(t, rapid.Just("0:0"), "user"),
		Resources:   drawResources(t),
		Ulimits:     drawUlimits(t),
	}
	if rapid.Bool().Draw(t, "tmpfs") {
		s.Tmpfs = []string{"/tmp", "/run:size=1m,mode=1777"}
	}
	if len(before) > 0 && rapid.Bool().Draw(t, "depends") {
		conditions := []topology.Condition{topology.ServiceStarted, topology.ServiceHealthy, topology.ServiceCompleted}
		s.DependsOn = map[string]topology.Dependency{
			rapid.SampledFrom(before).Draw(t, "on"): {Condition: rapid.SampledFrom(conditions).Draw(t, "condition")},
		}
	}
	switch rapid.IntRange(0, 3).Draw(t, "health") {
	case 1:
		s.Healthcheck = &topology.Healthcheck{Test: []string{"NONE"}}
	case 2:
		s.Healthcheck = &topology.Healthcheck{Test: []string{"CMD-SHELL", "x" + drawText().Draw(t, "script")}}
	case 3:
		s.Healthcheck = &topology.Healthcheck{Test: append([]string{"CMD", "true"}, drawArgv(t, "test")...)}
	}
	if h := s.Healthcheck; h != nil && h.Test[0] != "NONE" {
		h.Interval = drawDuration(time.Millisecond, time.Hour).Draw(t, "interval")
		h.Timeout = drawDuration(time.Millisecond, time.Hour).Draw(t, "timeout")
		h.StartPeriod = drawDuration(0, time.Hour).Draw(t, "start_period")
		h.Retries = rapid.IntRange(1, 10_000).Draw(t, "retries")
	}
	return s
}

func drawImage(t *rapid.T) string {
	return rapid.StringMatching(`([a-z][a-z0-9]{0,8}\.example(:[0-9]{2,4})?/)?[a-z0-9]{1,9}(/[a-z0-9]{1,9})?(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,9})?(@sha256:[0-9a-f]{64})?`).
		Draw(t, "image")
}

func drawResources(t *rapid.T) topology.Resources {
	return topology.Resources{
		CPUs:   maybe(t, rapid.Float64Range(topology.MinCPUs, topology.MaxCPUs), "cpus"),
		Memory: maybe(t, rapid.Int64Range(topology.MinMemory, topology.MaxMemory), "memory"),
		Pids:   maybe(t, rapid.Int64Range(1, topology.MaxPids), "pids"),
		Disk:   maybe(t, rapid.Int64Range(topology.MinDisk, topology.MaxDisk), "disk"),
	}
}

func drawUlimits(t *rapid.T) map[string]topology.Ulimit {
	if !rapid.Bool().Draw(t, "ulimits?") {
		return nil
	}
	hard := rapid.Int64Range(0, 1<<53).Draw(t, "hard")
	return map[string]topology.Ulimit{
		"core": {Soft: -1, Hard: -1}, "nofile": {Soft: rapid.Int64Range(0, hard).Draw(t, "soft"), Hard: hard},
	}
}

// drawText is any text that a spec can hold: all of Unicode but NUL.
func drawText() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		return string(rapid.SliceOfN(rapid.Rune().Filter(func(r rune) bool { return r != 0 }), 0, 30).Draw(t, "runes"))
	})
}

func drawArgv(t *rapid.T, label string) []string {
	argv := rapid.SliceOfN(drawText(), 0, 4).Draw(t, label)
	if len(argv) == 0 {
		return nil
	}
	return argv
}

func drawEnv(t *rapid.T, label string) map[string]string {
	vars := rapid.MapOfN(rapid.StringMatching(`[A-Za-z_][A-Za-z0-9_.-]{0,9}`), drawText(), 0, 4).Draw(t, label)
	if len(vars) == 0 {
		return nil
	}
	return vars
}

// drawWords is a sorted list without duplicates, as normalisation leaves it.
func drawWords(t *rapid.T, word *rapid.Generator[string], label string) []string {
	set := map[string]bool{}
	for _, w := range rapid.SliceOfN(word, 0, 4).Draw(t, label) {
		set[w] = true
	}
	if len(set) == 0 {
		return nil
	}
	return slices.Sorted(maps.Keys(set))
}

func drawDuration(least, most time.Duration) *rapid.Generator[topology.Duration] {
	return rapid.Map(rapid.Int64Range(int64(least), int64(most)), func(n int64) topology.Duration { return topology.Duration(n) })
}

func maybe[T any](t *rapid.T, g *rapid.Generator[T], label string) (v T) {
	if rapid.Bool().Draw(t, label+"?") {
		v = g.Draw(t, label)
	}
	return v
}

func TestDurationText(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "0s", time.Hour: "1h", 90 * time.Minute: "1h30m", 30 * time.Minute: "30m", time.Hour + time.Second: "1h0m1s",
		10 * time.Second: "10s", 1500 * time.Millisecond: "1.5s", 24 * time.Hour: "24h", 20 * time.Minute: "20m",
	} {
		if got := topology.Duration(d).String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		var back topology.Duration
		if err := back.UnmarshalText([]byte(want)); err != nil || time.Duration(back) != d {
			t.Errorf("%s reads back as %v, %v", want, back, err)
		}
	}
}

func drawSource(t *rapid.T) *topology.Source {
	s := &topology.Source{}
	name := rapid.StringMatching(`[a-zä][a-z0-9_. ]{0,8}x(/\.?[a-z ]{1,8}x){0,2}`)
	for range rapid.IntRange(0, 3).Draw(t, "files") {
		file := topology.SourceFile{
			Content: rapid.String().Filter(func(s string) bool { return !strings.ContainsRune(s, 0) }).Draw(t, "content"),
			Mode:    maybe(t, rapid.StringMatching(`0[0-7]{3}`), "mode"),
		}
		if s.Files == nil {
			s.Files = map[string]topology.SourceFile{}
		}
		s.Files["d"+strconv.Itoa(len(s.Files))+"/"+name.Draw(t, "path")] = file
	}
	switch rapid.IntRange(0, 2).Draw(t, "kind") {
	case 0:
		s.Repository = rapid.SampledFrom([]string{
			"https://git.example/team/app.git", "ssh://git@git.example:2222/app", "git@git.example:team/app.git",
		}).Draw(t, "repository")
		s.Commit = rapid.StringMatching(`[0-9a-f]{40}`).Draw(t, "commit")
		s.Submodules, s.LFS = rapid.Bool().Draw(t, "submodules"), rapid.Bool().Draw(t, "lfs")
		s.Path = maybe(t, name, "folder")
	case 1:
		s.Archive = rapid.StringMatching(`sha256:[0-9a-f]{64}`).Draw(t, "archive")
	}
	if rapid.Bool().Draw(t, "patched") {
		s.Patch = "--- a/größe\n+++ b/größe\n@@ -1 +1 @@\n-a\n+" + rapid.StringMatching(`[ -~ä]{0,20}`).Draw(t, "line") + "\n"
	}
	if s.Repository == "" && s.Archive == "" && s.Files == nil && s.Patch == "" {
		return nil
	}
	return s
}
