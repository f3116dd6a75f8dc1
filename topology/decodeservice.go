package topology

import (
	"cmp"
	"fmt"
)

// services decodes the containers beside the job and checks that each
// dependency exists and that none waits for itself.
func (d *decoder) services(v value) map[string]Service {
	all := map[string]Service{}
	var graph dependencies
	d.each(v, func(f value) {
		if len(graph.names) == MaxServices {
			d.report(f.key, v.path, ProblemTooLarge, fmt.Sprintf("more than %d services", MaxServices), "")
		}
		name := f.key.text
		graph.names = append(graph.names, name)
		if len(graph.names) > MaxServices || !d.serviceName(f) || d.isNull(f) {
			return
		}
		all[name] = d.service(f, &graph)
	})
	d.checkDependencies(graph)
	d.checkScale(v, all)
	if len(all) == 0 {
		return nil
	}
	return all
}

// service decodes one service, in Compose's words.
func (d *decoder) service(v value, graph *dependencies) (s Service) {
	var flat, deployed Resources // Compose's spellings of resources
	var deploy deployment
	known := fields{
		"image":             func(v value) { s.Image = d.image(v) },
		"build":             func(v value) { s.Build = d.build(v) },
		"platform":          func(v value) { s.Platform = d.platform(v) },
		"pull_policy":       func(v value) { s.Pull = d.pullPolicy(v) },
		"command":           func(v value) { s.Command = d.argv(v) },
		"entrypoint":        func(v value) { s.Entrypoint = d.argv(v) },
		"environment":       func(v value) { s.Environment = d.environment(v) },
		"healthcheck":       func(v value) { s.Healthcheck = d.healthcheck(v) },
		"depends_on":        func(f value) { s.DependsOn = d.dependsOn(f, v.key.text, graph) },
		"scale":             func(v value) { s.Scale = d.scale(v) },
		"reuse":             func(v value) { s.Reuse = d.boolean(v) },
		"working_dir":       func(v value) { s.WorkingDir = d.directory(v) },
		"user":              func(v value) { s.User = d.user(v) },
		"group_add":         func(v value) { s.GroupAdd = d.texts(v) },
		"hostname":          func(v value) { s.Hostname = d.hostname(v) },
		"aliases":           func(v value) { s.Aliases = d.words(v, d.alias) },
		"extra_hosts":       func(v value) { s.ExtraHosts = d.extraHosts(v) },
		"tmpfs":             func(v value) { s.Tmpfs = append(d.tmpfs(v), s.Tmpfs...) },
		"volumes":           func(v value) { d.mounts(v, &s) },
		"configs":           func(v value) { s.Configs = d.fileMounts(v, "configs") },
		"secrets":           func(v value) { s.Secrets = d.fileMounts(v, "secrets") },
		"resources":         func(v value) { s.Resources = d.resources(v) },
		"cpus":              func(v value) { flat.CPUs = d.cpus(v) },
		"mem_limit":         func(v value) { flat.Memory = d.size(v, MinMemory, MaxMemory) },
		"pids_limit":        func(v value) { flat.Pids = d.pids(v) },
		"deploy":            func(v value) { deploy = d.deploy(v); deployed = deploy.limits },
		"ulimits":           func(v value) { s.Ulimits = d.ulimits(v) },
		"shm_size":          func(v value) { s.ShmSize = d.size(v, 1, MaxMemory) },
		"sysctls":           func(v value) { s.Sysctls = d.environment(v) },
		"init":              func(v value) { s.Init = d.boolean(v) },
		"read_only":         func(v value) { s.ReadOnly = d.boolean(v) },
		"security_opt":      func(v value) { s.SecurityOpt = d.securityOpt(v) },
		"stdin_open":        func(v value) { s.StdinOpen = d.boolean(v) },
		"cap_drop":          func(v value) { s.CapDrop = d.words(v, d.capabilityOfLinux) },
		"stop_signal":       func(v value) { s.StopSignal = d.signal(v) },
		"stop_grace_period": func(v value) { s.StopGrace = d.duration(v, 0, MaxGrace) },
	}
	d.powers(known, &s.Powers)
	got := d.object(v, known, serviceStrangers)
	if v.kind != mappingNode {
		return s
	}
	if got.lacks("image") && got.lacks("build") {
		d.report(v.key, join(v.path, "image"), ProblemMissing, "missing", "name the image that the service runs")
	}
	d.limits(&s, got, flat, deployed)
	d.checkReuse(v, s)
	if deploy.gpus != nil {
		s.GPUs = deploy.gpus
	}
	if both, ok := got.values["scale"]; ok && deploy.replicas > 0 && deploy.replicas != max(s.Scale, 1) {
		d.report(both.key, both.path, ProblemConflict, "scale and deploy.replicas differ", "keep one of them")
	}
	if deploy.replicas > 1 {
		s.Scale = deploy.replicas
	}
	return s
}

// limits settles which spelling of the limits holds.
func (d *decoder) limits(s *Service, got found, flat, deployed Resources) {
	spellings := 0
	for _, r := range []Resources{s.Resources, flat, deployed} {
		if r != (Resources{}) {
			spellings++
		}
	}
	if spellings > 1 && !d.lenient {
		at, ok := got.values["resources"]
		if !ok {
			at = got.values["deploy"]
		}
		d.report(at.key, at.path, ProblemConflict, at.key.text+" excludes "+limitWords(at.key.text), "they are spellings of the same limits")
	}
	for _, r := range []Resources{flat, deployed} {
		s.Resources.CPUs = cmp.Or(s.Resources.CPUs, r.CPUs)
		s.Resources.Memory = cmp.Or(s.Resources.Memory, r.Memory)
		s.Resources.Pids = cmp.Or(s.Resources.Pids, r.Pids)
	}
}

func limitWords(but string) string {
	if but == "deploy" {
		return "cpus, mem_limit and pids_limit"
	}
	return "cpus, mem_limit, pids_limit and deploy"
}

// scale is how many containers a service has; one is the default and is not kept.
func (d *decoder) scale(v value) int {
	if n := int(d.integer(v, 1, MaxServices)); n > 1 {
		return n
	}
	return 0
}

// checkScale bounds the containers of all services together, and keeps the names of
// those of one service free.
func (d *decoder) checkScale(v value, all map[string]Service) {
	containers := 0
	for _, s := range all {
		containers += max(s.Scale, 1)
	}
	if containers > MaxServices && len(all) <= MaxServices {
		d.report(v.key, v.path, ProblemTooLarge, fmt.Sprintf("more than %d containers of services", MaxServices), "")
	}
	for name, s := range all {
		for n := 1; n <= s.Scale; n++ {
			instance := instanceName(name, n)
			_, taken := all[instance]
			if taken || !d.lenient && !dnsLabel.MatchString(instance) {
				d.report(v.key, join(v.path, name), ProblemConflict, "the name of its container "+quote(instance)+" is taken or too long", "name the service differently")
				return
			}
		}
	}
}
