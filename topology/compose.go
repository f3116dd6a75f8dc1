package topology

// Support says what becomes of a field of the Compose specification.
type Support string

// The ways to support a field.
const (
	// Supported means what Compose means, in a spec and in Compose files.
	Supported Support = "yes"
	// ByOwner is carried out where the machine's owner allows it, and fails the job elsewhere.
	ByOwner Support = "owner"
	// FileOnly is read in Compose files; in a spec something simpler does the same.
	FileOnly Support = "file"
	// NoEffect is passed over in Compose files, since a job has no use for it, and refused in a spec.
	NoEffect Support = "no effect"
	// Refused fails the job: leaving it out would change what runs.
	Refused Support = "no"
)

// ComposeField is a field of the Compose specification of June 2026.
type ComposeField struct {
	Name    string
	Support Support
	// Note says what is special about it, or what to do instead.
	Note string
}

const (
	hintNames     = "services reach each other by name on the job's network, so nothing needs publishing or linking"
	hintNetwork   = "a job has one private network, which all its services are on"
	hintPower     = "services run without extra rights on the machine"
	hintLimits    = "the limits are cpus, mem_limit and pids_limit"
	hintMetadata  = "containers carry the job's own labels only"
	hintLifetime  = "services live as long as the job and are never restarted"
	hintLog       = "output is kept in the job's log"
	hintInteract  = "nobody is at the terminal of a service"
	hintNone      = "leave it out"
	hintProvision = "name an image for everything that the job needs"
	hintEnv       = "write the variables under environment, or name the file in a Compose file of the source"
	hintOwner     = "only the machine's owner can allow it"
	hintHook      = "run it in a step of the job, or in the service's command"
)

// ComposeTop are the fields at the top of a Compose file.
func ComposeTop() []ComposeField {
	return []ComposeField{
		{"configs", Supported, "from a file of the source, from content, or from a variable of the job's env; copied into containers"},
		{"include", FileOnly, "write the services out: a spec is one document"},
		{"jobs", Refused, "a spec is one job: its fields stand at the top"},
		{"models", Refused, hintProvision},
		{"name", NoEffect, "every attempt's containers have names of their own"},
		{"networks", FileOnly, hintNetwork},
		{"secrets", Supported, "as configs; a secret of the spec is part of the job, and is no secret from those who may read the job"},
		{"services", Supported, ""},
		{"version", NoEffect, "leave it out: specs have no version field"},
		{"volumes", Supported, "empty at the attempt's start and removed at its end; drivers other than local, driver_opts and external are refused"},
	}
}

// ComposeService are the fields of a service.
func ComposeService() []ComposeField {
	return []ComposeField{
		{"annotations", NoEffect, hintMetadata},
		{"attach", NoEffect, hintLog},
		{"blkio_config", NoEffect, hintLimits},
		{"build", Supported, "by the machine's engine, with a context inside the source"},
		{"cap_add", ByOwner, hintOwner},
		{"cap_drop", Supported, ""},
		{"cgroup", ByOwner, "host only; private needs no leave"},
		{"cgroup_parent", Refused, hintPower},
		{"command", Supported, ""},
		{"configs", Supported, ""},
		{"container_name", FileOnly, "a service's key is its host name"},
		{"cpu_count", NoEffect, hintLimits},
		{"cpu_percent", NoEffect, hintLimits},
		{"cpu_period", NoEffect, hintLimits},
		{"cpu_quota", NoEffect, hintLimits},
		{"cpu_rt_period", NoEffect, hintLimits},
		{"cpu_rt_runtime", NoEffect, hintLimits},
		{"cpu_shares", NoEffect, hintLimits},
		{"cpus", Supported, ""},
		{"cpuset", NoEffect, hintLimits},
		{"credential_spec", Refused, hintPower},
		{"depends_on", Supported, ""},
		{"deploy", Supported, "replicas and resources; what is for clusters has no effect in Compose files"},
		{"develop", NoEffect, "a job watches no files"},
		{"device_cgroup_rules", Refused, hintPower},
		{"devices", ByOwner, hintOwner},
		{"dns", Refused, hintNetwork},
		{"dns_opt", Refused, hintNetwork},
		{"dns_search", Refused, hintNetwork},
		{"domainname", NoEffect, "a service's key is its host name"},
		{"entrypoint", Supported, ""},
		{"env_file", FileOnly, hintEnv},
		{"environment", Supported, ""},
		{"expose", NoEffect, hintNames},
		{"extends", FileOnly, "write the service out, or use an anchor and <<"},
		{"external_links", Refused, hintNames},
		{"extra_hosts", Supported, ""},
		{"gpus", ByOwner, hintOwner},
		{"group_add", Supported, ""},
		{"healthcheck", Supported, ""},
		{"hostname", Supported, ""},
		{"image", Supported, ""},
		{"init", Supported, ""},
		{"ipc", ByOwner, "host only; private, shareable and none need no leave, and that of another service is refused"},
		{"isolation", NoEffect, hintNone},
		{"label_file", NoEffect, hintMetadata},
		{"labels", NoEffect, hintMetadata},
		{"links", FileOnly, hintNames},
		{"logging", NoEffect, hintLog},
		{"mac_address", Refused, hintNetwork},
		{"mem_limit", Supported, "a limit on memory alone: there is no swap beyond it"},
		{"mem_reservation", NoEffect, hintLimits},
		{"mem_swappiness", NoEffect, hintLimits},
		{"memswap_limit", NoEffect, hintLimits},
		{"models", Refused, hintProvision},
		{"network_mode", ByOwner, "host only; none and bridge need no leave, and that of another service is refused"},
		{"networks", FileOnly, hintNetwork},
		{"oom_kill_disable", Refused, hintLimits},
		{"oom_score_adj", NoEffect, hintLimits},
		{"pid", ByOwner, "host only; that of another service is refused"},
		{"pids_limit", Supported, ""},
		{"platform", Supported, ""},
		{"ports", ByOwner, hintNames},
		{"post_start", Refused, hintHook},
		{"pre_start", Refused, hintHook},
		{"pre_stop", Refused, "run it in a step of the job with always: true"},
		{"privileged", ByOwner, hintOwner},
		{"profiles", FileOnly, "every service of the spec is started"},
		{"provider", Refused, hintProvision},
		{"pull_policy", Supported, "always, never, missing or build"},
		{"pull_refresh_after", NoEffect, "say pull_policy: always"},
		{"read_only", Supported, ""},
		{"restart", NoEffect, hintLifetime},
		{"runtime", Refused, hintPower},
		{"scale", Supported, ""},
		{"secrets", Supported, ""},
		{"security_opt", Supported, "no-new-privileges alone; what switches confinement off is refused"},
		{"shm_size", Supported, ""},
		{"stdin_open", Supported, ""},
		{"stop_grace_period", Supported, "services that set neither this nor stop_signal are killed when the job is over"},
		{"stop_signal", Supported, ""},
		{"storage_opt", NoEffect, hintLimits},
		{"sysctls", Supported, "those of the container's own namespaces"},
		{"tmpfs", Supported, ""},
		{"tty", NoEffect, hintInteract},
		{"ulimits", Supported, ""},
		{"umask", Refused, "set it in the service's command"},
		{"use_api_socket", Refused, hintPower},
		{"user", Supported, ""},
		{"userns_mode", ByOwner, hintOwner},
		{"uts", ByOwner, hintOwner},
		{"volumes", Supported, "volumes, and files and folders of the source as copies; paths of the machine only where its owner allows it"},
		{"volumes_from", Refused, "name a volume under volumes, and mount it in both services"},
		{"working_dir", Supported, ""},
	}
}

