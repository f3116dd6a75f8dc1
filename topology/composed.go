package topology

import (
	"fmt"
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

// UsesSource says what of the spec needs files of its source; "" is nothing.
func (s *Spec) UsesSource() string {
	if len(s.Compose.Files) > 0 {
		return "compose"
	}
	for _, field := range []struct {
		name  string
		files map[string]FileSource
	}{{"configs", s.Configs}, {"secrets", s.Secrets}} {
		for _, name := range slices.Sorted(maps.Keys(field.files)) {
			if field.files[name].File != "" {
				return field.name + "." + name
			}
		}
	}
	if i := slices.IndexFunc(s.Cache, func(c CacheSpec) bool { return len(c.Key.Files) > 0 }); i >= 0 {
		return fmt.Sprintf("cache[%d].key", i)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Services)) {
		svc := s.Services[name]
		if svc.Build != nil {
			return "services." + name + ".build"
		}
		if slices.ContainsFunc(svc.Volumes, func(m Mount) bool { return m.fromSource() }) {
			return "services." + name + ".volumes"
		}
	}
	return ""
}
