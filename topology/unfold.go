package topology

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// imageRepository is what images that are built for attempts are called; the tag says
// for which.
const imageRepository = "runnerhub-build"

// Unfold returns the spec as it is carried out: with a service for each container, and
// each with the image that it runs, also where that is to be built. tag is that of the
// execution's names.
//
// A service of several containers becomes NAME-1, NAME-2 and so on, all of which are
// reached as NAME too, and who waits for the service waits for all of them. A single
// container is reached as NAME-1 as well, as it is in Compose, unless a service is
// called that.
func (s *Spec) Unfold(id Identity, tag string) *Spec {
	if len(s.Services) == 0 {
		return s
	}
	out := *s
	out.Services = make(map[string]Service, len(s.Services))
	built := s.builtImages(id, tag)
	for name, svc := range s.Services {
		if ref, ok := built[name]; ok {
			svc.Image = ref
		}
		svc.DependsOn = s.instancesOf(svc.DependsOn)
		first := instanceName(name, 1)
		if svc.Scale <= 1 {
			if _, taken := s.Services[first]; !taken {
				svc.Aliases = append(slices.Clone(svc.Aliases), first)
			}
			out.Services[name] = svc
			continue
		}
		count := svc.Scale
		svc.Scale, svc.Aliases = 0, append(slices.Clone(svc.Aliases), name)
		for n := 1; n <= count; n++ {
			out.Services[instanceName(name, n)] = svc
		}
	}
	return &out
}

func (s *Spec) instancesOf(on map[string]Dependency) map[string]Dependency {
	if len(on) == 0 {
		return on
	}
	out := map[string]Dependency{}
	for name, dependency := range on {
		if count := s.Services[name].Scale; count > 1 {
			for n := 1; n <= count; n++ {
				out[instanceName(name, n)] = dependency
			}
			continue
		}
		out[name] = dependency
	}
	return out
}

// builtImages names the images of services that have a build, or that run what
// another service builds by the name that it has there. Equal builds share one.
func (s *Spec) builtImages(id Identity, tag string) map[string]string {
	names := slices.Sorted(maps.Keys(s.Services))
	built, called := map[string]string{}, map[string]string{}
	var builders []string
	for _, name := range names {
		svc := s.Services[name]
		if svc.Build == nil {
			continue
		}
		same := slices.IndexFunc(builders, func(other string) bool {
			o := s.Services[other]
			return o.Platform == svc.Platform && reflect.DeepEqual(o.Build, svc.Build)
		})
		if same >= 0 {
			built[name] = built[builders[same]]
		} else {
			builders = append(builders, name)
			built[name] = fmt.Sprintf("%s:%s-%d", imageRepository, id.prefix(tag), len(builders))
		}
		if svc.Image != "" {
			called[svc.Image] = built[name]
		}
	}
	for _, name := range names {
		svc := s.Services[name]
		if ref, ok := called[svc.Image]; ok && svc.Build == nil {
			built[name] = ref
		}
	}
	return built
}

// IsBuilt says whether ref is the name of an image that an attempt builds.
func IsBuilt(ref string) bool { return strings.HasPrefix(ref, imageRepository+":") }

// PlanBuilds plans the builds of an unfolded spec, one for each image.
func PlanBuilds(spec *Spec) Plan {
	var plan Plan
	done := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(spec.Services)) {
		svc := spec.Services[name]
		if svc.Build == nil || done[svc.Image] {
			continue
		}
		done[svc.Image] = true
		build := *svc.Build
		if spec.Network == NetworkRestricted { // there are no services to reach yet
			build.Network = modeNone
		}
		plan.add(Op{Kind: OpBuild, Target: svc.Image, Service: name, Platform: cmp.Or(svc.Platform, spec.Platform), Cause: "services." + name + ".build", Build: &build})
	}
	return plan
}