// ComposeBuild are the fields of a service's build.
func ComposeBuild() []ComposeField {
	return []ComposeField{
		{"additional_contexts", Refused, "copy from the one context"},
		{"args", Supported, ""},
		{"cache_from", NoEffect, "the engine's own cache is used"},
		{"cache_to", NoEffect, "the engine's own cache is used"},
		{"context", Supported, "a folder of the source; .dockerignore holds"},
		{"dockerfile", Supported, "inside the source"},
		{"dockerfile_inline", Supported, ""},
		{"entitlements", Refused, hintPower},
		{"extra_hosts", Supported, ""},
		{"isolation", NoEffect, hintNone},
		{"labels", NoEffect, hintMetadata},
		{"network", ByOwner, "host only; none and default need no leave"},
		{"no_cache", Supported, ""},
		{"no_cache_filter", NoEffect, "say no_cache: true"},
		{"platforms", Refused, "say platform in the service"},
		{"privileged", Refused, hintPower},
		{"provenance", NoEffect, hintNone},
		{"pull", Supported, ""},
		{"sbom", NoEffect, hintNone},
		{"secrets", Refused, "builds get no secrets: fetch what needs one in a step"},
		{"shm_size", Supported, "by the classic builder alone"},
		{"ssh", Refused, "builds get no keys of the machine's"},
		{"tags", NoEffect, "the image is removed with the attempt"},
		{"target", Supported, ""},
		{"ulimits", NoEffect, "services have ulimits, builds do not"},
	}
}

// ComposeDeploy are the fields of a service's deploy.
func ComposeDeploy() []ComposeField {
	const cluster = "it is for clusters"
	return []ComposeField{
		{"endpoint_mode", NoEffect, cluster},
		{"labels", NoEffect, hintMetadata},
		{"mode", NoEffect, cluster},
		{"placement", NoEffect, "say requires and labels at the top: they choose the machine"},
		{"replicas", Supported, "as scale"},
		{"resources", Supported, "limits of cpus, memory and pids; reservations only of GPUs"},
		{"restart_policy", NoEffect, hintLifetime},
		{"rollback_config", NoEffect, cluster},
		{"update_config", NoEffect, cluster},
	}
}

// hints are the answers to the fields of a table that a spec does not take.
func hints(table []ComposeField) map[string]string {
	refused := map[string]string{}
	for _, f := range table {
		if f.Support != Supported && f.Support != ByOwner {
			refused[f.Name] = f.Note
		}
	}
	return refused
}

// misplaced are the answers to the fields of a table at the top of
// a spec, where none of them belongs.
func misplaced(table []ComposeField, hint string) map[string]string {
	refused := map[string]string{}
	for _, f := range table {
		if refused[f.Name] = f.Note; f.Support == Supported || f.Support == ByOwner {
			refused[f.Name] = hint
		}
	}
	return refused
}

var serviceStrangers = strangers{
	refused: hints(ComposeService()),
	meant: map[string]string{
		"env":     `did you mean "environment"?`,
		"cmd":     `did you mean "command"?`,
		"args":    `did you mean "command"?`,
		"memory":  `did you mean "mem_limit"?`,
		"pids":    `did you mean "pids_limit"?`,
		"tmp":     `did you mean "tmpfs"?`,
		"health":  `did you mean "healthcheck"?`,
		"needs":   `did you mean "depends_on"?`,
		"workdir": `did you mean "working_dir"?`,
		"run":     `did you mean "command"?`,
		"steps":   "steps belong to the job; a service has a command",
	},
}
