package source

import (
	"io/fs"
	"os"

	"github.com/runnerhub/runnerhub/runnerctl/archive"
)

// tidied says what tidy has left out of a tree.
type tidied struct{ links int }

// tidy makes a checked-out tree one that may be given away: without git's own
// files, which name the repository and can hold its credentials, without links
// that lead out of the tree, and with the permissions that git records, whatever
// the process's umask is.
func tidy(tree string, limits archive.Limits) (tidied, error) {
	var out tidied
	budget := archive.Budget{Limits: limits.WithDefaults()}
	root, err := os.OpenRoot(tree)
	if err != nil {
		return out, err
	}
	defer root.Close()
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		if d.Name() == ".git" {
			if err := root.RemoveAll(name); err != nil {
				return err
			}
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if err := budget.Spend(name, info.Size()); err != nil {
			return err
		}
		if info.Mode().Type() == fs.ModeSymlink {
			target, err := root.Readlink(name)
			if err == nil && !archive.Inside(name, target) {
				out.links++
				err = root.Remove(name)
			}
			return err
		}
		perm := fs.FileMode(0o644)
		if d.IsDir() || info.Mode()&0o100 != 0 {
			perm = 0o755
		}
		if info.Mode().Perm() == perm {
			return nil
		}
		return root.Chmod(name, perm)
	})
	return out, err
}
