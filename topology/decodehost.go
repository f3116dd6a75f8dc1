package topology

// containerFields are those that mean something to a container alone, and what a job
// without one does instead.
var containerFields = map[string]string{
	"services":    "",
	"compose":     "",
	"volumes":     "",
	"configs":     "",
	"secrets":     "",
	"working_dir": "such a job starts in a folder of its own; begin a script with cd",
	"user":        "such a job runs as the user that the machine's owner has chosen",
	"platform":    `say which machine under "requires", for example [linux, arm64]`,
	"cache":       "keep such things in a folder of the machine that is the owner's to give",
	"pull":        "there is nothing to pull",
}

// onHost checks a job that names no image. It runs on the machine itself, where that
// machine's owner allows it, and can have nothing that only containers have.
func (d *decoder) onHost(s *Spec, root value, got found) {
	if s.Session() {
		d.report(root.key, "image", ProblemMissing, "missing", "name the image that the session stays in: it needs a container")
		return
	}
	if len(got.values) == 0 || got.lacks("command") && got.lacks("steps") {
		d.report(root.key, "image", ProblemMissing, "missing",
			"name the image that the job runs in; without one steps or a command run on the machine itself, where its owner allows that")
		return
	}
	for field, instead := range containerFields {
		v, ok := got.values[field]
		if !ok {
			continue
		}
		if instead == "" {
			instead = "name the image that the job runs in"
		}
		d.report(v.key, v.path, ProblemConflict, "needs a container, and a job without an image has none", instead)
	}
	if v, ok := got.values["network"]; ok && s.Network != NetworkOpen {
		d.report(v.node, v.path, ProblemConflict, "a job without an image reaches what its machine reaches",
			`name an image, or leave "network" out`)
	}
	s.Pull = ""
}
