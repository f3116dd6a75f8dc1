package topology

import (
	"slices"
	"strings"
)

// dependencies is who waits for whom, in the order of the text.
type dependencies struct {
	names []string
	edges []dependency
}

type dependency struct {
	from, to string
	at       *node
	path     string
}

// dependsOn decodes both of Compose's forms; in a list each service is waited
// for until it has started.
func (d *decoder) dependsOn(v value, from string, graph *dependencies) map[string]Dependency {
	all := map[string]Dependency{}
	add := func(to string, at *node, path string, condition Condition) {
		graph.edges = append(graph.edges, dependency{from, to, at, path})
		all[to] = Dependency{Condition: condition}
	}
	switch v.kind {
	case listNode:
		d.list(v, func(item value) {
			if name, ok := d.text(item); ok {
				if _, twice := all[name]; twice {
					d.report(item.node, item.path, ProblemDuplicate, quote(name)+" is listed twice", "")
				}
				add(name, item.node, item.path, ServiceStarted)
			}
		})
	case mappingNode:
		d.each(v, func(f value) {
			if !d.isNull(f) {
				add(f.key.text, f.key, f.path, d.condition(f))
			}
		})
	default:
		d.wrongType(v, "a list of services, or a mapping with conditions")
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

func (d *decoder) condition(v value) (c Condition) {
	got := d.object(v, fields{
		"condition": func(v value) { c = oneOf(d, v, ServiceStarted, ServiceHealthy, ServiceCompleted) },
	}, dependencyStrangers)
	if v.kind == mappingNode && got.lacks("condition") {
		d.report(v.key, join(v.path, "condition"), ProblemMissing, "missing", `for example "condition: service_healthy"`)
	}
	return c
}

// checkDependencies reports targets that do not exist, and cycles by name.
func (d *decoder) checkDependencies(graph dependencies) {
	if len(graph.names) > MaxServices {
		return // reported, and too many to compare
	}
	next := map[string][]dependency{}
	for _, e := range graph.edges {
		if !slices.Contains(graph.names, e.to) {
			hint := didYouMean(e.to, graph.names)
			if e.to == jobAlias {
				hint = "the job waits for its services, never they for it"
			}
			d.report(e.at, e.path, ProblemUnknownService, "there is no service "+quote(e.to), hint)
			continue
		}
		next[e.from] = append(next[e.from], e)
	}
	// Depth first: an edge back into the way that led here closes a cycle.
	done := map[string]bool{}
	var way []string
	var visit func(name string)
	visit = func(name string) {
		way = append(way, name)
		for _, e := range next[name] {
			if from := slices.Index(way, e.to); from >= 0 {
				cycle := strings.Join(append(slices.Clone(way[from:]), e.to), " -> ")
				d.report(e.at, e.path, ProblemCycle, "the services wait for each other: "+cycle, "remove one dependency")
			} else if !done[e.to] {
				visit(e.to)
			}
		}
		way = way[:len(way)-1]
		done[name] = true
	}
	for _, name := range graph.names {
		if !done[name] {
			visit(name)
		}
	}
}
