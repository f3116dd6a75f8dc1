package topologytest

import (
	"archive/tar"
	"cmp"
	"context"
	"errors"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/runnerhub/runnerhub/topology"
)

// FakeFile is a file, folder or link of a Fake's container.
type FakeFile struct {
	Header tar.Header // its Name is the absolute path
	Data   []byte
	inode  string // the first name of a file that has several, as an absolute path
}

// fakeTree is what a volume or a container's own layer holds, by absolute path.
// Fake.mu guards it.
type fakeTree map[string]FakeFile

// AddImageFile puts a file into every container that is made of an image.
func (f *Fake) AddImageFile(image string, file FakeFile) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.imageFiles[image] = append(f.imageFiles[image], file)
}

// tree returns what holds a path of the container: a volume where one is mounted,
// else the container's own layer. It wants Fake.mu held.
func (c *fakeContainer) tree(name string) fakeTree {
	mounted := ""
	for dir := range c.spec.Volumes {
		if (name == dir || strings.HasPrefix(name, dir+"/")) && len(dir) > len(mounted) {
			mounted = dir
		}
	}
	if mounted == "" {
		return c.own
	}
	volume := c.spec.Volumes[mounted]
	if c.fake.trees[volume] == nil {
		c.fake.trees[volume] = fakeTree{}
	}
	return c.fake.trees[volume]
}

// isDir says whether a path is a folder; it wants Fake.mu held.
func (c *fakeContainer) isDir(name string) bool {
	if _, mounted := c.spec.Volumes[name]; mounted || name == "/" || name == c.spec.WorkingDir {
		return true
	}
	return c.tree(name)[name].Header.Typeflag == tar.TypeDir
}

// put keeps a file and the folders above it; it wants Fake.mu held.
func (c *fakeContainer) put(file FakeFile) {
	for dir := path.Dir(file.Header.Name); !c.isDir(dir); dir = path.Dir(dir) {
		c.tree(dir)[dir] = FakeFile{Header: tar.Header{Typeflag: tar.TypeDir, Name: dir, Mode: 0o755}}
	}
	c.tree(file.Header.Name)[file.Header.Name] = file
}

// under lists what is at and below a path, in order; it wants Fake.mu held.
func (c *fakeContainer) under(name string) []FakeFile {
	trees := []fakeTree{c.own}
	for _, volume := range c.spec.Volumes {
		trees = append(trees, c.fake.trees[volume])
	}
	var found []FakeFile
	for _, tree := range trees {
		for at, file := range tree {
			if at == name || strings.HasPrefix(at, strings.TrimSuffix(name, "/")+"/") {
				found = append(found, file)
			}
		}
	}
	if c.isDir(name) && !slices.ContainsFunc(found, func(f FakeFile) bool { return f.Header.Name == name }) {
		found = append(found, FakeFile{Header: tar.Header{Typeflag: tar.TypeDir, Name: name, Mode: 0o755}})
	}
	slices.SortFunc(found, func(a, b FakeFile) int { return strings.Compare(a.Header.Name, b.Header.Name) })
	return found
}

// CopyTo keeps the files of a tar stream.
func (f *Fake) CopyTo(ctx context.Context, name, dir string, stream io.Reader) error {
	op := "copy files to " + dir + " of container " + name
	if err := f.enter(ctx, "CopyTo", name+" "+dir); err != nil {
		return err
	}
	c, err := f.container(op, name)
	if err != nil {
		return err
	}
	f.mu.Lock()
	present := c.isDir(path.Clean(dir))
	f.mu.Unlock()
	if !present {
		return fault(topology.KindNotFound, op, "no such directory")
	}
	r := tar.NewReader(stream)
	for {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		var data []byte
		if err == nil {
			data, err = io.ReadAll(r)
		}
		if err != nil {
			return fault(topology.KindOther, op, err.Error())
		}
		header.Name = path.Join(dir, header.Name)
		f.mu.Lock()
		c.put(FakeFile{Header: *header, Data: data})
		f.mu.Unlock()
	}
}

// CopyFrom packs what is at a path.
func (f *Fake) CopyFrom(ctx context.Context, name, at string) (io.ReadCloser, error) {
	op := "copy " + at + " from container " + name
	if err := f.enter(ctx, "CopyFrom", name+" "+at); err != nil {
		return nil, err
	}
	c, err := f.container(op, name)
	if err != nil {
		return nil, err
	}
	at = path.Clean(at)
	f.mu.Lock()
	files := c.under(at)
	f.mu.Unlock()
	if len(files) == 0 {
		return nil, fault(topology.KindNotFound, op, "no such file or directory")
	}
	reader, writer := io.Pipe()
	go func() { writer.CloseWithError(pack(ctx, writer, path.Dir(at), files)) }()
	return reader, nil
}

// pack writes files as a tar stream, named from the folder above.
func pack(ctx context.Context, to io.Writer, above string, files []FakeFile) error {
	w := tar.NewWriter(to)
	sent := map[string]string{} // names in the stream, by inode
	for _, file := range files {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		header := file.Header
		header.Name = strings.TrimPrefix(strings.TrimPrefix(header.Name, above), "/")
		if header.Typeflag == tar.TypeDir {
			header.Name += "/"
		}
		header.Size = int64(len(file.Data))
		inode := cmp.Or(file.inode, file.Header.Name)
		if first := sent[inode]; first != "" { // as a file that was sent, like engines do
			header.Typeflag, header.Linkname, header.Size, file.Data = tar.TypeLink, first, 0, nil
		} else {
			sent[inode] = header.Name
		}
		if err := w.WriteHeader(&header); err != nil {
			return err
		}
		if _, err := w.Write(file.Data); err != nil {
			return err
		}
	}
	return w.Close()
}

// WriteFile has the process write a file of its container.
func (p *FakeProcess) WriteFile(name string, data []byte) {
	f := p.container.fake
	f.mu.Lock()
	defer f.mu.Unlock()
	p.container.put(FakeFile{Header: tar.Header{Typeflag: tar.TypeReg, Name: path.Clean(name), Mode: 0o644}, Data: slices.Clone(data)})
}

// Symlink has the process make a symbolic link in its container.
func (p *FakeProcess) Symlink(target, name string) {
	f := p.container.fake
	f.mu.Lock()
	defer f.mu.Unlock()
	p.container.put(FakeFile{Header: tar.Header{Typeflag: tar.TypeSymlink, Name: path.Clean(name), Linkname: target, Mode: 0o777}})
}

// Link has the process give a file of its container another name.
func (p *FakeProcess) Link(old, name string) {
	f := p.container.fake
	f.mu.Lock()
	defer f.mu.Unlock()
	file := p.container.tree(path.Clean(old))[path.Clean(old)]
	file.Header.Name, file.inode = path.Clean(name), path.Clean(old)
	p.container.put(file)
}

// File returns a file of the process's container, and whether there is one.
func (p *FakeProcess) File(name string) (FakeFile, bool) {
	f := p.container.fake
	f.mu.Lock()
	defer f.mu.Unlock()
	file, present := p.container.tree(path.Clean(name))[path.Clean(name)]
	return file, present
}
