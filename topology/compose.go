package topology

// The Compose specification's fields that a spec does not have, as of 2026-06:
// each is refused by name with what to do instead, so that a service pasted
// from a Compose file never loses a line in silence.

const (
	hintNames     = "services reach each other by name on the job's network, so nothing needs publishing or linking"
	hintNetwork   = "a job has one private network, which all its services are on"
	hintVolume    = "files live in the image or are made by a command; use tmpfs for scratch space"
	hintPower     = "services run without extra rights on the machine"
	hintOneImage  = "build and push the image first, then name it under image"
	hintEnv       = "write the variables under environment"
	hintLimits    = "the limits are cpus, mem_limit and pids_limit"
	hintMetadata  = "containers carry the job's own labels only"
	hintLifetime  = "services live as long as the job and are never restarted"
	hintLog       = "output is kept in the job's log"
	hintInteract  = "nobody is at the terminal of a service"
	hintNone      = "leave it out"
	hintProvision = "name an image for everything that the job needs"
)

var composeTop = map[string]string{
	"version":  "leave it out: specs have no version field",
	"include":  "write the services out: a spec is one document",
	"models":   hintProvision,
	"networks": hintNetwork,
	"volumes":  hintVolume,
	"configs":  hintVolume,
}

var composeService = map[string]string{
	"annotations":         hintMetadata,
	"attach":              hintLog,
	"blkio_config":        hintLimits,
	"build":               hintOneImage,
	"cap_add":             hintPower,
	"cap_drop":            hintNone,
	"cgroup":              hintPower,
	"cgroup_parent":       hintPower,
	"configs":             hintVolume,
	"container_name":      "a service's key is its host name",
	"cpu_count":           hintLimits,
	"cpu_percent":         hintLimits,
	"cpu_period":          hintLimits,
	"cpu_quota":           hintLimits,
	"cpu_rt_period":       hintLimits,
	"cpu_rt_runtime":      hintLimits,
	"cpu_shares":          hintLimits,
	"cpuset":              hintLimits,
	"credential_spec":     hintPower,
	"deploy":              "one container runs for each service; " + hintLimits,
	"develop":             hintOneImage,
	"device_cgroup_rules": hintPower,
	"devices":             hintPower,
	"dns":                 hintNetwork,
	"dns_opt":             hintNetwork,
	"dns_search":          hintNetwork,
	"domainname":          "a service's key is its host name",
	"driver_opts":         hintNone,
	"env_file":            hintEnv,
	"expose":              hintNames,
	"extends":             "write the service out, or use an anchor and <<",
	"external_links":      hintNames,
	"extra_hosts":         hintNetwork,
	"gpus":                `ask for a machine with "requires: [gpu]"`,
	"group_add":           hintPower,
	"hostname":            "a service's key is its host name",
	"init":                hintNone,
	"ipc":                 hintPower,
	"isolation":           hintNone,
	"label_file":          hintMetadata,
	"labels":              hintMetadata,
	"links":               hintNames,
	"logging":             hintLog,
	"mac_address":         hintNetwork,
	"mem_reservation":     hintLimits,
	"mem_swappiness":      hintLimits,
	"memswap_limit":       hintLimits,
	"models":              hintProvision,
	"network_mode":        hintNetwork,
	"networks":            hintNetwork,
	"oom_kill_disable":    hintLimits,
	"oom_score_adj":       hintLimits,
	"pid":                 hintPower,
	"platform":            "set platform at the top: it holds for every image of the job",
	"ports":               hintNames,
	"post_start":          "run it in a step of the job, or in the service's command",
	"pre_stop":            "run it in a step of the job with always: true",
	"privileged":          hintPower,
	"profiles":            "every service of the spec is started",
	"provider":            hintProvision,
	"pull_policy":         "set pull at the top: it holds for every image of the job",
	"pull_refresh_after":  "set pull at the top: it holds for every image of the job",
	"read_only":           hintNone,
	"restart":             hintLifetime,
	"runtime":             hintPower,
	"scale":               "one container runs for each service; give each its own name",
	"secrets":             "let the service fetch them; environment is stored as plain text",
	"security_opt":        hintPower,
	"shm_size":            "mount one: tmpfs: /dev/shm:size=256m",
	"stdin_open":          hintInteract,
	"stop_grace_period":   hintLifetime,
	"stop_signal":         hintLifetime,
	"storage_opt":         hintLimits,
	"sysctls":             hintPower,
	"tty":                 hintInteract,
	"use_api_socket":      hintPower,
	"userns_mode":         hintPower,
	"uts":                 hintPower,
	"volumes":             hintVolume,
	"volumes_from":        hintVolume,
}

var serviceStrangers = strangers{
	refused: composeService,
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
