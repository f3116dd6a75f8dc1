package topology

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Reused lists the services of an unfolded spec that may stay for later jobs, sorted.
// Those of one job are a set: they stay together, on a network of their own, and are
// found again together.
func (s *Spec) Reused() []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(s.Services)) {
		if s.Services[name].Reuse {
			names = append(names, name)
		}
	}
	return names
}

// ReuseKey is a digest of all that the reused services of an unfolded spec are made of.
// Two jobs with equal keys can have the same ones. observed has their images; Metadata
// of it counts as well, since it cannot be changed in a container that runs.
func ReuseKey(spec *Spec, observed Observed) string {
	type part struct {
		Service Service
		Image   string // its digest
		Files   []Copy
	}
	made := struct {
		Platform   string
		Restricted bool
		Metadata   bool
		Services   map[string]part
	}{spec.Platform, spec.Network == NetworkRestricted, observed.Metadata, map[string]part{}}
	b := attemptPlan{spec: spec}
	for _, name := range spec.Reused() {
		svc := spec.Services[name]
		files := append(b.files(svc.Configs, spec.Configs), b.files(svc.Secrets, spec.Secrets)...)
		made.Services[name] = part{svc, observed.Images[svc.Image].ID, files}
	}
	text, err := json.Marshal(made)
	if err != nil { // all of it was read from JSON
		panic(fmt.Sprintf("topology: a service is no JSON: %v", err))
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// EffectiveHealth is the healthcheck that a service is waited for with: the declared
// one or the image's, with an argv for a test and all defaults; nil where there is none.
func EffectiveHealth(svc Service, image Image) *Healthcheck {
	return effectiveHealth(svc.Healthcheck, image)
}

// WithSet returns the names with those of the reused services, and of the volumes that
// they mount, as members of the set that tag names: they outlive the attempt.
func (n Names) WithSet(spec *Spec, tag string) Names {
	n.Set = tag
	n.Services = maps.Clone(n.Services)
	for _, name := range spec.Reused() {
		n.Services[name] = setPrefix(tag) + "svc-" + nameSafe(name)
	}
	return n
}

// InSet says whether a resource is one of the set's, by its name.
func (n Names) InSet(name string) bool {
	return n.Set != "" && strings.HasPrefix(name, setPrefix(n.Set))
}

func setPrefix(tag string) string { return "rh-warm-" + tag + "-" }

// SetLabels returns what the members of a set are labelled with. They belong to a
// runner, and to no attempt.
func SetLabels(hub, runner, tag string) map[string]string {
	return map[string]string{LabelHub: hub, LabelRunner: runner, LabelRole: RoleWarm, LabelSet: tag}
}

// staysIn says whether a service's container is a member of the attempt's set.
func (n Names) staysIn(svc Service) bool { return n.Set != "" && svc.Reuse }

// setVolumes are the volumes of the spec that are the set's: those that a reused
// service mounts.
func (b *attemptPlan) setVolumes() map[string]bool {
	kept := map[string]bool{}
	for _, svc := range b.spec.Services {
		for _, m := range svc.Volumes {
			if b.names.staysIn(svc) && m.Type == MountVolume && m.Source != "" {
				kept[m.Source] = true
			}
		}
	}
	return kept
}

// volumeName is what a volume of the spec is called on the engine, and volumeLabels whose it is.
func (b *attemptPlan) volumeName(name string) string {
	if b.kept[name] {
		return setPrefix(b.names.Set) + "vol-" + nameSafe(name)
	}
	return b.names.volumeOf(name)
}

func (b *attemptPlan) volumeLabels(name string) map[string]string {
	if b.kept[name] {
		return SetLabels(b.id.Hub, b.id.Runner, b.names.Set)
	}
	return b.id.Labels(RoleVolume)
}
