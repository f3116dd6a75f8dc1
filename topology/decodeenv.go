package topology

import "strings"

// env decodes a mapping of environment variables. Values are text as written:
// 1.10 stays "1.10", and yes stays "yes".
func (d *decoder) env(v value) map[string]string {
	vars := map[string]string{}
	if v.kind == listNode {
		d.report(v.node, v.path, ProblemType, "must be a mapping, not a list", `write "NAME: value"`)
		return nil
	}
	d.each(v, func(f value) {
		if f.kind == scalarNode && f.class == nullClass {
			d.report(f.key, f.path, ProblemNull, "has no value", `write "" for an empty one; nothing is taken from the machine's environment`)
			return
		}
		text, ok := d.text(f)
		if ok && d.envName(f.key, f.path, f.key.text) {
			vars[f.key.text] = text
		}
	})
	return orNil(vars)
}

// environment decodes Compose's two forms: a mapping, or a list of NAME=value.
func (d *decoder) environment(v value) map[string]string {
	if v.kind != listNode {
		return d.env(v)
	}
	vars := map[string]string{}
	first := map[string]*node{}
	d.list(v, func(item value) {
		text, ok := d.text(item)
		if !ok {
			return
		}
		name, val, assigned := strings.Cut(text, "=")
		switch before := first[name]; {
		case !d.envName(item.node, item.path, name):
		case !assigned:
			d.report(item.node, item.path, ProblemNull, quote(name)+" has no value",
				`write "NAME=value"; nothing is taken from the machine's environment`)
		case before != nil:
			d.report(item.node, item.path, ProblemDuplicate, quote(name)+" is set twice, first on "+before.String(), "keep one of them")
		default:
			first[name], vars[name] = item.node, val
		}
	})
	return orNil(vars)
}

func (d *decoder) envName(at *node, path, name string) bool {
	if len(name) <= maxEnvName && envName.MatchString(name) {
		return true
	}
	d.report(at, path, ProblemInvalid, "not the name of an environment variable: "+quote(name),
		"letters, digits, underscores, dots and hyphens, beginning with a letter or an underscore")
	return false
}

func orNil(m map[string]string) map[string]string {
	if len(m) == 0 {
		return nil
	}
	return m
}
