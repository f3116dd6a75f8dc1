package compose

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/compose-spec/compose-go/v2/types"

	"github.com/runnerhub/runnerhub/topology"
)

// convert turns the model of Compose files into what a spec has: the active services,
// and the volumes, configs and secrets that they use.
func (p *project) convert(model object, active types.Services) (object, error) {
	all := child(model, "services")
	services := object{}
	for _, name := range slices.Sorted(maps.Keys(active)) {
		if s := child(all, name); s != nil && !absent(s) {
			services[name] = s
		}
	}
	if len(services) == 0 {
		return nil, errors.New("no service is active; do the profiles fit?")
	}
	aliases := map[string][]string{}
	for name := range services {
		if err := p.names(name, child(services, name), services, aliases); err != nil {
			return nil, err
		}
	}
	used := map[string]map[string]bool{"volumes": {}, "configs": {}, "secrets": {}}
	for _, name := range slices.Sorted(maps.Keys(services)) {
		s := child(services, name)
		if err := p.service(name, s, services); err != nil {
			return nil, fmt.Errorf("services.%s: %w", name, err)
		}
		if words := unique(aliases[name]); len(words) > 0 {
			s["aliases"] = words
		}
		for kind, names := range used {
			for _, item := range list(s[kind]) {
				if m, ok := item.(object); ok && (kind != "volumes" || m["type"] == "volume") {
					names[text(m["source"])] = true
				}
			}
		}
	}
	out := object{"services": services}
	for kind, names := range used {
		declared := object{}
		for name, d := range child(model, kind) {
			if names[name] {
				declared[name] = p.declaration(kind, d)
			}
		}
		if len(declared) > 0 {
			out[kind] = declared
		}
	}
	return out, nil
}

// absent says that a service has no containers.
func absent(s object) bool {
	return text(s["scale"]) == "0" || text(child(s, "deploy")["replicas"]) == "0"
}

// names collects further host names: of networks, links and containers.
func (p *project) names(name string, s, services object, aliases map[string][]string) error {
	if c := text(s["container_name"]); c != "" && c != name {
		aliases[name] = append(aliases[name], c)
	}
	for _, n := range child(s, "networks") {
		m, _ := n.(object)
		for _, field := range []string{"ipv4_address", "ipv6_address", "mac_address"} {
			if m[field] != nil {
				return fmt.Errorf("services.%s.networks: %s is not supported; services reach each other by name", name, field)
			}
		}
		for _, a := range list(m["aliases"]) {
			aliases[name] = append(aliases[name], text(a))
		}
	}
	for _, l := range list(s["links"]) {
		target, alias, ok := strings.Cut(text(l), ":")
		if ok && services[target] != nil && alias != target {
			aliases[target] = append(aliases[target], alias)
		}
	}
	return nil
}

// service turns one service into a spec's.
func (p *project) service(name string, s, services object) error {
	for _, f := range topology.ComposeService() {
		switch f.Support {
		case topology.NoEffect:
			p.drop(name, "", s, f.Name)
		case topology.FileOnly:
			if f.Name != "env_file" {
				delete(s, f.Name)
			}
		}
	}
	strip(s)
	for _, field := range []string{"command", "entrypoint"} {
		switch v := s[field].(type) {
		case nil:
			delete(s, field)
		case string:
			if strings.TrimSpace(v) == "" {
				return fmt.Errorf("an empty %s cannot take the image's away; write what is to run", field)
			}
		case []any:
			if len(v) == 0 {
				return fmt.Errorf("an empty %s cannot take the image's away; write what is to run", field)
			}
		}
	}
	if err := p.environment(s); err != nil {
		return err
	}
	dependencies(s, services)
	if h := child(s, "healthcheck"); h != nil {
		strip(h)
		if h["disable"] == true {
			s["healthcheck"] = object{"disable": true}
		}
	}
	for _, field := range []string{"pids_limit", "cpus", "mem_limit", "shm_size"} {
		if v := text(s[field]); v == "0" || v == "-1" {
			delete(s, field)
		}
	}
	if err := p.mounts(s); err != nil {
		return err
	}
	for _, kind := range []string{"configs", "secrets"} {
		for _, item := range list(s[kind]) {
			if m, ok := item.(object); ok {
				octal(m, "mode")
				strip(m)
			}
		}
	}
	p.deploy(name, s)
	if b := child(s, "build"); b != nil {
		if err := p.build(name, b); err != nil {
			return err
		}
	}
	for field, v := range s { // lists and mappings that merging has left empty
		if l, ok := v.([]any); ok && len(l) == 0 {
			delete(s, field)
		}
	}
	return nil
}

// dependencies keeps what is waited for of services that run.
func dependencies(s, services object) {
	on := child(s, "depends_on")
	for name, d := range on {
		if services[name] == nil { // optional, or of no containers: compose-go has seen to the rest
			delete(on, name)
			continue
		}
		if m, ok := d.(object); ok {
			delete(m, "restart")
			delete(m, "required")
			strip(m)
		}
	}
	if len(on) == 0 {
		delete(s, "depends_on")
	}
}

