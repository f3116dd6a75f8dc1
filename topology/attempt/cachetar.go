package attempt

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"

	"github.com/runnerhub/runnerhub/topology"
)

// An entry of the cache is a tar stream whose names begin with the number of the path that they are below: "0/",
// "0/a", "1/". So it can be restored for a user with another home.

// cachePlaces is where an entry goes to in a container.
type cachePlaces struct {
	at      []string // by number
	missing []string // folders above them, which are made for owner
	owner   owner
}

// unpackCache puts an entry into a container and says how many bytes its files have.
func (x *execution) unpackCache(ctx context.Context, container string, entry io.Reader, to cachePlaces) (bytes int64, err error) {
	err = packed(func(r io.Reader) error {
		return x.e.engine.CopyTo(ctx, container, "/", r)
	}, func(w *tar.Writer) error {
		for _, dir := range to.missing {
			h := &tar.Header{Typeflag: tar.TypeDir, Name: strings.TrimPrefix(dir, "/") + "/", Mode: 0o755, Uid: to.owner.uid, Gid: to.owner.gid}
			if err := w.WriteHeader(h); err != nil {
				return err
			}
		}
		for t := tar.NewReader(entry); ; {
			h, err := t.Next()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err == nil {
				err = to.place(h)
			}
			if err == nil {
				err = w.WriteHeader(h)
			}
			if err != nil {
				return err
			}
			n, err := io.Copy(w, t)
			if err != nil {
				return err
			}
			bytes += n
		}
	})
	return bytes, err
}

// place gives a header of an entry its names in the container.
func (to cachePlaces) place(h *tar.Header) (err error) {
	h.Format = tar.FormatPAX
	if h.Name, err = to.name(h.Name); err == nil && h.Typeflag == tar.TypeLink {
		h.Linkname, err = to.name(h.Linkname)
	}
	if h.Typeflag == tar.TypeDir {
		h.Name += "/"
	}
	return err
}

func (to cachePlaces) name(name string) (string, error) {
	number, rest, _ := strings.Cut(path.Clean(name), "/")
	i, err := strconv.Atoi(number)
	if err != nil || i < 0 || i >= len(to.at) {
		return "", fmt.Errorf("the entry has a file that belongs nowhere: %q", clipName(name))
	}
	return strings.TrimPrefix(path.Join(to.at[i], rest), "/"), nil
}

// cachePacker writes folders of a container as an entry.
type cachePacker struct {
	to      topology.CacheWriter
	tar     *tar.Writer
	folders int
	bytes   int64
	special int // files that are neither file, folder nor link
}

// errNoFolder is what is at a path that is to be kept, but cannot.
var errNoFolder = errors.New("it is no folder")

// folder writes the folder number i, which stream brings as an engine gives it out.
func (p *cachePacker) folder(i int, stream io.Reader) error {
	for t, first := tar.NewReader(stream), true; ; first = false {
		h, err := t.Next()
		if errors.Is(err, io.EOF) && !first {
			p.folders++
			return nil
		}
		if err == nil && first && h.Typeflag != tar.TypeDir {
			return errNoFolder
		}
		if err == nil {
			err = p.entry(i, h, t)
		}
		if err != nil {
			return err
		}
	}
}

func (p *cachePacker) entry(i int, h *tar.Header, content io.Reader) error {
	switch h.Typeflag {
	case tar.TypeReg, tar.TypeDir, tar.TypeSymlink:
	case tar.TypeLink: // to another name of a file of the same folder
		h.Linkname = numbered(i, h.Linkname)
	default:
		p.special++
		return nil
	}
	// Before a byte of it is read: it may be one large hole.
	if err := p.to.Reserve(max(h.Size, 0)); err != nil {
		return err
	}
	h.Name, h.Format = numbered(i, h.Name), tar.FormatPAX
	if h.Typeflag == tar.TypeDir {
		h.Name += "/"
	}
	if err := p.tar.WriteHeader(h); err != nil {
		return err
	}
	n, err := io.Copy(p.tar, content)
	p.bytes += n
	return err
}

// numbered puts a number for the first part of a name: engines begin names with the last part of the path that they were asked for.
func numbered(i int, name string) string {
	_, rest, _ := strings.Cut(path.Clean(name), "/")
	return path.Join(strconv.Itoa(i), rest)
}
