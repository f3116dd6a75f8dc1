package topology

import (
	"errors"

	"github.com/runnerhub/runnerhub/topology/gitpatch"
)

// patch decodes a unified diff. Whether it fits the source is seen where that is.
func (d *decoder) patch(v value) string {
	s, ok := d.text(v)
	if !ok {
		return ""
	}
	_, err := gitpatch.Parse(s)
	if bad, ok := errors.AsType[*gitpatch.ParseError](err); ok {
		d.report(v.node, v.path, ProblemInvalid, bad.Error(), bad.Hint)
	}
	return s
}

// base decodes what a patch goes on, in the words of a source: a mapping, or the digest
// of an archive alone.
func (d *decoder) base(v value, s *Source) {
	if v.kind == scalarNode && fullCommit.MatchString(v.text) {
		d.report(v.node, v.path, ProblemInvalid, "a commit needs its repository", `write "base: {repository: …, commit: …}"`)
		return
	}
	if v.kind == scalarNode {
		s.Archive = d.archive(v)
		return
	}
	got := d.object(v, d.treeFields(s), sourceStrangers)
	if v.kind == mappingNode {
		d.checkTree(v, got)
	}
}
