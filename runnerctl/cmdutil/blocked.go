package cmdutil

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/runnerhub/runnerhub/mcp"
)

// Blocked says what keeps a file from its place below root, after an access to name has failed with err. A folder of its
// path that is a file, or a link that root does not follow, is a conflict and named; of everything else the system's reason
// stays, without the call and the temporary names that it comes with. Errors that are not of a file system stay as they are.
func Blocked(root *os.Root, name string, err error) error {
	cause := causeOfFile(err)
	if cause == nil {
		return err
	}
	name = filepath.ToSlash(name)
	for at := range strings.Split(path.Dir(name), "/") {
		folder := strings.Join(strings.Split(name, "/")[:at+1], "/")
		if folder == name {
			break // it is in root itself
		}
		info, err := root.Lstat(folder)
		if err != nil {
			break
		}
		if info.Mode().Type() == fs.ModeSymlink {
			if to, err := root.Stat(folder); err != nil || !to.IsDir() {
				return inTheWay(name, folder, "a symbolic link, which leads to no folder or out of this one")
			}
		} else if !info.IsDir() {
			return inTheWay(name, folder, "a file and no folder")
		}
	}
	return fmt.Errorf("%s cannot be written: %w", name, cause)
}

func inTheWay(name, folder, what string) error {
	return &mcp.Error{
		Code: mcp.CodeConflict, Message: fmt.Sprintf("%s cannot be written: %s is %s", name, folder, what),
		Hint: "move what is in the way, or choose another folder",
	}
}

// causeOfFile is the reason in an error of the os package's, nil for other errors.
func causeOfFile(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	if e, ok := errors.AsType[*os.LinkError](err); ok {
		return e.Err
	}
	return nil
}
