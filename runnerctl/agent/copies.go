package agent

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/runnerhub/runnerhub/mcp"
	"github.com/runnerhub/runnerhub/topology"
)

// get sends what is at a path as a tar archive.
func (v *visit) get(ctx context.Context) error {
	from, err := v.path()
	if err != nil {
		return err
	}
	archive, err := v.in.CopyFrom(ctx, v.order.Service, from)
	if err != nil {
		return err
	}
	defer archive.Close()
	defer context.AfterFunc(ctx, func() { _ = archive.Close() })()
	buf := make([]byte, mcp.MaxCopyChunk)
	for offset := int64(0); ; {
		n, err := io.ReadFull(archive, buf)
		if n > 0 {
			if offset+int64(n) > v.order.OutputLimit {
				return fmt.Errorf("what is at %s has more than the %d bytes that the hub lets a copy have", from, v.order.OutputLimit)
			}
			put := v.insist(func() error {
				_, err := v.d.hub.PutExecOutput(v.d.word, v.d.logURL, v.order.ExecID, "stdout", offset, buf[:n])
				return err
			})
			if put != nil {
				return put
			}
			offset += int64(n)
		}
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// put unpacks an archive whose entries begin with one name: into the path where that is a folder, else under the path's own name.
func (v *visit) put(ctx context.Context) error {
	to, err := v.path()
	if err != nil {
		return err
	}
	archive := &inputReader{v: v, ctx: ctx}
	folder, err := v.isFolder(ctx, to)
	if err != nil {
		return err
	}
	if folder || strings.HasSuffix(v.order.Path, "/") {
		return v.in.CopyTo(ctx, v.order.Service, to, archive)
	}
	r, w := io.Pipe()
	defer r.Close()
	go func() { w.CloseWithError(renamed(w, archive, path.Base(to))) }() // ends with r
	return v.in.CopyTo(ctx, v.order.Service, path.Dir(to), r)
}

func (v *visit) isFolder(ctx context.Context, at string) (bool, error) {
	found, err := v.in.CopyFrom(ctx, v.order.Service, at)
	if topology.KindOf(err) == topology.KindNotFound {
		return false, nil // also where the container is not there, which the copy says itself
	}
	if err != nil {
		return false, err
	}
	defer found.Close()
	first, err := tar.NewReader(found).Next()
	if err != nil {
		return false, err
	}
	return first.Typeflag == tar.TypeDir, nil
}

// renamed copies an archive with another name for the first element of every path.
func renamed(w io.Writer, archive io.Reader, name string) error {
	in, out := tar.NewReader(archive), tar.NewWriter(w)
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return out.Close()
		}
		if err != nil {
			return err
		}
		h.Name = underName(h.Name, name)
		if h.Typeflag == tar.TypeLink { // names another entry of the archive
			h.Linkname = underName(h.Linkname, name)
		}
		if err := out.WriteHeader(h); err != nil {
			return err
		}
		if _, err := io.Copy(out, in); err != nil {
			return err
		}
	}
}

func underName(entry, name string) string {
	_, rest, below := strings.Cut(strings.TrimPrefix(entry, "./"), "/")
	if !below {
		return name
	}
	return name + "/" + rest
}

// inputReader reads what goes into a request.
type inputReader struct {
	v      *visit
	ctx    context.Context
	offset int64
	rest   []byte
}

// Read implements io.Reader.
func (r *inputReader) Read(p []byte) (int, error) {
	if err := context.Cause(r.ctx); err != nil {
		return 0, err
	}
	if len(r.rest) == 0 {
		part, err := r.v.input(r.offset)
		if err != nil {
			return 0, err
		}
		if len(part) == 0 {
			return 0, io.EOF
		}
		r.rest = part
		r.offset += int64(len(part))
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}
