package attempt

import (
	"archive/tar"
	"context"
	"fmt"
	"io"
	"os"
)

// maxLinksFetched is how many hard links are fetched one by one, which takes a request each.
const maxLinksFetched = 1000

// hardLink keeps or reads a file that another name came before in the same stream. Its
// content is that of what was kept, or is fetched when the stream is at its end: an
// engine locks a container while it sends files of it.
func (c *collector) hardLink(h *tar.Header) error {
	f, ok := c.kept[h.Linkname]
	if !ok {
		if len(c.hard) == maxLinksFetched {
			return faultf("Narrow the paths, or copy the files in a step.", "More than %d files are hard links to files that are not kept.", maxLinksFetched)
		}
		c.hard = append(c.hard, h.Name)
		return nil
	}
	in, err := os.Open(f.File)
	if err != nil {
		return err
	}
	defer in.Close()
	same := &tar.Header{Typeflag: tar.TypeReg, Name: h.Name, Size: f.Size}
	if f.Executable {
		same.Mode = 0o100
	}
	return c.entry(same, in)
}

// fetchLinks fetches the hard links to what was not kept. Asked for alone, each of them is a file.
func (c *collector) fetchLinks(ctx context.Context) error {
	links := c.hard
	c.hard = nil
	for _, name := range links {
		if err := c.read(ctx, name, func(h *tar.Header, content io.Reader) error {
			if h.Typeflag == tar.TypeLink {
				return nil // not one any more: what it names is none of the job's business here
			}
			return c.entry(h, content)
		}); err != nil {
			return err
		}
	}
	return nil
}

// passOver goes on behind a file that cannot be kept, so that the others are. Only where
// nothing more can be kept it returns the fault.
func (c *collector) passOver(fault *collectError) error {
	if c.passed == nil {
		c.passed, c.first = fault, fault.message
	} else {
		c.others++
		c.passed = &collectError{fmt.Sprintf("%s %d more could not be kept.", c.first, c.others), c.passed.hint}
	}
	if to := c.x.work.Collect; to.MaxFiles > 0 && len(c.result.Artifacts) >= to.MaxFiles {
		return fault
	}
	return nil
}
