package attempt

import (
	"archive/tar"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/runnerhub/runnerhub/topology"
)

// Limits on the patch that a job returns.
const (
	maxPatch   = 8 << 20 // bytes of it
	maxPatched = 4 << 20 // bytes of a file in it, before and after
	maxLeftOut = 20      // names that are told of files that are not in it
)

// patch keeps what the job has changed of its source as one unified diff. A file that
// cannot be in it is left out whole and named: what is in the patch applies.
func (c *collector) patch(ctx context.Context) error {
	before, err := readTree(ctx, c.x.work.Source)
	if err != nil {
		return err
	}
	defer before.close()
	p := &comparison{before: before, seen: map[string]bool{}, deleted: map[string]string{}, written: map[string]string{}}
	if err := c.read(ctx, ".", p.entry); err != nil {
		return err
	}
	for _, name := range p.links { // asked for alone, each of them is a file
		if err := c.read(ctx, name, func(h *tar.Header, content io.Reader) error {
			if h.Typeflag != tar.TypeReg {
				return nil // not one any more
			}
			return p.file(h, content)
		}); err != nil {
			return err
		}
	}
	if err := p.deletions(); err != nil {
		return err
	}
	c.result.Changes = &p.changes
	c.tellPatch(p)
	text := p.text()
	if text == "" {
		return nil
	}
	f, err := c.keep(&tar.Header{Typeflag: tar.TypeReg, Size: int64(len(text))}, topology.PatchFile, strings.NewReader(text))
	if err != nil {
		return err
	}
	f.Name = topology.PatchName
	c.result.Artifacts = append(c.result.Artifacts, f)
	slices.SortFunc(c.result.Artifacts, func(a, b topology.CollectedFile) int { return strings.Compare(a.Path, b.Path) })
	return nil
}

// tellPatch says in the log what the patch has, and what it has not.
func (c *collector) tellPatch(p *comparison) {
	n := p.changes
	if n.Added+n.Modified+n.Deleted == 0 {
		c.x.say("The job changed no file of its source that can be in a patch.")
	} else {
		c.x.say("The job's changes are the artifact %s: %d new, %d modified, %d deleted.", topology.PatchName, n.Added, n.Modified, n.Deleted)
	}
	for _, name := range p.leftOut {
		c.x.say("Left out of the patch: %s", name)
	}
	if more := n.LeftOut - len(p.leftOut); more > 0 {
		c.x.say("Left out of the patch: %d more", more)
	}
	if n.Ignored > 0 {
		c.x.say("Left out of the patch as well: %d new files that the source's .gitignore or .runnerhubignore names.", n.Ignored)
	}
}

// text is the patch: first what is deleted, so that a folder can become a file. What is
// left out stands in front, where git apply reads over it.
func (p *comparison) text() string {
	if len(p.deleted)+len(p.written) == 0 {
		return ""
	}
	var b strings.Builder
	for _, name := range p.leftOut {
		fmt.Fprintf(&b, "Left out: %s\n", name)
	}
	if more := p.changes.LeftOut - len(p.leftOut); more > 0 {
		fmt.Fprintf(&b, "Left out: %d more\n", more)
	}
	for _, part := range []map[string]string{p.deleted, p.written} {
		for _, name := range slices.Sorted(maps.Keys(part)) {
			b.WriteString(part[name])
		}
	}
	return b.String()
}
