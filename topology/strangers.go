package topology

// What authors write out of habit and what we answer. Fields of a Compose
// service have a table of their own in compose.go.

var jobStrangers = strangers{
	refused: merged(hints(ComposeTop()), misplaced(ComposeService(), "it belongs in a service"), map[string]string{
		"matrix":   "submit one job for each combination",
		"on":       "a job starts when it is submitted: have what learns of the event call `runnerctl submit`",
		"schedule": "a job starts when it is submitted: have cron or a systemd timer call `runnerctl submit`",
		"cron":     "a job starts when it is submitted: have cron or a systemd timer call `runnerctl submit`",
		"needs":    "jobs do not wait for each other: write the parts as steps of one job, or submit the next one when the first has ended",
	}),
	meant: map[string]string{
		"type":              `did you mean "kind"?`,
		"session":           `write "kind: session"`,
		"interactive":       `did you mean "kind: session"?`,
		"files":             `it belongs under "source"`,
		"repository":        `it belongs under "source"`,
		"repo":              `did you mean "source.repository"?`,
		"commit":            `it belongs under "source"`,
		"checkout":          `did you mean "source"? It takes a repository and a commit`,
		"environment":       `did you mean "env"?`,
		"artifact":          `did you mean "artifacts"?`,
		"patch":             `a patch of the source belongs under "source"; "collect: patch" returns what the job changes`,
		"caches":            `did you mean "cache"?`,
		"outputs":           "a job writes its outputs as NAME=value lines to the file that $RUNNERHUB_OUTPUT names",
		"junit":             `write it as "reports: {junit: …}"`,
		"envs":              `did you mean "env"?`,
		"vars":              `did you mean "env"?`,
		"variables":         `did you mean "env"?`,
		"script":            `write it as a step: "steps: [{run: …}]"`,
		"run":               `write it as a step: "steps: [{run: …}]"`,
		"cmd":               `did you mean "command"?`,
		"args":              `did you mean "command"?`,
		"container":         `did you mean "image"?`,
		"workdir":           `did you mean "working_dir"?`,
		"cwd":               `did you mean "working_dir"?`,
		"working-directory": `did you mean "working_dir"?`,
		"runs-on":           `did you mean "requires" (what a machine can do) or "labels" (what its owner calls it)?`,
		"tags":              `did you mean "labels"?`,
		"timeout-minutes":   `did you mean "timeout"? It takes a unit: "30m"`,
		"idle":              `did you mean "idle_timeout"?`,
		"no_output_timeout": `did you mean "idle_timeout"? It takes a unit: "10m"`,
		"timeout_ms":        `did you mean "timeout"? It takes a unit: "30m"`,
		"max_attempts":      `it belongs under "retry"`,
		"retries":           `did you mean "retry.max_attempts"?`,
		"memory":            `it belongs under "resources"`,
		"pids":              `it belongs under "resources"`,
		"disk":              `it belongs under "resources"`,
		"cpus":              `it belongs under "resources"`,
		"mem_limit":         `did you mean "resources.memory"?`,
		"pids_limit":        `did you mean "resources.pids"?`,
		"pull_policy":       `did you mean "pull"?`,
		"network_mode":      `did you mean "network"?`,
		"stop_grace_period": `did you mean "grace"?`,
		"depends_on":        "a job waits for all of its services; depends_on belongs in a service",
		"healthcheck":       "it belongs in a service",
	},
}

var sourceStrangers = strangers{
	refused: map[string]string{
		"ref":    `write "commit": a branch or tag can move between submit and run`,
		"branch": `write "commit": a branch can move between submit and run`,
		"tag":    `write "commit": a tag can move between submit and run`,
		"depth":  "leave it out: the commit is fetched without its history",
		"token":  "leave it out: the runner's own git credentials are used",
	},
	meant: map[string]string{
		"url":       `did you mean "repository"?`,
		"repo":      `did you mean "repository"?`,
		"git":       `did you mean "repository"?`,
		"sha":       `did you mean "commit"?`,
		"revision":  `did you mean "commit"?`,
		"file":      `did you mean "files"?`,
		"inline":    `did you mean "files"?`,
		"diff":      `did you mean "patch"?`,
		"patches":   `did you mean "patch"? One text may change any number of files`,
		"dir":       `did you mean "path"?`,
		"directory": `did you mean "path"?`,
		"subdir":    `did you mean "path"?`,
		"digest":    `did you mean "archive"?`,
		"sha256":    `did you mean "archive"?`,
	},
}

var fileStrangers = strangers{
	meant: map[string]string{
		"text":        `did you mean "content"?`,
		"data":        `did you mean "content"?`,
		"permissions": `did you mean "mode"?`,
		"executable":  `did you mean "mode"? A program has "0755"`,
	},
}

var stepStrangers = strangers{
	meant: map[string]string{
		"script":            `did you mean "run"?`,
		"command":           `did you mean "run"?`,
		"cmd":               `did you mean "run"?`,
		"environment":       `did you mean "env"?`,
		"uses":              `a step runs a shell script: write it under "run"`,
		"with":              `a step runs a shell script: write it under "run"`,
		"if":                `a step runs when those before it succeeded, or always with "always: true"`,
		"when":              `a step runs when those before it succeeded, or always with "always: true"`,
		"continue-on-error": `end the script with "|| true"`,
		"id":                `did you mean "name"?`,
		"image":             "all steps run in the job's image",
		"shell":             "one shell runs all steps: set it at the top",
		"working_dir":       "set it at the top, or begin the script with cd",
		"working-directory": "set working_dir at the top, or begin the script with cd",
		"timeout":           "it holds for the whole job: set it at the top",
	},
}

var dependencyStrangers = strangers{
	refused: map[string]string{
		"restart":  "services are never restarted",
		"required": "every dependency is required",
	},
}

var resourceStrangers = strangers{
	meant: map[string]string{
		"cpu":        `did you mean "cpus"?`,
		"mem":        `did you mean "memory"?`,
		"mem_limit":  `did you mean "memory"?`,
		"ram":        `did you mean "memory"?`,
		"pids_limit": `did you mean "pids"?`,
		"storage":    `did you mean "disk"?`,
		"ulimits":    "it stands beside resources",
	},
}

var concurrencyStrangers = strangers{
	meant: map[string]string{
		"name":               `did you mean "group"?`,
		"key":                `did you mean "group"?`,
		"cancel":             `did you mean "cancel_running"?`,
		"cancel-in-progress": `did you mean "cancel_running"?`,
		"cancel_in_progress": `did you mean "cancel_running"?`,
	},
}

var retryStrangers = strangers{
	meant: map[string]string{
		"max":      `did you mean "max_attempts"?`,
		"attempts": `did you mean "max_attempts"?`,
		"count":    `did you mean "max_attempts"?`,
		"limit":    `did you mean "max_attempts"?`,
		"when":     `did you mean "on"?`,
	},
}

// merged joins tables; a later one wins.
func merged(tables ...map[string]string) map[string]string {
	all := map[string]string{}
	for _, t := range tables {
		for k, v := range t {
			all[k] = v
		}
	}
	return all
}
