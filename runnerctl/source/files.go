package source

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"syscall"

	"github.com/runnerhub/runnerhub/topology"
)

// writeFiles writes a spec's own files into a tree, over what is there. A link that
// leads out of the tree is not followed.
func writeFiles(tree string, files map[string]topology.SourceFile) error {
	if len(files) == 0 {
		return nil
	}
	root, err := os.OpenRoot(tree)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := writeFile(root, name, files[name]); err != nil {
			if errors.Is(err, syscall.ENOSPC) {
				return err
			}
			return lastingf("Name it differently, or look at what the source has at that path.",
				"The spec's file %s cannot be written into the source: %s.", name, reason(err))
		}
	}
	return nil
}

func writeFile(root *os.Root, name string, file topology.SourceFile) error {
	if dir := path.Dir(name); dir != "." {
		if err := root.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	// A link in its place is replaced and not written through.
	if info, err := root.Lstat(name); err == nil && !info.IsDir() {
		if err := root.Remove(name); err != nil {
			return err
		}
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(file.Content)
	if err == nil {
		err = f.Chmod(file.Perm()) // whatever the process's umask is
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}

// reason is an error of the file system without its path, which is the machine's own.
func reason(err error) string {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err.Error()
	}
	return err.Error()
}
