package topology

import "slices"

// ulimitNames are Docker's names of what the kernel limits for each process. Sorted.
var ulimitNames = []string{
	"core", "cpu", "data", "fsize", "locks", "memlock", "msgqueue", "nice", "nofile", "nproc",
	"rss", "rtprio", "rttime", "sigpending", "stack",
}

// maxUlimit is the most that a ulimit can be set to: what JSON numbers hold exactly.
const maxUlimit = 1 << 53

// ulimits decodes Compose's form: a number for both limits, or a mapping of soft and hard.
func (d *decoder) ulimits(v value) map[string]Ulimit {
	all := map[string]Ulimit{}
	d.each(v, func(f value) {
		name := f.key.text
		if !slices.Contains(ulimitNames, name) {
			d.report(f.key, f.path, ProblemUnknownField, "unknown ulimit", didYouMean(name, ulimitNames))
			return
		}
		if !d.isNull(f) {
			all[name] = d.ulimit(f)
		}
	})
	if len(all) == 0 {
		return nil
	}
	return all
}

func (d *decoder) ulimit(v value) (u Ulimit) {
	if v.kind == scalarNode {
		u.Hard = d.integer(v, -1, maxUlimit)
		u.Soft = u.Hard
		return u
	}
	before := len(d.problems)
	got := d.object(v, fields{
		"soft": func(v value) { u.Soft = d.integer(v, -1, maxUlimit) },
		"hard": func(v value) { u.Hard = d.integer(v, -1, maxUlimit) },
	}, strangers{})
	if v.kind != mappingNode {
		return u
	}
	for _, name := range []string{"soft", "hard"} {
		if got.lacks(name) {
			d.report(v.key, join(v.path, name), ProblemMissing, "missing", "write one number for both, or soft and hard")
		}
	}
	if len(d.problems) == before && u.Hard >= 0 && (u.Soft < 0 || u.Soft > u.Hard) {
		d.report(v.key, v.path, ProblemConflict, "the soft limit is above the hard one", "")
	}
	return u
}