func (p *project) deploy(name string, s object) {
	d := child(s, "deploy")
	if d == nil {
		return
	}
	for _, f := range topology.ComposeDeploy() {
		if f.Support == topology.NoEffect {
			p.drop(name, "deploy.", d, f.Name)
		}
	}
	strip(d)
	resources := child(d, "resources")
	strip(resources)
	if r := child(resources, "reservations"); r != nil {
		for _, field := range []string{"cpus", "memory", "generic_resources"} {
			p.drop(name, "deploy.resources.reservations.", r, field)
		}
		strip(r)
		if len(r) == 0 {
			delete(resources, "reservations")
		}
	}
}

func (p *project) build(name string, b object) error {
	for _, f := range topology.ComposeBuild() {
		if f.Support == topology.NoEffect {
			p.drop(name, "build.", b, f.Name)
		}
	}
	strip(b)
	context, err := p.rel(text(b["context"]))
	if err != nil {
		return fmt.Errorf("build.context: %w", err)
	}
	b["context"] = context
	if b["dockerfile_inline"] != nil {
		delete(b, "dockerfile")
	}
	if args := pairs(b["args"]); len(args) > 0 {
		b["args"] = args
	} else {
		delete(b, "args")
	}
	return nil
}

// mounts makes paths of the source relative again.
func (p *project) mounts(s object) error {
	for _, item := range list(s["volumes"]) {
		m, ok := item.(object)
		if !ok {
			continue
		}
		strip(m)
		octal(child(m, "tmpfs"), "mode")
		if m["type"] != "bind" {
			continue
		}
		source := text(m["source"])
		rel, err := p.rel(source)
		switch {
		case err == nil:
			m["source"] = rel
		case within(filepath.Dir(p.dir), source): // beside the source: no author can have meant that
			return fmt.Errorf("volumes: %w", err)
		}
		delete(m, "bind")
	}
	return nil
}

// declaration is that of a volume, a config or a secret.
func (p *project) declaration(kind string, d any) any {
	m, _ := d.(object)
	if m == nil {
		return object{}
	}
	strip(m)
	for _, field := range []string{"name", "labels"} {
		delete(m, field)
	}
	if m["external"] == false {
		delete(m, "external")
	}
	if len(child(m, "driver_opts")) == 0 {
		delete(m, "driver_opts")
	}
	if kind == "volumes" {
		return m
	}
	if m["environment"] != nil {
		delete(m, "content")
	}
	if file := text(m["file"]); file != "" {
		if rel, err := p.rel(file); err == nil {
			m["file"] = rel
		} // the decoder refuses what is not relative
	}
	return m
}

// rel is a path relative to the source.
func (p *project) rel(abs string) (string, error) {
	if !filepath.IsAbs(abs) || !within(p.dir, abs) {
		return "", fmt.Errorf("%q is not inside the source", p.asWritten(abs))
	}
	rel, err := filepath.Rel(p.dir, abs)
	return filepath.ToSlash(rel), err
}

// asWritten is a path that leads out of the source: relative, where it was written so,
// since the place of the source is the machine's own.
func (p *project) asWritten(abs string) string {
	if within(abs, p.dir) || within(filepath.Dir(filepath.Dir(p.dir)), abs) {
		if rel, err := filepath.Rel(p.dir, abs); err == nil {
			return filepath.ToSlash(rel)
		}
	}
	return abs
}

func within(dir, p string) bool {
	return p == dir || strings.HasPrefix(filepath.Clean(p), strings.TrimSuffix(dir, string(filepath.Separator))+string(filepath.Separator))
}

// drop leaves out a field that has no effect, and notes that.
func (p *project) drop(service, prefix string, m object, field string) {
	if v, ok := m[field]; ok {
		delete(m, field)
		if v != nil {
			p.skip[prefix+field] = append(p.skip[prefix+field], service)
		}
	}
}

func (p *project) notes() []string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(p.unset)) {
		all = append(all, fmt.Sprintf("Compose: the variable %s is not in the job's env, and empty (%s)", name, strings.Join(p.unset[name], ", ")))
	}
	for _, field := range slices.Sorted(maps.Keys(p.skip)) {
		all = append(all, fmt.Sprintf("Compose: %s has no effect here (%s)", field, strings.Join(unique(p.skip[field]), ", ")))
	}
	return all
}

// strip removes extension fields.
func strip(m object) {
	for key := range m {
		if strings.HasPrefix(key, "x-") {
			delete(m, key)
		}
	}
}

// octal writes a mode that YAML has read as a number as text.
func octal(m object, field string) {
	if n, ok := m[field].(json.Number); ok {
		if i, err := n.Int64(); err == nil {
			m[field] = "0" + strconv.FormatInt(i, 8)
		}
	}
}

func child(m object, key string) object {
	c, _ := m[key].(object)
	return c
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

// text is a scalar as text, "" for everything else.
func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	case bool:
		return strconv.FormatBool(v)
	}
	return ""
}

// pairs reads a mapping, or a list of NAME=value; what has no value is left out.
func pairs(v any) map[string]string {
	out := map[string]string{}
	switch v := v.(type) {
	case object:
		for name, value := range v {
			if value != nil {
				out[name] = text(value)
			}
		}
	case []any:
		for _, item := range v {
			if name, value, ok := strings.Cut(text(item), "="); ok {
				out[name] = value
			}
		}
	}
	return out
}

func unique(words []string) []string {
	words = slices.Clone(words)
	slices.Sort(words)
	return slices.Compact(words)
}
