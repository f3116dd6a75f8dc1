package topology

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// WithServices returns a copy of the spec whose services are those of model, which is
// what Compose files came to: a JSON object with services, volumes, configs and
// secrets, as a spec has them. They are decoded as those of a spec are, so that what
// can be written both ways means the same; only names, and healthchecks without a
// test, may be what Compose allows. The error is a *SpecError without places.
func (s *Spec) WithServices(model []byte) (*Spec, error) {
	root, problem := readTree(model)
	if problem != nil {
		problem.Line, problem.Column = 0, 0
		return nil, newSpecError(*problem)
	}
	d := &decoder{lenient: true}
	out := *s
	d.object(value{node: root, key: root}, fields{
		"services": func(v value) { out.Services = d.services(v) },
		"volumes":  func(v value) { out.Volumes = d.volumes(v) },
		"configs":  func(v value) { out.Configs = d.fileSources(v) },
		"secrets":  func(v value) { out.Secrets = d.fileSources(v) },
	}, strangers{refused: hints(ComposeTop())})
	d.checkMentions(&out)
	if len(d.problems) == 0 {
		return &out, nil
	}
	for i := range d.problems {
		d.problems[i].Line, d.problems[i].Column = 0, 0
	}
	slices.SortStableFunc(d.problems, func(a, b Problem) int { return strings.Compare(a.Field, b.Field) })
	return nil, newSpecError(d.problems...)
}

// instanceName is what one of several containers of a service is called.
func instanceName(service string, n int) string { return service + "-" + strconv.Itoa(n) }

// Instances returns the services with one entry for each container: a service of
// several becomes NAME-1, NAME-2 and so on, all of which are reached as NAME too, and
// who waits for the service waits for all of them. A single container is reached as
// NAME-1 as well, as it is in Compose, unless a service is called that.
func (s *Spec) Instances() map[string]Service {
	if len(s.Services) == 0 {
		return nil
	}
	out := make(map[string]Service, len(s.Services))
	for name, svc := range s.Services {
		svc.DependsOn = s.instancesOf(svc.DependsOn)
		first := instanceName(name, 1)
		if svc.Scale <= 1 {
			if _, taken := s.Services[first]; !taken {
				svc.Aliases = append(slices.Clone(svc.Aliases), first)
			}
			out[name] = svc
			continue
		}
		count := svc.Scale
		svc.Scale, svc.Aliases = 0, append(slices.Clone(svc.Aliases), name)
		for n := 1; n <= count; n++ {
			out[instanceName(name, n)] = svc
		}
	}
	return out
}

func (s *Spec) instancesOf(on map[string]Dependency) map[string]Dependency {
	if !slices.ContainsFunc(slices.Collect(maps.Keys(on)), func(name string) bool { return s.Services[name].Scale > 1 }) {
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

// UsesSource says whether the spec needs files of its source, and what for.
func (s *Spec) UsesSource() (what string, uses bool) {
	if len(s.Compose.Files) > 0 {
		return "compose", true
	}
	for _, files := range []map[string]FileSource{s.Configs, s.Secrets} {
		for name, f := range files {
			if f.File != "" {
				return name, true
			}
		}
	}
	for name, svc := range s.Services {
		if svc.Build != nil {
			return "services." + name + ".build", true
		}
		if slices.ContainsFunc(svc.Volumes, func(m Mount) bool { return m.fromSource() }) {
			return "services." + name + ".volumes", true
		}
	}
	return "", false
}
