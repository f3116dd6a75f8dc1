package topology

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

var numericID = regexp.MustCompile(`^[0-9]{1,10}$`)

// compose decodes which Compose files say what the services are: a path, a list of
// paths, or a mapping.
func (d *decoder) compose(v value) (c Compose) {
	files := func(v value) []string {
		if v.kind == scalarNode {
			return []string{d.partOfSource(v)}
		}
		var all []string
		d.list(v, func(item value) { all = append(all, d.partOfSource(item)) })
		return all
	}
	if v.kind != mappingNode {
		c.Files = files(v)
		return c
	}
	got := d.object(v, fields{
		"files":    func(v value) { c.Files = files(v) },
		"profiles": func(v value) { c.Profiles = d.words(v, d.profile) },
	}, strangers{meant: map[string]string{"file": `did you mean "files"?`, "path": `did you mean "files"?`}})
	if got.lacks("files") {
		d.report(v.key, join(v.path, "files"), ProblemMissing, "missing", `name the Compose files, for example "compose.yaml"`)
	}
	return c
}

func (d *decoder) profile(v value) (string, bool) {
	s, ok := d.text(v)
	if ok && !composeName.MatchString(s) {
		d.report(v.node, v.path, ProblemInvalid, "not the name of a profile: "+quote(s), "")
		return "", false
	}
	return s, ok
}

// volumes decodes the declarations of volumes. None has a setting that matters here.
func (d *decoder) volumes(v value) map[string]Volume {
	all := map[string]Volume{}
	d.each(v, func(f value) {
		if !volumeName.MatchString(f.key.text) {
			d.report(f.key, f.path, ProblemInvalid, "not the name of a volume: "+quote(f.key.text), "")
			return
		}
		all[f.key.text] = Volume{}
		if f.kind == scalarNode && f.class == nullClass { // "data:" is how volumes are declared
			return
		}
		d.object(f, fields{
			"driver": func(v value) {
				if s, ok := d.text(v); ok && s != "local" {
					d.report(v.node, v.path, ProblemUnsupported, "the driver "+quote(s)+" is not supported", "volumes are local ones of the attempt's own")
				}
			},
		}, strangers{refused: map[string]string{
			"driver_opts": "volumes are empty folders of the attempt's own",
			"external":    "volumes are the attempt's own: fill one by a service that runs to its end",
			"labels":      hintMetadata,
			"name":        "every attempt's volumes have names of their own",
		}})
	})
	if len(all) == 0 {
		return nil
	}
	return all
}

// fileSources decodes the declarations of configs or secrets.
func (d *decoder) fileSources(v value) map[string]FileSource {
	all := map[string]FileSource{}
	d.each(v, func(f value) {
		if !volumeName.MatchString(f.key.text) {
			d.report(f.key, f.path, ProblemInvalid, "not a name: "+quote(f.key.text), "letters, digits, dots, hyphens and underscores")
			return
		}
		if d.isNull(f) {
			return
		}
		var src FileSource
		got := d.object(f, fields{
			"file":        func(v value) { src.File = d.partOfSource(v) },
			"content":     func(v value) { src.Content, _ = d.text(v) },
			"environment": func(v value) { src.Environment = d.variable(v) },
		}, strangers{refused: map[string]string{
			"driver": "name a file of the source", "template_driver": "name a file of the source",
			"external": "name a file of the source, or a variable of the job's env",
			"labels":   hintMetadata, "name": "the key is its name",
		}})
		if f.kind == mappingNode && len(got.values) != 1 && len(got.other) == 0 {
			d.report(f.key, f.path, ProblemConflict, "one of file, content and environment says what is in it", "")
		}
		all[f.key.text] = src
	})
	if len(all) == 0 {
		return nil
	}
	return all
}

func (d *decoder) variable(v value) string {
	s, ok := d.text(v)
	if !ok || !d.envName(v.node, v.path, s) {
		return ""
	}
	return s
}

// fileMounts decodes which configs or secrets a service has, and where.
func (d *decoder) fileMounts(v value, of string) []FileMount {
	var all []FileMount
	first := map[string]*node{}
	d.list(v, func(item value) {
		var m FileMount
		if item.kind == scalarNode {
			m.Source, _ = d.text(item)
		} else {
			d.object(item, fields{
				"source": func(v value) { m.Source = d.required(v) },
				"target": func(v value) { m.Target = d.required(v) },
				"uid":    func(v value) { m.UID = d.numericID(v) },
				"gid":    func(v value) { m.GID = d.numericID(v) },
				"mode":   func(v value) { m.Mode = d.mode(v) },
			}, strangers{})
		}
		if m.Source == "" {
			if item.kind == mappingNode {
				d.report(item.key, join(item.path, "source"), ProblemMissing, "missing", "it is one of "+of+" at the top")
			}
			return
		}
		d.mentions = append(d.mentions, mention{of, m.Source, item.node, item.path})
		m.Target = fileTarget(of, m)
		if len(m.Target) > maxPath || m.Target == "/" {
			d.report(item.node, item.path, ProblemInvalid, "not a file: "+quote(m.Target), "")
		}
		if before := first[m.Target]; before != nil {
			d.report(item.node, item.path, ProblemDuplicate, quote(m.Target)+" is there twice, first on "+before.String(), "keep one of them")
		}
		first[m.Target] = item.node
		all = append(all, m)
	})
	return all
}

// fileTarget is where Compose puts a config or a secret.
func fileTarget(of string, m FileMount) string {
	target := m.Target
	if target == "" {
		target = m.Source
	}
	if path.IsAbs(target) {
		return path.Clean(target)
	}
	if of == "secrets" {
		return path.Join("/run/secrets", target)
	}
	return path.Join("/", target)
}

func (d *decoder) numericID(v value) string {
	s, ok := d.text(v)
	if ok && !numericID.MatchString(s) {
		d.report(v.node, v.path, ProblemInvalid, "not a number: "+quote(s), "owners of files are written as numbers")
		return ""
	}
	return s
}

// checkMentions reports volumes, configs and secrets that no field at the top declares.
func (d *decoder) checkMentions(s *Spec) {
	declared := map[string][]string{}
	for name := range s.Volumes {
		declared["volumes"] = append(declared["volumes"], name)
	}
	for name := range s.Configs {
		declared["configs"] = append(declared["configs"], name)
	}
	for name := range s.Secrets {
		declared["secrets"] = append(declared["secrets"], name)
	}
	for _, m := range d.mentions {
		if slices.Contains(declared[m.of], m.name) {
			continue
		}
		slices.Sort(declared[m.of])
		hint := didYouMean(m.name, declared[m.of])
		if hint == "" {
			hint = fmt.Sprintf(`declare it at the top: "%s: {%s: {}}"`, m.of, clip(m.name))
			if m.of != "volumes" {
				hint = strings.Replace(hint, "{}", "{file: …}", 1)
			}
		}
		d.report(m.at, m.path, ProblemInvalid, quote(m.name)+" is not among the "+m.of+" of the spec", hint)
	}
}
