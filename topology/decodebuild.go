package topology

import "path"

// build decodes how an image is made: a folder of the source, or a mapping.
func (d *decoder) build(v value) *Build {
	b := &Build{}
	if v.kind == scalarNode {
		b.Context = d.partOfSource(v)
		return b
	}
	got := d.object(v, fields{
		"context":           func(v value) { b.Context = d.partOfSource(v) },
		"dockerfile":        func(v value) { b.Dockerfile = d.required(v) },
		"dockerfile_inline": func(v value) { b.Inline = d.required(v) },
		"args":              func(v value) { b.Args = d.environment(v) },
		"target":            func(v value) { b.Target = d.required(v) },
		"network":           func(v value) { b.Network = d.namespace(v, modeNone) },
		"no_cache":          func(v value) { b.NoCache = d.boolean(v) },
		"pull":              func(v value) { b.Pull = d.boolean(v) },
		"shm_size":          func(v value) { b.ShmSize = d.size(v, 1, MaxMemory) },
		"extra_hosts":       func(v value) { b.ExtraHosts = d.extraHosts(v) },
	}, strangers{refused: hints(ComposeBuild()), meant: map[string]string{"file": `did you mean "dockerfile"?`, "path": `did you mean "context"?`}})
	if v.kind != mappingNode {
		return nil
	}
	if got.lacks("context") {
		b.Context = "."
	}
	file, named := got.values["dockerfile"]
	switch _, inline := got.values["dockerfile_inline"]; {
	case named && inline:
		d.report(file.key, file.path, ProblemConflict, "dockerfile and dockerfile_inline exclude each other", "")
	case named && b.Dockerfile != "":
		// Relative to the context, and inside the source all the same.
		if _, ok := d.inSource(file, path.Join(b.Context, b.Dockerfile)); ok {
			if b.Dockerfile = path.Clean(b.Dockerfile); b.Dockerfile == defaultDockerfile {
				b.Dockerfile = ""
			}
		}
	}
	return b
}

const defaultDockerfile = "Dockerfile"
